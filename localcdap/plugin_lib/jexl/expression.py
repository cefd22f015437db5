"""Expressions: parsed once, run on rows, typed by schemas, and turned into Spark columns."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.errors import JexlError, Problem
from localcdap.plugin_lib.jexl.parser import Node, list_read_names, parse_tree

if TYPE_CHECKING:
    from pyspark.sql import Column

    from localcdap.api.directive.rows import Columns
    from localcdap.plugin_lib.jexl.code import Code
    from localcdap.plugin_lib.jexl.native import NativeExpression

_MISSING: Final = object()
_NO_VALUES: Final[Mapping[str, Any]] = {}


class JexlExpression:
    """A parsed and checked expression, made by :func:`parse`. It is pickled as its text."""

    def __init__(self, text: str, root: Node) -> None:
        self.text: Final = text
        self.root: Final = root
        self.variables: Final = frozenset(list_read_names(root))
        """The names that the expression reads: columns and transient variables, ``this`` when it uses the
        row, and the dotted forms of ``a.b``, which may be the name of a column.
        """
        self._code: Code | None = None

    def __reduce__(self) -> tuple[Callable[[str], JexlExpression], tuple[str]]:
        return parse, (self.text,)

    def __repr__(self) -> str:
        return f"JexlExpression({self.text!r})"

    @property
    def code(self) -> Code:
        """The Python code of the expression, written at its first use."""
        if self._code is None:
            from localcdap.plugin_lib.jexl.code import Code

            self._code = Code(self.root)
        return self._code

    def compile(self) -> Callable[..., Any]:
        """Return a function from the values by name to the value.

        ``run(row)`` or ``run(row, more)``: a value in ``more`` (transient variables) wins over a
        column, and an unknown name is null. ``this`` is the row and ``ctx`` the place of the run (an
        ordinary name when ``more`` has a ``ctx``). Rows with a method ``value`` find names without
        regard to case. The function raises only :class:`EvaluationError`.
        """
        names, run = self.code.names, self.code.run

        def evaluate(row: Mapping[str, Any], more: Mapping[str, Any] = _NO_VALUES) -> Any:
            return run(*[_value(row, more, name) for name in names])

        return evaluate

    def type(self, schema: Schema) -> Schema | None:
        """Return the schema of the expression's values, or None if only the data decides it.

        :param schema: a record of the known columns; other columns are unknown.
        """
        from localcdap.plugin_lib.jexl.types import type_of

        return type_of(self.root, schema)

    def check_columns(
        self, columns: Columns, variables: Collection[str] = (), *, must_exist: bool = False
    ) -> list[Problem]:
        """Return the names that no such row has, and the methods that its values lack.

        See :func:`localcdap.plugin_lib.jexl.checks.find_column_problems`.
        """
        from localcdap.plugin_lib.jexl.checks import find_column_problems

        return find_column_problems(self.root, columns, variables, must_exist=must_exist)

    def native(
        self, schema: Schema, column: Callable[[str], Column] | None = None
    ) -> NativeExpression | None:
        """Return the expression as a Spark column, or None if Spark has no equivalent.

        :param schema: a record of all columns; any other column is missing, and null.
        :param column: returns the column of a name in the schema; default: the column of this name.
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
    """Return the default ``ctx``: the place of the run and a clock that never goes back."""
    nano = time.monotonic_ns()
    return {"environment": "TRANSFORM", "name": "", "nano": nano, "millis": nano // 1000}


@functools.lru_cache(maxsize=512)
def parse(text: str) -> JexlExpression:
    """Parse and check the text of an expression.

    :raises JexlError: with every problem found.
    """
    from localcdap.plugin_lib.jexl.checks import find_problems

    root = parse_tree(text)
    problems = find_problems(root)
    if problems:
        raise JexlError(text, problems)
    return JexlExpression(text, root)


def to_truth(value: Any) -> bool | None:
    """Return the value of a directive's condition as a bool (``ELResult.getBoolean``).

    A text is true if it is "true" in any case, else false; a value that is neither bool nor text is
    None.
    """
    if isinstance(value, bool):
        return value
    return value.lower() == "true" if isinstance(value, str) else None
