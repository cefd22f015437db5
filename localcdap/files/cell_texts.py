"""Dates and times in cells of workbooks: their serial numbers, and their texts, as Apache POI has them."""

from __future__ import annotations

import datetime
import math
import re
import zipfile
from typing import Any, Final

from localcdap.api import StageError
from localcdap.api.errors import describe_reason
from localcdap.java.dates.zones import DAYS, MONTHS

_PIECE: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[(?P<elapsed>h+|m+|s+)\]|\[[^\]]*\]'
    r"|(?P<noon>am/pm|a/p)|(?P<fraction>\.0+)|(?P<letters>y+|m+|d+|h+|s+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_FIRST: Final = datetime.datetime(1899, 12, 31)
"""The date of a time without a date: the serial number 0."""
_LEAP: Final = 60
"""The serial number of 29 February 1900, a day that only Excel knows."""
_OTHER_NAMES: Final = {"mm-dd-yy": "m/d/yy", "mmss.0": "mm:ss.0"}
"""Formats that a file leaves to its reader, as Apache POI's ``BuiltinFormats`` define them."""

CellTime = datetime.datetime | datetime.date | datetime.time | datetime.timedelta


def to_moment(value: CellTime) -> datetime.datetime:
    """Return the date and time of a cell; a time without a date is on 31 December 1899.

    >>> to_moment(datetime.time(5, 6)), to_moment(datetime.timedelta(days=61))
    (datetime.datetime(1899, 12, 31, 5, 6), datetime.datetime(1900, 3, 1, 0, 0))
    """
    if isinstance(value, datetime.timedelta):
        return _FIRST + value - datetime.timedelta(days=value.days >= _LEAP)
    if isinstance(value, datetime.time):
        return datetime.datetime.combine(_FIRST, value)
    if isinstance(value, datetime.datetime):
        return value
    return datetime.datetime.combine(value, datetime.time())


def to_serial_number(value: CellTime) -> float:
    """Return the days since 31 December 1899, with the 29 February 1900 of Excel."""
    elapsed = to_moment(value) - _FIRST
    return elapsed / datetime.timedelta(days=1) + (elapsed.days >= _LEAP)


def format_java_date(value: CellTime) -> str:
    """Return the text of ``java.util.Date`` in UTC: ``Sun Mar 05 15:04:09 UTC 2017``."""
    moment = to_moment(value)
    day, month = DAYS[moment.weekday()][:3], MONTHS[moment.month - 1][:3]
    return f"{day} {month} {moment.day:02} {moment:%H:%M:%S} UTC {moment.year}"


def format_cell_date(value: CellTime, format: str) -> str:
    """Format a date or time by the format of its cell, in English, as POI's ``DataFormatter``.

    Only the first section of the format is used.
    """
    moment = to_moment(value)
    pieces = list(_PIECE.finditer(format.split(";")[0]))
    has_noon = any(piece["noon"] for piece in pieces)
    out: list[str] = []
    for index, piece in enumerate(pieces):
        letters = (piece["letters"] or "").lower()
        if piece["noon"]:
            out.append("AM" if moment.hour < 12 else "PM")
        elif piece["elapsed"]:
            out.append(_format_elapsed(piece["elapsed"].lower(), to_serial_number(value)))
        elif piece["fraction"]:
            out.append(_format_fraction(len(piece["fraction"]) - 1, moment.microsecond))
        elif letters.startswith("m") and _is_minutes(pieces, index):
            out.append(f"{moment.minute:0{min(len(letters), 2)}}")
        elif letters:
            out.append(_format_field(letters, moment, has_noon=has_noon))
        else:
            out.append(piece["quoted"] or piece["escaped"] or piece["other"] or "")
    return "".join(out)


def get_cell_format(cell: Any) -> str:
    """Return the number format of a cell of openpyxl as Apache POI names it."""
    name: str = cell.number_format
    return _OTHER_NAMES.get(name, name)


def read_date_formats(file: str, sheet: str) -> dict[tuple[int, int], str]:
    """Return the formats of the cells with dates of a sheet, and maybe of others, by row and column from 0.

    Files of other programs than Excel (.ods) and .xlsb have none here.

    :raises StageError: when the file cannot be read.
    """
    try:
        if not zipfile.is_zipfile(file):
            return _read_binary_formats(file, sheet)
        with zipfile.ZipFile(file) as archive:
            is_xml = "xl/workbook.xml" in archive.namelist()
        return _read_xml_formats(file, sheet) if is_xml else {}
    except StageError:
        raise
    except Exception as error:
        raise StageError(
            f"The formats of the dates of '{file}' cannot be read: {describe_reason(error)}.",
            "Save the workbook again, as .xlsx.",
        ) from None


def _read_xml_formats(file: str, sheet: str) -> dict[tuple[int, int], str]:
    import openpyxl

    book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    try:
        found: Any = book[sheet]
        found.reset_dimensions()
        return {
            (cell.row - 1, cell.column - 1): get_cell_format(cell)
            for row in found.iter_rows()
            for cell in row
            if getattr(cell, "is_date", False)
        }
    finally:
        book.close()


def _read_binary_formats(file: str, sheet: str) -> dict[tuple[int, int], str]:
    import xlrd

    with xlrd.open_workbook(file, formatting_info=True, on_demand=True) as book:
        found = book.sheet_by_name(sheet)
        return {
            (row, column): book.format_map[
                book.xf_list[found.cell_xf_index(row, column)].format_key
            ].format_str
            for row in range(found.nrows)
            for column in range(found.row_len(row))
            if found.cell_type(row, column) in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE)
        }


def _format_elapsed(letters: str, days: float) -> str:
    """Return whole hours, minutes or seconds; a microsecond less counts as one."""
    units = days * {"h": 24, "m": 1440, "s": 86_400}[letters[0]]
    return f"{math.floor(units + 1e-9 * max(1, units)):0{len(letters)}}"


def _format_fraction(digits: int, microsecond: int) -> str:
    """Return tenths and hundredths half up, and more digits cut off."""
    if digits > 2:
        return f".{microsecond:06}"[: digits + 1]
    return f".{math.floor(microsecond / 10 ** (6 - digits) + 0.5):0{digits}}"


def _is_minutes(pieces: list[re.Match[str]], index: int) -> bool:
    """Whether an ``m`` stands after hours or before seconds."""
    before = [_time_letter(piece) for piece in pieces[:index]]
    after = [_time_letter(piece) for piece in pieces[index + 1 :]]
    last = next((letter for letter in reversed(before) if letter), "")
    return last == "h" or next((letter for letter in after if letter), "") == "s"


def _time_letter(piece: re.Match[str]) -> str:
    return (piece["letters"] or piece["elapsed"] or "").lower()[:1]


def _format_field(letters: str, moment: datetime.datetime, *, has_noon: bool) -> str:
    count = len(letters)
    match letters[0]:
        case "y":
            return f"{moment.year:04}" if count != 2 else f"{moment.year % 100:02}"
        case "m":
            name = MONTHS[moment.month - 1]
            return _format_named(moment.month, name, count)
        case "d":
            return _format_named(moment.day, DAYS[moment.weekday()], count)
        case "h":
            hour = (moment.hour + 11) % 12 + 1 if has_noon else moment.hour
            return f"{hour:0{min(count, 2)}}"
    return f"{moment.second:0{min(count, 2)}}"


def _format_named(number: int, name: str, count: int) -> str:
    if count < 3:
        return f"{number:0{count}}"
    return name[:3] if count == 3 else name if count == 4 else name[:1]
