"""Workbooks of Excel within bytes."""

from __future__ import annotations

from collections.abc import Iterable

from localcdap.api.directive import (
    Columns,
    Directive,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_error_row
from localcdap.plugin_lib.wrangler.formats.excel import ExcelError, read_sheet


@plugin(
    name="parse-as-excel",
    description="Makes a row of each row of a sheet (xlsx), with columns A, B, … or those that the first row "
    "names; fwd and bkd count them from the start and from the end. All values are texts.",
)
class ParseAsExcel(Directive):
    categories = ("parser", "excel")
    examples = ("parse-as-excel :body '0'", "parse-as-excel :body 'Sheet1' true")
    column: str = argument.column("The column with workbooks, bytes.")
    sheet: str = argument.text("The name of the sheet, or its number from 0.", default="0")
    first_row_as_header: bool = argument.boolean(
        "Whether the first row holds the names.", name="first-row-as-header", default=False
    )

    def propagate(self, columns: Columns) -> None:
        if report_missing_column(columns, self.column, "parse", fails=False):
            return
        columns.remove(self.column)
        columns.replace([("fwd", Schema.INT), ("bkd", Schema.INT), *columns.items()])
        columns.open = True

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None:
            return ()
        content = row[found]
        if not isinstance(content, bytes):
            message = f"Column '{self.column}' should be of type 'byte array' or 'ByteBuffer'."
            raise make_error_row(message, 1, self.directive_name())
        try:
            parsed = list(read_sheet(content, self.sheet))
        except ExcelError as error:
            message = f"Column '{self.column}': {error}"
            raise make_error_row(message, 1, self.directive_name()) from None
        header = parsed[0] if self.first_row_as_header and parsed else {}
        first = 1 if header else 0
        others = {name: value for name, value in row.items() if name != self.column}
        return [
            self._make_row(cells, header, others, number, len(parsed) - 1 - number)
            for number, cells in enumerate(parsed)
            if number >= first
        ]

    def _make_row(
        self,
        cells: dict[int, str],
        header: dict[int, str],
        others: dict[str, object],
        fwd: int,
        bkd: int,
    ) -> Row:
        made = Row(fwd=fwd, bkd=bkd)
        for number, text in cells.items():
            made.add(header.get(number) or _to_letters(number), text)
        for name, value in others.items():
            if made.find(name) is None:
                made.add(name, value)
        return made


def _to_letters(number: int) -> str:
    """Return the letters of a column: ``A`` … ``Z``, ``AA`` …"""
    letters = ""
    while number >= 0:
        number, last = divmod(number, 26)
        letters = chr(65 + last) + letters
        number -= 1
    return letters
