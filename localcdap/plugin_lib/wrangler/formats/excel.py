"""Workbooks of Excel (xlsx) as rows of texts."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any, Final

from localcdap.java.text import double_text
from localcdap.plugin_lib.wrangler.formats.excel_dates import date_text

_MOST_ROWS: Final = 2**20
"""What Excel allows."""
_MOST_BYTES: Final = 2**30
_MOST_RATIO: Final = 100
_SMALL: Final = 100 * 2**10
"""Parts of that size may be packed as much as they like, as in Apache POI."""


class ExcelError(ValueError):
    """Bytes are no workbook, or it has no such sheet."""


def sheet_rows(content: bytes, sheet: str) -> Iterator[dict[int, str]]:
    """The rows of a sheet that hold more than blanks: texts by the number of the column, from 0.

    Numbers are written as Java does (``1.0``), dates by the format of their cell, formulas are their last
    values; errors and blank cells are empty texts, cells that are not there are left out.

    :param sheet: its name, or its number from 0.
    :raises ExcelError: when there is no such sheet, the bytes are no workbook or would grow beyond measure.
    """
    _check_size(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield from _rows(content, sheet)
        except ExcelError:
            raise
        except Exception as error:
            raise ExcelError(
                f"the bytes are no workbook: {type(error).__name__}: {error}"
            ) from None


def _check_size(content: bytes) -> None:
    try:
        parts = zipfile.ZipFile(io.BytesIO(content)).infolist()
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ExcelError(f"the bytes are no workbook (xlsx): {error}") from None
    for part in parts:
        if part.file_size > max(_SMALL, _MOST_RATIO * part.compress_size):
            raise ExcelError(
                f"'{part.filename}' in the workbook grows more than {_MOST_RATIO} times when unpacked"
            )
    if sum(part.file_size for part in parts) > _MOST_BYTES:
        raise ExcelError(f"the workbook is larger than {_MOST_BYTES >> 20} MB when unpacked")


def _rows(content: bytes, sheet: str) -> Iterator[dict[int, str]]:
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    try:
        found = _sheet(book, sheet)
        found.reset_dimensions()
        for number, cells in enumerate(found.iter_rows()):
            if number >= _MOST_ROWS:
                raise ExcelError(f"the sheet has more than {_MOST_ROWS} rows")
            row = {cell.column - 1: _text(cell) for cell in cells if hasattr(cell, "column")}
            if any(text.strip() for text in row.values()):
                yield row
    finally:
        book.close()


def _sheet(book: Any, sheet: str) -> Any:
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


def _text(cell: Any) -> str:
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return double_text(float(value))
    return date_text(value, cell.number_format)
