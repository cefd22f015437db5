"""What is wrong with an expression, and what can go wrong on a row."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

from localcdap.api.errors import LocalcdapError


class Problem(NamedTuple):
    """One thing that is wrong in the text of an expression."""

    message: str
    line: int
    """From 1, within the expression's text."""
    column: int
    """From 1."""
    hint: str | None = None
    """What to do about it."""


class JexlError(LocalcdapError):
    """A text is no expression, or asks for what there is not; holds every problem found.

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
    """An expression has no value for a row; the message says why, for the row's error record."""


def fail(message: str) -> NoReturn:
    raise EvaluationError(message)


def fail_on_null_operand(symbol: str) -> NoReturn:
    fail(f"'{symbol}' cannot be used with null: a column is null or not there")


def type_name(value: Any) -> str:
    """The type of a value as a message names it."""
    if value is None:
        return "null"
    names = {str: "text", bool: "boolean", int: "whole number", float: "double", Decimal: "decimal"}
    names |= {bytes: "bytes", list: "list", dict: "map"}
    return names.get(type(value), type(value).__name__)
