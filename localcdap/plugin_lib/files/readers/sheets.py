"""Sheets of workbooks as records (format ``xls`` of CDAP 6.10); columns are fields by position."""

from __future__ import annotations

import datetime
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import Schema, SourceContext, StageError, Type
from localcdap.api.arrow import RecordCodec
from localcdap.files.titles import get_column_letters, make_safe_names
from localcdap.files.workbooks import format_cell, read_sheet_cells
from localcdap.plugin_lib.files.inputs import require_file_system
from localcdap.plugin_lib.files.readers.lines import PathField
from localcdap.plugin_lib.files.source_config import FileSourceConfig

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_ROWS: Final = 4096


def read_sheets(
    context: SourceContext,
    config: FileSourceConfig,
    files: Sequence[str],
    schema: Schema,
    path: PathField,
) -> DataFrame:
    """Read the rows of a sheet of each file. An empty row becomes nulls, or ends the sheet."""
    require_file_system(context, files)
    read = functools.partial(
        read_sheet,
        schema=str(schema),
        path_field=path.name,
        sheet=config.chosen_sheet,
        first=1 if config.skip_header else 0,
        ends_at_empty_row=config.ends_at_empty_row,
    )
    return context.generate(schema, [(file, path.format_path(file)) for file in files], read)


def read_sheet(
    task: tuple[str, str],
    schema: str,
    path_field: str | None,
    sheet: str | int,
    first: int,
    ends_at_empty_row: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of one file in batches.

    :param task: the file, and the value of the path field.
    :raises StageError: when the file cannot be read, or a value does not fit; it names the file.
    """
    file, shown = task
    wanted = Schema.parse(schema)
    codec = RecordCodec(wanted)
    kinds = [(f.name, f.schema.non_nullable.type) for f in wanted if f.name != path_field]
    _, cells = read_sheet_cells(file, sheet)
    rows: Iterator[list[Any]] = iter(cells[first:])
    if ends_at_empty_row:
        rows = itertools.takewhile(lambda row: any(cell != "" for cell in row), rows)
    while chunk := list(itertools.islice(rows, _ROWS)):
        records = []
        for row in chunk:
            record = {
                name: _convert_cell(cell, kind)
                for (name, kind), cell in zip(kinds, row, strict=False)
            }
            records.append(record if path_field is None else record | {path_field: shown})
        try:
            yield codec.encode(records)
        except StageError as error:
            raise StageError(f"{error.message} File: {file}.", error.corrective_action) from None


def detect_sheet_schema(config: FileSourceConfig, file: str) -> Schema:
    """Detect the schema from the first rows of a sheet: strings, doubles, booleans.

    :raises StageError: when the file cannot be read, or has no rows.
    """
    _, cells = read_sheet_cells(file, config.chosen_sheet)
    rows = cells[: config.sample_size + 1]
    data = rows[1:] if config.skip_header else rows
    if not data:
        raise StageError(f"'{file}' has no rows.", "Set the 'schema' property.")
    width = len(rows[0])
    names = make_safe_names([format_cell(cell) for cell in rows[0]]) if config.skip_header else None
    columns = [[row[index] for row in data] for index in range(width)]
    fields = [
        (names[index] if names else get_column_letters(index), _detect_type(column))
        for index, column in enumerate(columns)
    ]
    return Schema.record("xls", fields)


def _detect_type(cells: Sequence[Any]) -> Schema:
    filled = [cell for cell in cells if cell != ""]
    if filled and all(isinstance(cell, bool) for cell in filled):
        found = Schema.BOOLEAN
    elif filled and all(isinstance(cell, bool | int | float) for cell in filled):
        found = Schema.DOUBLE
    else:
        found = Schema.STRING
    return found if len(filled) == len(cells) else found.as_nullable


def _convert_cell(cell: Any, kind: Type) -> Any:
    """Convert a cell to a value of a field (CDAP 6 ``XlsRowConverter``); None for an empty cell."""
    if cell == "":
        return None
    is_number = isinstance(cell, int | float)
    match kind:
        case Type.STRING:
            return format_cell(cell).upper() if isinstance(cell, bool) else format_cell(cell)
        case Type.DOUBLE:
            return float(cell) if is_number else _to_serial_number(cell)
        case Type.BOOLEAN:
            return cell != 0 if is_number else str(cell).lower() == "true"
    raise StageError(f"A cell cannot become a value of type {kind.value}.")


def _to_serial_number(cell: Any) -> float | None:
    """Return the serial number of a date or time in a workbook; None for a text."""
    if isinstance(cell, datetime.time):
        cell = datetime.datetime.combine(datetime.date(1899, 12, 30), cell)
    elif isinstance(cell, datetime.timedelta):
        return cell / datetime.timedelta(days=1)
    elif isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime):
        cell = datetime.datetime.combine(cell, datetime.time())
    if not isinstance(cell, datetime.datetime):
        return None
    return (cell - datetime.datetime(1899, 12, 30)) / datetime.timedelta(days=1)
