"""Rows of workbooks as records, read in Spark's Python workers."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import Schema, StageError
from localcdap.api.arrow import RecordCodec
from localcdap.files.workbooks import format_cell, read_sheet_cells
from localcdap.plugin_lib.text_values import find_text_converter

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
_MAX_COLUMNS: Final = 16_384
_BATCH: Final = 10_000
_LOG: Final = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class ExcelSelection:
    """The part of each workbook that is read."""

    sheet: str | int
    """The sheet's name, or its number from 0."""
    columns: tuple[int, ...]
    """Column numbers from 0, in the order of the fields."""
    skip_first_row: bool
    ends_at_empty_row: bool
    rows_limit: int | None
    fails: bool
    """Whether a value that does not fit fails the run; otherwise its row is skipped."""


def parse_column_letters(letters: str) -> int | None:
    """Return the number of a column, from 0, by its letters; None for an invalid text.

    >>> column_index("A"), column_index("AA"), column_index("a1")
    (0, 26, None)
    """
    if not re.fullmatch("[A-Za-z]{1,3}", letters):
        return None
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1 if number <= _MAX_COLUMNS else None


def read_workbook(file: str, schema: Schema, selection: ExcelSelection) -> Iterator[pa.RecordBatch]:
    """Yield the records of a workbook: the file's name, the sheet's name, and the values of the columns.

    :raises StageError: when the workbook cannot be read, lacks the sheet, or has a row that fails the run.
    """
    name, codec = Path(file).name, RecordCodec(schema)
    sheet_name, rows = _read_rows(file, selection)
    kinds = [field.schema for field in schema][2:]
    names = schema.field_names
    records: list[dict[str, Any]] = []
    for number, row in rows:
        try:
            values = [
                _convert_cell(row[index] if index < len(row) else "", kind)
                for index, kind in zip(selection.columns, kinds, strict=True)
            ]
        except (ValueError, OverflowError) as error:
            problem = f"row {number} of sheet '{sheet_name}' of '{file}': {error}"
            if selection.fails:
                raise StageError(f"Terminating processing on error: {problem}.") from None
            _LOG.error("Skipped %s", problem)
            continue
        records.append(dict(zip(names, [name, sheet_name, *values], strict=True)))
        if len(records) == _BATCH:
            yield codec.encode(records)
            records = []
    if records:
        yield codec.encode(records)


def _read_rows(file: str, selection: ExcelSelection) -> tuple[str, Iterator[tuple[int, list[Any]]]]:
    """Return the sheet's name and its rows with values, numbered from 1."""
    sheet_name, cells = read_sheet_cells(file, selection.sheet)
    return sheet_name, _find_filled_rows(file, cells, selection)


def _find_filled_rows(
    file: str, cells: list[list[Any]], selection: ExcelSelection
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


def _convert_cell(cell: Any, kind: Schema) -> Any:
    """Convert a cell to a value of a field.

    :raises ValueError: when the cell does not have such a value.
    """
    convert = find_text_converter(kind)
    assert convert is not None  # it is one of TYPES
    text = format_cell(cell)
    try:
        return convert(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a value of type {kind.display_name}") from None
