"""Cells of workbooks (Excel and OpenDocument)."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from localcdap.api import StageError

_MAX_BYTES: Final = 2 * 2**30
"""The largest size of a decompressed workbook, so that a small file cannot fill the memory."""


class Sheet(NamedTuple):
    """A sheet of a workbook."""

    name: str
    rows: list[list[Any]]
    """The cells from the first row on; empty ones are "". A formula has its last computed value."""
    merged: frozenset[int]
    """The numbers of the rows, from 0, with a cell that takes several columns."""
    number: int
    """The number of the sheet in the workbook, from 0."""


def read_sheet_cells(file: str, sheet: str | int) -> tuple[str, list[list[Any]]]:
    """Return the name and the rows of a sheet, see :func:`read_sheet`."""
    found = read_sheet(file, sheet)
    return found.name, found.rows


def read_sheet(file: str, sheet: str | int | None) -> Sheet:
    """Return a sheet with its cells.

    :param sheet: the sheet's name, in any case, or its number from 0; None for the first one that is visible.
    :raises StageError: when the file cannot be read, or does not contain the sheet.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        _check_size(file)
        with CalamineWorkbook.from_path(file) as workbook:
            wanted = _find_visible_sheet(workbook.sheets_metadata) if sheet is None else sheet
            name = _find_sheet_name(file, workbook.sheet_names, wanted)
            found = workbook.get_sheet_by_name(name)
            ranges = found.merged_cell_ranges or ()
            merged = frozenset(first[0] for first, last in ranges if last[1] > first[1])
            rows = found.to_python(skip_empty_area=False)
            return Sheet(name, rows, merged, workbook.sheet_names.index(name))
    except (OSError, CalamineError) as error:
        raise StageError(
            f"'{file}' cannot be read as a workbook: {error}.",
            "Use an .xlsx, .xlsm, .xlsb, .xls or .ods file.",
        ) from None


def format_cell(cell: Any) -> str:
    """Return the text of a cell: integers without a fraction, dates and times in ISO form.

    >>> format_cell(2.0), format_cell(datetime.timedelta(hours=30, seconds=5))
    ('2', '30:00:05')
    """
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        minutes, seconds = divmod(cell.days * 86_400 + cell.seconds, 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return str(cell)


def _find_visible_sheet(sheets: Sequence[Any]) -> int:
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    shown = (
        number
        for number, each in enumerate(sheets)
        if each.visible == SheetVisibleEnum.Visible and each.typ == SheetTypeEnum.WorkSheet
    )
    return next(shown, 0)


def _find_sheet_name(file: str, names: list[str], wanted: str | int) -> str:
    if isinstance(wanted, int) and wanted < len(names):
        return names[wanted]
    for name in names:
        if isinstance(wanted, str) and name.lower() == wanted.lower():
            return name
    raise StageError(
        f"'{file}' has no sheet {wanted!r}; its sheets are: {', '.join(names)}.",
        "Change 'sheetValue'.",
    )


def _check_size(file: str) -> None:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            size = sum(each.file_size for each in archive.infolist())
        if size > _MAX_BYTES:
            raise StageError(
                f"'{file}' has {size / 2**30:.1f} GB when decompressed, more than the maximum of 2 GB."
            )
