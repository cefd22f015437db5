"""The errors of expressions: problems in their text, and failures on a row."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

from localcdap.api.errors import LocalcdapError


class Problem(NamedTuple):
    """A mistake in the text of an expression."""

    message: str
    line: int
    """The line within the expression's text, from 1."""
    column: int
    """The column, from 1."""
    hint: str | None = None
    """The corrective action."""
    is_warning: bool = False
    """Whether the expression has values in spite of it."""


class JexlError(LocalcdapError):
    """A text that is not a valid expression; it holds every problem found.

    :param problems: at least one, in the order of the text.
    """

    def __init__(self, text: str, problems: list[Problem]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(
            f"{first.message} - at line {first.line}, column {first.column} of the expression{more}.",
            first.hint,
        )
        self.text = text
        self.problems = problems

    def __reduce__(self) -> tuple[type[JexlError], tuple[str, list[Problem]]]:
        return JexlError, (self.text, self.problems)


class EvaluationError(Exception):
    """An expression has no value for a row. The message becomes the row's error record."""


def fail(message: str) -> NoReturn:
    raise EvaluationError(message)


def fail_on_null_operand(symbol: str) -> NoReturn:
    fail(f"'{symbol}' cannot be used with null: a column is null or not there")


def type_name(value: Any) -> str:
    """Return the name of a value's type for a message."""
    if value is None:
        return "null"
    names = {str: "text", bool: "boolean", int: "whole number", float: "double", Decimal: "decimal"}
    names |= {bytes: "bytes", list: "list", dict: "map"}
    return names.get(type(value), type(value).__name__)
