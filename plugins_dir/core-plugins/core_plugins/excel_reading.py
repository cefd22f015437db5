"""Workbooks as records, read in Spark's Python workers."""

from __future__ import annotations

import dataclasses
import datetime
import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import Schema, StageError
from localcdap.api.arrow import RecordCodec

if TYPE_CHECKING:
    import pyarrow as pa

TYPES: Final = {
    "string": Schema.STRING,
    "int": Schema.INT,
    "long": Schema.LONG,
    "float": Schema.FLOAT,
    "double": Schema.DOUBLE,
    "boolean": Schema.BOOLEAN,
    "bytes": Schema.BYTES,
}
_MOST_BYTES: Final = 2 * 2**30
"""The most that a workbook may hold once it is decompressed."""
_MOST_COLUMNS: Final = 16_384
_BATCH: Final = 10_000
_WHOLE: Final = {Schema.INT: 31, Schema.LONG: 63}
"""How many bits a number has beside its sign."""
_LOG: Final = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Selection:
    """What is read of each workbook."""

    sheet: str | int
    """Its name, or its number from 0."""
    columns: tuple[int, ...]
    """From 0, in the order of the fields."""
    skip_first_row: bool
    ends_at_empty_row: bool
    rows_limit: int | None
    fails: bool
    """Whether a value that does not fit fails the run; otherwise its row is left out."""


def column_index(letters: str) -> int | None:
    """The number of a column from 0 by its letters; None when they are none.

    >>> column_index("A"), column_index("AA"), column_index("a1")
    (0, 26, None)
    """
    if not re.fullmatch("[A-Za-z]{1,3}", letters):
        return None
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1 if number <= _MOST_COLUMNS else None


def read_workbook(file: str, schema: Schema, selection: Selection) -> Iterator[pa.RecordBatch]:
    """The records of a workbook: its name, the sheet's, and the values of the columns.

    :raises StageError: when it cannot be read, lacks the sheet, or has a row that fails the run.
    """
    name, codec = Path(file).name, RecordCodec(schema)
    sheet_name, rows = _rows(file, selection)
    kinds = [field.schema for field in schema][2:]
    names = schema.field_names
    records: list[dict[str, Any]] = []
    for number, row in rows:
        try:
            values = [
                _value(row[index] if index < len(row) else "", kind)
                for index, kind in zip(selection.columns, kinds, strict=True)
            ]
        except (ValueError, OverflowError) as error:
            problem = f"row {number} of sheet '{sheet_name}' of '{file}': {error}"
            if selection.fails:
                raise StageError(f"Terminating processing on error: {problem}.") from None
            _LOG.error("Left out %s", problem)
            continue
        records.append(dict(zip(names, [name, sheet_name, *values], strict=True)))
        if len(records) == _BATCH:
            yield codec.encode(records)
            records = []
    if records:
        yield codec.encode(records)


def _rows(file: str, selection: Selection) -> tuple[str, Iterator[tuple[int, list[Any]]]]:
    """The sheet's name, and its rows that have values, with their numbers from 1."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        _check_size(file)
        with CalamineWorkbook.from_path(file) as workbook:
            sheet_name = _sheet(file, workbook.sheet_names, selection.sheet)
            cells = workbook.get_sheet_by_name(sheet_name).to_python(skip_empty_area=False)
    except (OSError, CalamineError) as error:
        raise StageError(
            f"'{file}' cannot be read as a workbook: {error}.",
            "It must be an .xlsx, .xlsm, .xlsb, .xls or .ods file; 'filePattern' selects files.",
        ) from None
    return sheet_name, _filled(file, cells, selection)


def _filled(
    file: str, cells: list[list[Any]], selection: Selection
) -> Iterator[tuple[int, list[Any]]]:
    first = 1 if selection.skip_first_row else 0
    end = None if selection.rows_limit is None else first + selection.rows_limit
    for number, row in enumerate(cells[first:end], first + 1):
        if any(value != "" for value in row):
            yield number, row
        elif selection.ends_at_empty_row:
            raise StageError(
                f"Encountered empty row while reading Excel file: {file} (row {number}). "
                "Terminating processing."
            )


def _sheet(file: str, names: list[str], wanted: str | int) -> str:
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
        if size > _MOST_BYTES:
            raise StageError(
                f"'{file}' holds {size / 2**30:.1f} GB once it is decompressed, more than the 2 GB that "
                "are read."
            )


def _value(cell: Any, kind: Schema) -> Any:
    """A cell as a value of a field.

    :raises ValueError: when it is none.
    """
    if kind == Schema.STRING:
        return _text(cell)
    if kind in _WHOLE:
        return _whole(cell, _WHOLE[kind])
    return _CONVERSIONS[kind](cell)


def _text(cell: Any) -> str:
    """The text of a cell: whole numbers without a fraction, dates and times in ISO form."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)


def _whole(cell: Any, bits: int) -> int:
    text = _text(cell).strip()
    if not re.fullmatch("[+-]?[0-9]+", text):
        raise ValueError(f"'{text}' is no whole number")
    number = int(text)
    if not -(2**bits) <= number < 2**bits:
        raise ValueError(f"{number} has more than {bits + 1} bits")
    return number


def _double(cell: Any) -> float:
    text = _text(cell)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"'{text}' is no number") from None


def _boolean(cell: Any) -> bool:
    text = _text(cell).strip().lower()
    if text not in ("true", "false"):
        raise ValueError(f"'{text}' is neither true nor false")
    return text == "true"


def _bytes(cell: Any) -> bytes:
    return _text(cell).encode()


_CONVERSIONS: Final[dict[Schema, Callable[[Any], Any]]] = {
    Schema.FLOAT: _double,
    Schema.DOUBLE: _double,
    Schema.BOOLEAN: _boolean,
    Schema.BYTES: _bytes,
}
