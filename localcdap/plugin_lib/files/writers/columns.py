"""Columns of files as CDAP writes them, where Spark's own form of a type is another one.

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

from typing import TYPE_CHECKING, Final

from localcdap.api import LogicalType, Schema, SinkContext, Type
from localcdap.plugin_lib.spark.columns import allows_null, get_column, require_value, to_ddl
from localcdap.plugin_lib.spark.conversion import to_text

if TYPE_CHECKING:
    from pyspark.sql import Column

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


def build_file_column(context: SinkContext, name: str, schema: Schema, format: str) -> Column:
    """Return a column of files; null fails the run unless the schema allows it.

    :param format: of the files; those of formats other than Parquet and ORC are Spark's.
    """
    from pyspark.sql import functions as F  # noqa: N812

    value = require_value(context, get_column(name), name, schema)
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


def _contains(schema: Schema, types: frozenset[LogicalType]) -> bool:
    """Return whether a type is one of some, or has one in its parts other than unions."""
    inner = schema.non_nullable
    parts = [inner.items, inner.values, *(field.schema for field in inner)]
    return inner.logical_type in types or any(
        part is not None and _contains(part, types) for part in parts
    )
