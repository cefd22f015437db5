"""The directive that reads records of fixed widths in texts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from localcdap.api.directive import (
    Columns,
    Directive,
    ErrorRow,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.regex import compile_regex
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_type_error
from localcdap.plugin_lib.wrangler.values.text_edits import find_syntax_problem

_MAX_WIDTH: Final = 100_000


@plugin(
    name="parse-as-fixed-length",
    description="Cuts a text into columns <column>_1, <column>_2 … of fixed widths; each record in "
    "the text becomes a row. A row without the column is dropped, as in the original.",
)
class ParseAsFixedLength(Directive):
    categories = ("parser",)
    examples = ("parse-as-fixed-length :body 2,4,5,3", "parse-as-fixed-length :body 10,5 '#'")
    column: str = argument.column("The column to cut.")
    width: list[int] = argument.numbers("The widths in characters.")
    padding: str | None = argument.text(
        "The padding of fields, a regular expression; it is removed.", default=None
    )

    @cached_property
    def _widths(self) -> list[int]:
        return [int(width) for width in self.width]

    def problem(self) -> str | None:
        invalid = [
            width for width in self.width if width != int(width) or not 0 < width <= _MAX_WIDTH
        ]
        if invalid:
            return f"a width must be a whole number from 1 to {_MAX_WIDTH}, not {invalid[0]}"
        return (
            find_syntax_problem(compile_regex, self.padding) if self.padding is not None else None
        )

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "cut", fails=False)
        for number in range(1, len(self.width) + 1):
            columns.add(f"{self.column}_{number}", Schema.STRING)

    def start(self, context: RowContext) -> None:
        self._padding = None if self.padding is None else compile_regex(self.padding)

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None:
            return ()
        text = row[found]
        if not isinstance(text, str):
            raise make_type_error(self.column, text)
        length = sum(self._widths)
        if len(text) < length:
            raise ErrorRow(
                f"Column '{self.column}' has {len(text)} characters, but a record has {length} "
                "(ecode: 2, directive: parse-as-fixed-length)",
                2,
            )
        starts = range(0, len(text) - length + 1, length)
        return [self._make_row(row, text, start) for start in starts]

    def _make_row(self, row: Row, text: str, start: int) -> Row:
        made = Row(row)
        for number, width in enumerate(self._widths, 1):
            field = text[start : start + width]
            if self._padding is not None:
                field = self._padding.replace(field, "")
            made.add(f"{self.column}_{number}", field)
            start += width
        return made
