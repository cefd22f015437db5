"""Workbooks of Excel (xlsx) within bytes, read as rows of texts."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any, Final

from localcdap.api.directive import Columns, Directive, Row, RowContext, argument, plugin
from localcdap.api.schema import Schema
from localcdap.files.cell_texts import format_cell_date, get_cell_format
from localcdap.java.strings import format_double
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    make_error_row,
    report_missing_column,
)

_MAX_ROWS: Final = 2**20
"""The rows that Excel allows."""
_MAX_BYTES: Final = 2**30
_MAX_RATIO: Final = 100
_SMALL: Final = 100 * 2**10
"""Parts up to this size may have any compression ratio, as in Apache POI."""


class ExcelError(ValueError):
    """Bytes are not a workbook, or it has no such sheet."""


def read_sheet(content: bytes, sheet: str) -> Iterator[dict[int, str]]:
    """Yield the rows of a sheet that hold more than blanks: texts by the number of the column, from 0.

    Numbers have Java's format (``1.0``), dates the format of their cell, formulas their last values. Errors
    and blank cells are empty texts; missing cells are left out.

    :param sheet: its name, or its number from 0.
    :raises ExcelError: for a missing sheet, and for bytes that are not a workbook or unpack to too many.
    """
    _check_size(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield from _read_rows(content, sheet)
        except ExcelError:
            raise
        except Exception as error:
            raise ExcelError(
                f"the bytes are not a workbook: {type(error).__name__}: {error}"
            ) from None


def _check_size(content: bytes) -> None:
    try:
        parts = zipfile.ZipFile(io.BytesIO(content)).infolist()
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ExcelError(f"the bytes are not a workbook (xlsx): {error}") from None
    for part in parts:
        if part.file_size > max(_SMALL, _MAX_RATIO * part.compress_size):
            raise ExcelError(
                f"'{part.filename}' in the workbook grows more than {_MAX_RATIO} times when unpacked"
            )
    if sum(part.file_size for part in parts) > _MAX_BYTES:
        raise ExcelError(f"the workbook is larger than {_MAX_BYTES >> 20} MB when unpacked")


def _read_rows(content: bytes, sheet: str) -> Iterator[dict[int, str]]:
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    try:
        found = _find_sheet(book, sheet)
        found.reset_dimensions()
        for number, cells in enumerate(found.iter_rows()):
            if number >= _MAX_ROWS:
                raise ExcelError(f"the sheet has more than {_MAX_ROWS} rows")
            row = {
                cell.column - 1: _format_java_cell(cell)
                for cell in cells
                if hasattr(cell, "column")
            }
            if any(text.strip() for text in row.values()):
                yield row
    finally:
        book.close()


def _find_sheet(book: Any, sheet: str) -> Any:
    sheets = book.worksheets
    if sheet.isdecimal():
        if int(sheet) < len(sheets):
            return sheets[int(sheet)]
        raise ExcelError(f"there is no sheet {sheet}; the last one is {len(sheets) - 1}")
    for each in sheets:
        if each.title.lower() == sheet.lower():
            return each
    titles = ", ".join(each.title for each in sheets)
    raise ExcelError(f"there is no sheet '{sheet}'; there are {titles}")


def _format_java_cell(cell: Any) -> str:
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return format_double(float(value))
    return format_cell_date(value, get_cell_format(cell))


@plugin(
    name="parse-as-excel",
    description="Makes a row of each row of a sheet (xlsx), with columns A, B, … or those that the first row "
    "names; fwd and bkd count them from the start and from the end. All values are texts.",
)
class ParseAsExcel(Directive):
    drops_rows = True
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
