"""Expressions: parsed once, run on rows, typed by schemas, turned into Spark columns."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.errors import EvaluationError, JexlError
from localcdap.plugin_lib.jexl.parser import parse_tree
from localcdap.plugin_lib.jexl.tree import Node, list_read_names

if TYPE_CHECKING:
    from pyspark.sql import Column

    from localcdap.plugin_lib.jexl.code import Code
    from localcdap.plugin_lib.jexl.native import Native

_MISSING: Final = object()
_NO_VALUES: Final[Mapping[str, Any]] = {}


class Batch(NamedTuple):
    """The values of an expression for many rows."""

    values: list[Any]
    errors: dict[int, EvaluationError]
    """By number of row; the value is None there."""


class Expression:
    """A parsed and checked expression; make one with :func:`parse`. It pickles as its text."""

    def __init__(self, text: str, root: Node) -> None:
        self.text: Final = text
        self.root: Final = root
        self.variables: Final = frozenset(list_read_names(root))
        """Names it reads: columns and transient variables, ``this`` when it uses the row, and the
        dotted forms of ``a.b``, which may be the name of a column.
        """
        self._code: Code | None = None

    def __reduce__(self) -> tuple[Callable[[str], Expression], tuple[str]]:
        return parse, (self.text,)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    @property
    def code(self) -> Code:
        """Its Python code, written at the first use."""
        if self._code is None:
            from localcdap.plugin_lib.jexl.code import Code

            self._code = Code(self.root)
        return self._code

    def compile(self) -> Callable[..., Any]:
        """A function from the values by name to the value.

        ``run(row)`` or ``run(row, more)``: what is in ``more`` (transient variables) wins over columns,
        what is nowhere is null. ``this`` is the row, ``ctx`` the place of the run (its name only when
        ``more`` has a ``ctx``). Rows that find names without regard to case (a method ``value``) are
        asked so. It raises :class:`EvaluationError` only.
        """
        names, run = self.code.names, self.code.run

        def evaluate(row: Mapping[str, Any], more: Mapping[str, Any] = _NO_VALUES) -> Any:
            return run(*[_value(row, more, name) for name in names])

        return evaluate

    def compile_batch(self) -> Callable[[Mapping[str, Sequence[Any]], int], Batch]:
        """A function from columns by name and the number of rows to all values.

        A column that is missing is null; ``this`` is no column, and null too.
        """
        names, run_all = self.code.names, self.code.run_all

        def evaluate(columns: Mapping[str, Sequence[Any]], count: int) -> Batch:
            nulls = [None] * count
            return Batch(*run_all(count, *[columns.get(name, nulls) for name in names]))

        return evaluate

    def type(self, schema: Schema) -> Schema | None:
        """The schema of its values, None where only data can tell.

        :param schema: a record of the columns that are known; of others nothing is known.
        """
        from localcdap.plugin_lib.jexl.types import type_of

        return type_of(self.root, schema)

    def native(
        self, schema: Schema, column: Callable[[str], Column] | None = None
    ) -> Native | None:
        """The same values as a Spark column, None where Spark has no equal.

        :param schema: a record of all columns; any other is missing, and null.
        :param column: gives a column by its name in the schema; that of this very name when left out.
        """
        from localcdap.plugin_lib.jexl.native import build_native

        return build_native(self.root, schema, column)


def _value(row: Mapping[str, Any], more: Mapping[str, Any], name: str) -> Any:
    if name in more:
        return more[name]
    found = row.get(name, _MISSING)
    if found is not _MISSING:
        return found
    if name == "this":
        return row
    if name == "ctx":
        return _context()
    look_up = getattr(row, "value", None)
    return look_up(name) if look_up is not None else None


def _context() -> dict[str, Any]:
    """``ctx`` of expressions that are given none: where they run, and a clock that never goes back."""
    nano = time.monotonic_ns()
    return {"environment": "TRANSFORM", "name": "", "nano": nano, "millis": nano // 1000}


@functools.lru_cache(maxsize=512)
def parse(text: str) -> Expression:
    """The expression of a text.

    :raises JexlError: with every problem found.
    """
    from localcdap.plugin_lib.jexl.checks import find_problems

    root = parse_tree(text)
    problems = find_problems(root)
    if problems:
        raise JexlError(text, problems)
    return Expression(text, root)


def to_truth(value: Any) -> bool | None:
    """What a directive's condition makes of a value (the original's ``ELResult.getBoolean``).

    A text is true when it says so in any case, false otherwise; what is neither bool nor text is None.
    """
    if isinstance(value, bool):
        return value
    return value.lower() == "true" if isinstance(value, str) else None
