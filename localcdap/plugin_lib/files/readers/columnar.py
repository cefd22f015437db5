"""Parquet and ORC files, each read with the declared schema.

Spark reads the files whose columns have the types of the schema, or narrower ones, in one go; it reads the
timestamps of 96 bits beside those of 64. Arrow reads the others in Spark's Python workers.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import LogicalType, Schema, SourceContext, StageError, Type
from localcdap.api.arrow import RecordCodec, list_union_tags, to_arrow_type
from localcdap.api.errors import BadRequestError, describe_reason
from localcdap.files.arrow_files import ArrowFile, check_columns, read_file_batches
from localcdap.files.avro import read_avro_batches
from localcdap.files.cell_texts import (
    CellTime,
    format_cell_date,
    read_date_formats,
    to_serial_number,
)
from localcdap.files.titles import get_column_letters, make_safe_names
from localcdap.files.workbooks import format_cell, read_sheet_cells
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.files.inputs import require_file_system
from localcdap.plugin_lib.files.readers.lines import FILE, PathField, escape_paths, get_file_uri
from localcdap.plugin_lib.files.source_config import FileSourceConfig
from localcdap.plugin_lib.spark.columns import (
    build_failure,
    get_column,
    require_value,
    to_columns_ddl,
)
from localcdap.plugin_lib.spark.conversion import conform_columns, from_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from localcdap.api.schema import Field

_JAVA: Final = "ORC_JAVA"
_GREGORIAN: Final = "1582-10-15"
_TIMES: Final = (
    LogicalType.DATE,
    LogicalType.TIMESTAMP_MILLIS,
    LogicalType.TIMESTAMP_MICROS,
    LogicalType.DATETIME,
)
_ROWS: Final = 10_000
"""The most rows of a batch that Arrow reads."""
_REMEMBERED: Final = 8
"""The last columns of files whose reader is remembered."""


def read_columnar_files(
    context: SourceContext, files: Sequence[str], schema: Schema, format: str
) -> DataFrame:
    """Read the fields of the schema from Parquet or ORC files, and the URI of the file as :data:`FILE`.

    A field that a file lacks is null.

    :raises StageError: when a file is not of the format, or a column of one cannot become the field of its
        name; it names both.
    """
    reader = context.spark.read.format(format).option("recursiveFileLookup", "true")
    uri = get_file_uri().alias(FILE)
    if context.is_remote:
        # This process cannot look into the files. Without merging, Spark takes the fields of the first one.
        frame = reader.option("mergeSchema", str(len(files) > 1).lower()).load(escape_paths(files))
        frame = _parse_local_times(context, frame, schema)
        return frame.select(uri, *conform_columns(context, frame, schema))
    native, foreign, others = _divide_files(context, files, schema, format)
    frames = []
    for paths in filter(None, (native, foreign)):
        frame = reader.schema(to_columns_ddl(schema)).load(escape_paths(paths))
        columns = []
        for each in schema:
            value = get_column(each.name)
            if paths is foreign:
                value = _refuse_old_times(context, value, each)
            value = require_value(context, value, each.name, each.schema, get_file_uri())
            columns.append(value.alias(each.name))
        frames.append(frame.select(uri, *columns))
    if others:
        with_file = Schema.record(
            "record", [(FILE, Schema.STRING), *((f.name, f.schema) for f in schema)]
        )
        read = functools.partial(_read_by_arrow, format=format, schema=str(schema))
        frames.append(context.generate(with_file, others, read))
    return functools.reduce(lambda first, second: first.union(second), frames)


def _parse_local_times(context: SourceContext, frame: DataFrame, schema: Schema) -> DataFrame:
    """Return a DataFrame with the texts of datetimes as datetimes."""
    from pyspark.sql import functions as F  # noqa: N812

    types, columns = dict(frame.dtypes), {}
    for field in schema:
        inner = field.schema.non_nullable
        if inner.logical_type is LogicalType.DATETIME and types.get(field.name) == "string":
            text = get_column(field.name)
            message = F.concat(
                F.lit(f"Field '{field.name}' must be of type datetime, but it is "),
                text,
                F.lit("."),
            )
            failure = F.when(text.isNotNull(), build_failure(context, message, inner))
            columns[field.name] = F.coalesce(from_text(text, inner), failure)
    return frame.withColumns(columns) if columns else frame


def _read_by_arrow(file: str, format: str, schema: str) -> Iterator[pa.RecordBatch]:
    """Yield the fields of the schema, after the URI of the file."""
    import pyarrow as pa

    uri = Path(file).as_uri()
    for batch in read_file_batches(file, format, Schema.parse(schema), _ROWS):
        uris = pa.array([uri] * batch.num_rows, pa.string())
        yield pa.RecordBatch.from_arrays([uris, *batch.columns], names=[FILE, *batch.schema.names])


def _refuse_old_times(context: SourceContext, value: Column, field: Field) -> Column:
    """Have a date or time fail the run that Spark would take for one of the Julian calendar."""
    from pyspark.sql import functions as F  # noqa: N812

    if field.schema.non_nullable.logical_type not in _TIMES:
        return value
    message = F.concat(
        F.lit(
            f"Field '{field.name}' has a date before 15 October 1582. Of an ORC file that Java has not "
            "written, these are read only if it has dates and no times. File: "
        ),
        get_file_uri(),
    )
    failure = build_failure(context, message, field.schema)
    return F.when(value < F.lit(_GREGORIAN).cast("date"), failure).otherwise(value)


def _divide_files(
    context: SourceContext, files: Sequence[str], schema: Schema, format: str
) -> tuple[list[str], list[str], list[str]]:
    """Return the files that Spark reads as the schema says, those in which only old times differ, and others.

    Opening a file takes a quarter of a millisecond, and looking at its columns as long again: most files of a
    folder have the same ones.
    """
    decisions: deque[tuple[pa.Schema, str | None, list[str]]] = deque(maxlen=_REMEMBERED)
    native: list[str] = []
    foreign: list[str] = []
    others: list[str] = []
    for path in files:
        try:
            with ArrowFile(path, format) as file:
                group = next(
                    (
                        group
                        for arrow, writer, group in decisions
                        if writer == file.writer and arrow.equals(file.arrow, True)
                    ),
                    None,
                )
                if group is None:
                    check_columns(path, file.columns, schema)
                    group = native if _is_native(file.columns, schema, format) else others
                    if group is native and file.writer not in (None, _JAVA):
                        group = _choose_foreign(file.columns, schema, native, foreign, others)
                    decisions.append((file.arrow, file.writer, group))
        except BadRequestError as error:
            raise context.fail(error.message, error.corrective_action) from None
        except (OSError, ValueError) as error:
            raise context.fail(
                f"'{path}' cannot be read as {format}: {describe_reason(error)}.",
                "Check 'path' and 'format'.",
            ) from None
        group.append(path)
    return native, foreign, others


def _choose_foreign(
    columns: pa.Schema,
    schema: Schema,
    native: list[str],
    foreign: list[str],
    others: list[str],
) -> list[str]:
    """Return how an ORC file is read that Java has not written, whose dates are all Gregorian.

    Spark takes old ones for Julian. Arrow does not, but has times of the years 1677 to 2262 only.
    """
    import pyarrow as pa

    types = [columns.field(each.name).type for each in schema if each.name in columns.names]
    if any(map(pa.types.is_timestamp, types)):
        return foreign
    return others if any(map(pa.types.is_date, types)) else native


def _is_native(columns: pa.Schema, schema: Schema, format: str) -> bool:
    return all(
        field.name not in columns.names
        or _reads_natively(columns.field(field.name).type, field.schema, format)
        for field in schema
    )


def _reads_natively(stored: pa.DataType, schema: Schema, format: str) -> bool:
    """Return whether Spark, told the type of a field, gives each value of a column unchanged."""
    import pyarrow as pa

    kinds, inner = pa.types, schema.non_nullable
    match inner.logical_type or inner.type:
        case Type.INT:
            return bool(kinds.is_signed_integer(stored) and stored.bit_width <= 32)
        case Type.LONG:
            return bool(kinds.is_signed_integer(stored))
        case Type.DOUBLE:
            return bool(kinds.is_float64(stored) or kinds.is_float32(stored))
        case Type.ARRAY if inner.items is not None and kinds.is_list(stored):
            return _is_exact(stored.value_type, inner.items, format)
        case Type.MAP if (
            inner.keys is not None and inner.values is not None and kinds.is_map(stored)
        ):
            return _is_exact(stored.key_type, inner.keys, format) and _is_exact(
                stored.item_type, inner.values, format
            )
        case Type.RECORD | Type.UNION if kinds.is_struct(stored):
            members = [m for m in inner.members if m.type is not Type.NULL]
            parts = (
                list(zip(list_union_tags(inner), members, strict=True))
                if inner.members
                else [(f.name, f.schema) for f in inner]
            )
            names = [field.name for field in stored]
            return all(
                name in names and _is_exact(stored.field(name).type, part, format)
                for name, part in parts
            )
    return _is_exact(stored, inner, format)


def _is_exact(stored: pa.DataType, schema: Schema, format: str) -> bool:
    """Return whether a column has the very type for which Spark takes that of a field."""
    import pyarrow as pa

    kinds, inner, is_parquet = pa.types, schema.non_nullable, format == "parquet"
    match inner.logical_type or inner.type:
        case Type.ARRAY | Type.MAP | Type.RECORD | Type.UNION:
            return _reads_natively(stored, inner, format)
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            # Timestamps of ORC are in nanoseconds; those in microseconds are numbers with an attribute.
            return bool(kinds.is_timestamp(stored)) and (stored.unit == "ns") is not is_parquet
        case LogicalType.DATETIME:
            units = ("us", "ms") if is_parquet else ("us",)
            return bool(kinds.is_timestamp(stored)) and stored.unit in units
        case LogicalType.TIME_MILLIS | LogicalType.TIME_MICROS:
            return is_parquet and stored == pa.time64("us")
        case LogicalType.DATE:
            return bool(kinds.is_date(stored))
        case Type.BYTES:
            return bool(kinds.is_binary(stored) or kinds.is_fixed_size_binary(stored))
    return bool(stored == to_arrow_type(inner))


def read_avro_files(
    context: SourceContext, files: Sequence[str], schema: Schema, path: PathField
) -> DataFrame:
    """Read the fields of the schema from Avro files; fields that a file lacks are null."""
    require_file_system(context, files)
    tasks = [(file, path.format_path(file)) for file in files]
    read = functools.partial(_read_avro, schema=str(schema), path_field=path.name)
    return context.generate(schema, tasks, read)


def _read_avro(
    task: tuple[str, str], schema: str, path_field: str | None
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a file in batches.

    :param task: the file, and the value of the path field.
    :raises StageError: as :func:`.read_avro_batches`.
    """
    file, shown = task
    constants = {} if path_field is None else {path_field: shown}
    return read_avro_batches(file, Schema.parse(schema), constants)


_SHEET_ROWS: Final = 4096


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
    title, cells = read_sheet_cells(file, sheet)
    _format_dates(file, title, cells, [kind is Type.STRING for _, kind in kinds])
    rows: Iterator[list[Any]] = iter(cells[first:])
    if ends_at_empty_row:
        rows = itertools.takewhile(lambda row: any(cell != "" for cell in row), rows)
    while chunk := list(itertools.islice(rows, _SHEET_ROWS)):
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
    """Return the type of a column (hydrator-plugins ``XlsInputFormatSchemaDetector``).

    A date is a string, but a number below a number or a boolean.
    """
    filled = [cell for cell in cells if cell != ""]
    found = Schema.STRING
    if filled and not isinstance(filled[0], str | CellTime):
        is_boolean = all(isinstance(cell, bool) for cell in filled)
        found = Schema.BOOLEAN if is_boolean else Schema.DOUBLE
        if any(isinstance(cell, str) for cell in filled):
            found = Schema.STRING
    return found if len(filled) == len(cells) else found.as_nullable


def _format_dates(file: str, sheet: str, cells: list[list[Any]], is_text: Sequence[bool]) -> None:
    """Replace the dates and times in columns of texts by their texts, each by the format of its cell.

    Those of a file without formats have ISO form.
    """
    places = [
        (number, index)
        for number, row in enumerate(cells)
        for index, (cell, wanted) in enumerate(zip(row, is_text, strict=False))
        if wanted and isinstance(cell, CellTime)
    ]
    formats = read_date_formats(file, sheet) if places else {}
    for number, index in places:
        format, cell = formats.get((number, index)), cells[number][index]
        cells[number][index] = format_cell_date(cell, format) if format else format_cell(cell)


def _convert_cell(cell: Any, kind: Type) -> Any:
    """Convert a cell to a value of a field (hydrator-plugins ``XlsRowConverter``); None for an empty cell."""
    if cell == "":
        return None
    is_number = isinstance(cell, int | float)
    match kind:
        case Type.STRING:
            return to_java_string(cell).upper() if isinstance(cell, bool) else to_java_string(cell)
        case Type.DOUBLE:
            if isinstance(cell, CellTime):
                return to_serial_number(cell)
            return float(cell) if is_number else None
        case Type.BOOLEAN:
            if isinstance(cell, CellTime):
                return to_serial_number(cell) != 0
            return cell != 0 if is_number else str(cell).lower() == "true"
    raise StageError(f"A cell cannot become a value of type {kind.value}.")
