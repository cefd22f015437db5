"""Writers of Avro, formats of plugins, delimited text and JSON, which Spark does not write in CDAP's form.

Spark's Python workers write the files of the partitions of a DataFrame.

============================  ==================================  ========================
type                          Parquet                             ORC
============================  ==================================  ========================
timestamp-millis              INT64 (TIMESTAMP, microseconds,     bigint, milliseconds
timestamp-micros              adjusted to UTC)                    bigint, microseconds
time-millis                   INT64 (TIME, microseconds)          int, milliseconds
time-micros                   INT64 (TIME, microseconds)          bigint, microseconds
datetime                      BINARY (STRING), ISO 8601           string, ISO 8601
enum                          BINARY (STRING)                     string
date                          INT32 (DATE)                        date
decimal                       DECIMAL of the same digits          decimal
============================  ==================================  ========================

Parquet is that of parquet-avro (CDAP 6 ``StructuredParquetOutputFormat``): a column is required if null is
not a value of its field. Spark has no others than its own forms of milliseconds, which are microseconds, of
decimals of up to 18 digits, which are INT32 or INT64, and of records and elements, which are optional.

ORC is that of CDAP 6 ``HiveSchemaConverter``, except that dates and decimals have ORC's types, not int and
binary: these say what the number is.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from localcdap.api import (
    AlteredRows,
    LogicalType,
    Schema,
    SinkContext,
    SinkSampleContext,
    StageError,
    Type,
)
from localcdap.api.arrow import list_union_tags
from localcdap.files.atomic import FileReplacement
from localcdap.plugin_lib.json_texts import make_json_writer, to_json_column
from localcdap.plugin_lib.spark.columns import (
    allows_null,
    get_column,
    require_value,
    to_ddl,
    write_record,
)
from localcdap.plugin_lib.spark.conversion import to_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


WriteBatches = Callable[[IO[bytes], "Iterator[pa.RecordBatch]"], object]
"""Writes the batches of a partition into a file."""


def write_avro(df: DataFrame, schema: Schema, directory: str, codec: str) -> None:
    """Write an Avro file for each partition with records, and at least one file."""
    written = df.mapInArrow(
        _make_avro_writer(str(schema), directory, "null" if codec == "none" else codec),
        "records bigint",
    )
    written.write.format("noop").mode("overwrite").save()


def _make_avro_writer(
    schema: str, directory: str, codec: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    # A nested function is pickled by value; Spark's workers cannot import this module.
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Before fastavro: on a cluster, localcdap adds the folder of the packages that were sent to sys.path.
        from localcdap.api.arrow import RecordCodec
        from localcdap.api.schema import Schema
        from localcdap.files.avro import write_avro_records
        from localcdap.plugin_lib.files.writers import write_partition

        parsed = Schema.parse(schema)
        record_codec = RecordCodec(parsed)

        def write_batches(stream: IO[bytes], filled: Iterator[pa.RecordBatch]) -> None:
            records = (record for batch in filled for record in record_codec.decode(batch))
            write_avro_records(stream, parsed, records, codec)

        yield from write_partition(batches, directory, ".avro", write_batches)

    return write


def write_partition(
    batches: Iterator[pa.RecordBatch], directory: str, extension: str, write: WriteBatches
) -> Iterator[pa.RecordBatch]:
    """Write the batches of the current task into a file; that of another partition than the first only if
    it has records.

    :returns: a batch with their number as ``records``.
    """
    import pyarrow as pa
    from pyspark import TaskContext

    task = TaskContext.get()
    partition = task.partitionId() if task is not None else 0
    count = 0
    filled = (batch for batch in batches if batch.num_rows)
    first = list(itertools.islice(filled, 1))
    if not first and partition != 0:
        return

    def count_records() -> Iterator[Any]:
        nonlocal count
        for batch in itertools.chain(first, filled):
            count += batch.num_rows
            yield batch

    # The name of a file that a task has not finished is another one in each attempt, and hidden.
    path = Path(directory) / f"part-{partition:05d}{extension}"
    with (
        FileReplacement(path, is_synced=False) as replacement,
        replacement.new_file.open("wb") as stream,
    ):
        write(stream, count_records())
    yield pa.RecordBatch.from_arrays([pa.array([count], pa.int64())], names=["records"])


_LITERALS: Final[dict[Type | LogicalType, str]] = {
    Type.BOOLEAN: "false",
    Type.INT: "0",
    Type.LONG: "0L",
    Type.FLOAT: "0F",
    Type.DOUBLE: "0D",
    Type.BYTES: "X''",
    Type.STRING: "''",
    Type.ENUM: "''",
    Type.ARRAY: "array()",
    Type.MAP: "map()",
    LogicalType.DATE: "DATE '1970-01-01'",
    LogicalType.TIME_MILLIS: "TIME '00:00:00'",
    LogicalType.TIME_MICROS: "TIME '00:00:00'",
    LogicalType.TIMESTAMP_MILLIS: "TIMESTAMP '1970-01-01'",
    LogicalType.TIMESTAMP_MICROS: "TIMESTAMP '1970-01-01'",
    LogicalType.DATETIME: "''",
    LogicalType.DECIMAL: "false",
}
"""A value of each type, in SQL."""
_STORED: Final = {
    "parquet": frozenset((LogicalType.DATETIME,)),
    "orc": frozenset(LogicalType) - {LogicalType.DATE, LogicalType.DECIMAL},
}
"""The types that Spark would write in another form, by the format of the files."""
_NONE: Final[frozenset[LogicalType]] = frozenset()
_MISSING_DAYS: Final = ("1582-10-05", "1582-10-14")
_MOVED: Final = "a date of 5 to 14 October 1582 became 15 October 1582, which ORC has instead"


def build_file_column(context: SinkContext, name: str, schema: Schema, format: str) -> Column:
    """Return a column of files; null fails the run unless the schema allows it.

    :param format: of the files; those of formats other than Parquet and ORC are Spark's.
    """
    from pyspark.sql import functions as F  # noqa: N812

    value = require_value(context, get_column(name), name, schema, record=write_record())
    value = _store(value, schema, _STORED.get(format, _NONE))
    literal = _LITERALS.get(schema.logical_type or schema.type)
    if format == "parquet" and literal is not None and not allows_null(schema):
        # Never computed: Spark calls a column required only if its last choice is a value.
        type = "string" if schema.logical_type is LogicalType.DATETIME else to_ddl(schema)
        value = F.coalesce(value, F.expr(literal).cast(type))
    return value.alias(name)


def _store(value: Column, schema: Schema, types: frozenset[LogicalType]) -> Column:
    """Return a value with what is of some types in it, except in unions, in the form of the files."""
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    if not _contains(inner, types):
        return value
    if inner.items is not None:
        items = inner.items
        return F.transform(value, lambda item: _store(item, items, types))
    if inner.values is not None:
        values = inner.values
        return F.transform_values(value, lambda _, item: _store(item, values, types))
    match inner.logical_type:
        case LogicalType.DATETIME:
            return to_text(value, inner)
        case LogicalType.TIMESTAMP_MILLIS:
            return F.unix_millis(value)
        case LogicalType.TIMESTAMP_MICROS:
            # A number of microseconds, too, and an attribute by which detection tells it from others.
            return value.cast("timestamp_ntz")
        case LogicalType.TIME_MILLIS:
            return F.time_to_millis(value).cast("int")
        case LogicalType.TIME_MICROS:
            return F.time_to_micros(value)
    parts = [_store(value[f.name], f.schema, types).alias(f.name) for f in inner]
    return F.when(value.isNotNull(), F.struct(*parts))


def count_moved_dates(context: SinkContext, df: DataFrame, schema: Schema) -> DataFrame:
    """Have the records counted with dates that become 15 October 1582 in an ORC file.

    Spark writes dates in Java's calendar, which has none of 5 to 14 October 1582.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = []
    for field in schema:
        value = get_column(field.name)
        is_moved = _has_missing_day(value, field.schema)
        if is_moved is not None:
            shown = F.concat(F.lit(f"field '{field.name}': "), value.cast("string"))
            found.append(F.when(is_moved, shown))
    if not found:
        return df
    return context.observe_altered(df, AlteredRows(_MOVED, F.coalesce(*found)))


def _has_missing_day(value: Column, schema: Schema) -> Column | None:
    """Return whether a value is, or contains, a date that Java's calendar lacks; None if it cannot."""
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    if inner.logical_type is LogicalType.DATE:
        first, last = (F.lit(day).cast("date") for day in _MISSING_DAYS)
        return (value >= first) & (value <= last)
    parts: list[tuple[Column, Schema]] = [(value[f.name], f.schema) for f in inner]
    if inner.members:
        members = [member for member in inner.members if member.type is not Type.NULL]
        tags = list_union_tags(inner)
        parts += [(value[tag], member) for tag, member in zip(tags, members, strict=True)]
    found = [_has_missing_day(part, of_part) for part, of_part in parts]
    several = [(value, inner.items)]
    if inner.type is Type.MAP:
        several = [(F.map_keys(value), inner.keys), (F.map_values(value), inner.values)]
    for elements, element in several:
        if element is not None and _has_missing_day(F.lit(None), element) is not None:
            found.append(F.exists(elements, _make_day_test(element)))
    known = [F.ifnull(each, F.lit(False)) for each in found if each is not None]
    return functools.reduce(lambda one, other: one | other, known) if known else None


def _make_day_test(schema: Schema) -> Callable[[Column], Column]:
    """Return :func:`_has_missing_day` for a type that contains dates."""

    def has_missing_day(value: Column) -> Column:
        is_missing = _has_missing_day(value, schema)
        assert is_missing is not None
        return is_missing

    return has_missing_day


def _contains(schema: Schema, types: frozenset[LogicalType]) -> bool:
    """Return whether a type is one of some, or has one in its parts other than unions."""
    inner = schema.non_nullable
    parts = [inner.items, inner.values, *(field.schema for field in inner)]
    return inner.logical_type in types or any(
        part is not None and _contains(part, types) for part in parts
    )


_ROW_NUMBER: Final = (1 << 33) - 1
"""The bits of ``monotonically_increasing_id`` that count the rows of a partition."""
_NOT_QUOTED: Final = (
    "a delimiter, a quote or a line end in a value was written as it is, as CDAP does"
)
_SHOWN: Final = 200
"""Characters of a line that a warning shows."""
_ALTERED: Final = "altered"
_PLAIN: Final = re.compile("[0-9A-Za-z+./:=-]+")
"""What the texts of numbers, dates, booleans and bytes consist of."""


def write_delimited(
    df: DataFrame,
    context: SinkContext,
    schema: Schema,
    directory: str,
    delimiter: str,
    *,
    header: bool,
    quoted: bool,
) -> None:
    """Write a line for each record; null is an empty text.

    :param quoted: whether to quote values that contain the delimiter, a quote or a line end. Otherwise their
        records are counted.
    """
    from pyspark.sql import functions as F  # noqa: N812

    texts = {f.name: to_text(get_column(f.name), f.schema) for f in schema}
    checked = list_checked_fields(schema, delimiter)
    special = [_is_special(texts[name], delimiter) for name in checked]
    if quoted:
        for name, is_special in zip(checked, special, strict=True):
            texts[name] = _quote(texts[name], is_special)
    line = F.concat_ws(delimiter, *[F.coalesce(text, F.lit("")) for text in texts.values()])
    lines = df.select(line.alias("value"))
    if special and not quoted:
        known = [F.coalesce(each, F.lit(False)) for each in special]
        is_altered = functools.reduce(lambda one, other: one | other, known)
        altered = F.when(is_altered, F.substring(line, 1, _SHOWN)).alias(_ALTERED)
        lines = df.select(line.alias("value"), altered)
        lines = context.observe_altered(lines, AlteredRows(_NOT_QUOTED, F.col(_ALTERED)))
    value = F.col("value")
    if header:
        names = F.lit(delimiter.join(schema.field_names) + "\n")
        # Each partition becomes one file.
        is_first = F.monotonically_increasing_id().bitwiseAND(_ROW_NUMBER) == 0
        value = F.when(is_first, F.concat(names, value)).otherwise(value)
    lines.select(value.alias("value")).write.mode("append").text(directory)


def count_altered(
    context: SinkSampleContext, batch: pa.RecordBatch, schema: Schema, delimiter: str
) -> None:
    """Count the records of a preview that :func:`write_delimited` would count."""
    import pyarrow as pa
    import pyarrow.compute as pc

    pattern = f'["\\r\\n]|{re.escape(delimiter)}'
    altered = pa.nulls(batch.num_rows, pa.bool_()).fill_null(False)
    for name in list_checked_fields(schema, delimiter):
        texts = pc.cast(batch.column(name), pa.string())
        matches = pc.match_substring_regex(texts, pattern)
        altered = pc.or_(altered, matches.fill_null(False))
    count = altered.true_count
    if count:
        row = batch.slice(altered.index(True).as_py(), 1).to_pylist()[0]
        texts = ("" if row[name] is None else str(row[name]) for name in schema.field_names)
        context.count_altered(_NOT_QUOTED, delimiter.join(texts), count)


def list_checked_fields(schema: Schema, delimiter: str) -> list[str]:
    """Return the fields whose texts may contain a quote, a line end or the delimiter."""
    if _PLAIN.search(delimiter):
        return schema.field_names
    return [f.name for f in schema if f.schema.non_nullable.type in (Type.STRING, Type.ENUM)]


def _is_special(text: Column, delimiter: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    parts = [F.contains(text, F.lit(part)) for part in (delimiter, '"', "\n", "\r")]
    return functools.reduce(lambda one, other: one | other, parts)


def _quote(text: Column, is_special: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    inside = F.replace(text, F.lit('"'), F.lit('""'))
    return F.when(is_special, F.concat(F.lit('"'), inside, F.lit('"'))).otherwise(text)


_LINE: Final = Schema.record("line", [("value", Schema.STRING)])


def write_json(
    df: DataFrame, context: SinkContext, schema: Schema, directory: str, *, former: bool
) -> None:
    """Write records into the files of an empty folder.

    Spark writes the types of which it makes the same JSON as CDAP, and Python all others.

    :param former: to write the form of earlier versions.
    """
    columns = []
    for field in schema:
        value = get_column(field.name)
        column = value if former else to_json_column(context, value, field.schema)
        columns += [] if column is None else [column.alias(field.name)]
    if len(columns) == len(schema.field_names):
        df.select(columns).write.mode("append").options(
            ignoreNullFields="false",
            timeZone="UTC",
            timestampFormat="yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
            timestampNTZFormat="yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
        ).json(directory)
        return
    # mapInArrow takes dots in names of columns for syntax.
    numbered = df.toDF(*(f"c{number}" for number in range(len(df.columns))))
    lines = context.in_batches(numbered, LineWriter(schema), _LINE)
    lines.write.mode("append").text(directory)
    if not context.is_remote:
        for file in Path(directory).glob("*.txt"):
            file.rename(file.with_suffix(".json"))


class LineWriter:
    """Makes the lines of batches of records."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the lines of each batch.

        :raises StageError: (without a stage) when a number is not finite.
        """
        from localcdap.api.arrow import RecordCodec

        records, lines = RecordCodec(self._schema), RecordCodec(_LINE)
        write = make_json_writer(self._schema)
        for batch in batches:
            named = batch.rename_columns(self._schema.field_names)
            try:
                yield lines.encode([{"value": write(record)} for record in records.decode(named)])
            except ValueError as error:
                raise StageError(str(error), "Make it null or another number before.") from None
