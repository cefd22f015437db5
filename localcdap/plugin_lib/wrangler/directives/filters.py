"""Directives that drop rows for the values of single columns."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from localcdap.api.directive import (
    Directive,
    Frame,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.java.regex import compile_regex
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.directives.error_messages import make_type_error
from localcdap.plugin_lib.wrangler.directives.native_helpers import as_text, require_plain_regex
from localcdap.plugin_lib.wrangler.values.text_edits import find_syntax_problem


@plugin(
    name="filter-empty-or-null", description="Drops the rows in which all of the columns are null."
)
class FilterEmptyOrNull(Directive):
    categories = ("row", "data-quality")
    examples = ("filter-empty-or-null :id,:name",)
    keeps_values = True
    column: list[str] = argument.columns("The columns; rows without one of them are kept.")

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        for name in self.column:
            found = row.find(name)
            if found is None or row[found] is not None:
                return (row,)
        return ()

    def native(self, frame: Frame) -> None:
        from functools import reduce

        if any(frame.columns.find(name) is None for name in self.column):
            return
        conditions = [frame.column(name).isNotNull() for name in self.column]
        frame.keep_where(reduce(lambda one, other: one | other, conditions))


@plugin(
    name="filter-by-regex",
    description="Drops the rows in which a column matches a regular expression, or does not.",
)
class FilterByRegex(Directive):
    categories = ("row", "data-quality")
    examples = ("filter-by-regex if-matched :email '.*@example.com'",)
    keeps_values = True
    match_type: str = argument.identifier(
        "if-matched or if-not-matched.", choices=("if-matched", "if-not-matched")
    )
    column: str = argument.column("The column; rows without it are kept.")
    regex: str = argument.text(
        "The regular expression for the whole value. If it is empty or the word null, no row is dropped."
    )

    def problem(self) -> str | None:
        return find_syntax_problem(compile_regex, self.regex)

    def _is_inactive(self) -> bool:
        return self.regex.lower() in ("", "null")

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None or self._is_inactive():
            return (row,)
        value = row[found]
        if isinstance(value, dict):
            return (row,)
        if not isinstance(value, str | int | float | Decimal) or isinstance(value, bool):
            raise make_type_error(self.column, value, "a text or a number is needed")
        matches = compile_regex(self.regex).matches(to_java_string(value))
        return () if matches == (self.match_type == "if-matched") else (row,)

    def native(self, frame: Frame) -> None:
        if self._is_inactive() or frame.columns.find(self.column) is None:
            return
        require_plain_regex(self.regex)
        value = as_text(frame, self.column)
        frame.fail_where(
            value.isNull(), f"column '{self.column}' is null; a text or a number is needed"
        )
        matches = value.rlike(rf"\A(?:{self.regex})\z")
        frame.keep_where(~matches if self.match_type == "if-matched" else matches)
