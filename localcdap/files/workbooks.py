"""Cells of workbooks (Excel and OpenDocument), and their formulas without a stored result.

Programs that do not calculate write such formulas.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, Final, NamedTuple

from localcdap.api import StageError
from localcdap.api.errors import describe_reason

_MAX_BYTES: Final = 2 * 2**30
"""The largest size of a decompressed workbook, so that a small file cannot fill the memory."""
_CHUNK: Final = 2**20
_SHEET: Final = re.compile(rb"<(?:\w+:)?sheet\s[^>]*>")
_SHEET_ID: Final = re.compile(rb'\sr:id="([^"]*)"')
_RELATION: Final = re.compile(rb"<Relationship\s[^>]*>")
_ID: Final = re.compile(rb'\sId="([^"]*)"')
_TARGET: Final = re.compile(rb'\sTarget="([^"]*)"')
_WITHOUT_RESULT: Final = re.compile(
    rb'<c\b(?![^>]*\bt="str")[^>]*>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v>\s*</v>|<v\s*/>)?\s*</c>'
)
"""A cell with a formula and no value. A formula whose result is an empty text has the type ``str``."""


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
            f"'{file}' cannot be read as a workbook: {describe_reason(error)}.",
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


def count_formulas_without_result(file: str, sheet: int) -> int:
    """Return how many cells of a sheet have a formula, but no stored result, so that they are read as empty.

    :param sheet: its number, from 0.
    """
    if not zipfile.is_zipfile(file):
        return 0
    with zipfile.ZipFile(file) as archive:
        part = _find_part(archive, sheet)
        if part is None:
            return 0
        with archive.open(part) as stream:
            return sum(len(_WITHOUT_RESULT.findall(cells)) for cells in _read_cells(stream))


def _read_cells(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the text of a sheet in pieces that end where a cell begins."""
    rest = b""
    while chunk := stream.read(_CHUNK):
        rest += chunk
        begin = rest.rfind(b"<c ")
        if begin > 0:
            yield rest[:begin]
            rest = rest[begin:]
    yield rest


def _find_part(archive: zipfile.ZipFile, sheet: int) -> str | None:
    """Return the name of the part with the cells of a sheet; None in a workbook of another program."""
    names = frozenset(archive.namelist())
    if not {"xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= names:
        return None
    sheets = _SHEET.findall(archive.read("xl/workbook.xml"))
    id = _SHEET_ID.search(sheets[sheet]) if sheet < len(sheets) else None
    for relation in _RELATION.findall(archive.read("xl/_rels/workbook.xml.rels")):
        found, target = _ID.search(relation), _TARGET.search(relation)
        if id and found and target and found[1] == id[1]:
            path = target[1].decode("utf-8", "replace")
            part = path[1:] if path.startswith("/") else f"xl/{path}"
            return part if part in names else None
    return None
