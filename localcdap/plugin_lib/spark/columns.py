"""Columns of a DataFrame by exact field name, and those that fail the run when a value violates its schema.

Each check is part of the column that it checks, so that a column that no stage reads costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from localcdap.api import LogicalType, Schema, SparkContext, Type
from localcdap.api.arrow import list_union_tags
from localcdap.api.sql_names import quote_column

if TYPE_CHECKING:
    from pyspark.sql import Column


_SIMPLE: Final[dict[Type | LogicalType, str]] = {
    Type.NULL: "void",
    Type.BOOLEAN: "boolean",
    Type.INT: "int",
    Type.LONG: "bigint",
    Type.FLOAT: "float",
    Type.DOUBLE: "double",
    Type.BYTES: "binary",
    Type.STRING: "string",
    Type.ENUM: "string",
    LogicalType.DATE: "date",
    LogicalType.TIME_MILLIS: "time(6)",
    LogicalType.TIME_MICROS: "time(6)",
    LogicalType.TIMESTAMP_MILLIS: "timestamp",
    LogicalType.TIMESTAMP_MICROS: "timestamp",
    LogicalType.DATETIME: "timestamp_ntz",
}


def get_column(name: str) -> Column:
    """Return the column ``name``; the name may contain any characters."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(quote_column(name))


def to_spark_type(schema: Schema) -> str:
    """Return Spark's name of the type, as in ``DataFrame.dtypes``; field names are not quoted."""
    return _format_ddl_type(schema, lambda name: name)


def to_ddl(schema: Schema) -> str:
    """Return the type in Spark's DDL, with quoted field names."""
    return _format_ddl_type(schema, quote_column)


def to_columns_ddl(schema: Schema) -> str:
    """Return the fields of a record schema as the column list of a Spark reader."""
    return ", ".join(f"{quote_column(f.name)} {to_ddl(f.schema)}" for f in schema)


def _format_ddl_type(schema: Schema, name: Callable[[str], str]) -> str:
    inner = schema.non_nullable
    if inner.logical_type is LogicalType.DECIMAL:
        return f"decimal({inner.precision},{inner.scale or 0})"
    match inner.type:
        case Type.ARRAY if inner.items is not None:
            return f"array<{_format_ddl_type(inner.items, name)}>"
        case Type.MAP if inner.keys is not None and inner.values is not None:
            return (
                f"map<{_format_ddl_type(inner.keys, name)},{_format_ddl_type(inner.values, name)}>"
            )
        case Type.RECORD:
            return _format_struct([(f.name, f.schema) for f in inner], name)
        case Type.UNION:
            members = [m for m in inner.members if m.type is not Type.NULL]
            return _format_struct(list(zip(list_union_tags(inner), members, strict=True)), name)
        case _:
            return _SIMPLE[inner.logical_type or inner.type]


def _format_struct(parts: list[tuple[str, Schema]], name: Callable[[str], str]) -> str:
    return (
        "struct<"
        + ",".join(f"{name(tag)}:{_format_ddl_type(part, name)}" for tag, part in parts)
        + ">"
    )


def build_failure(
    context: SparkContext, message: Column, schema: Schema, record: Column | None = None
) -> Column:
    """Return an expression of the schema's type that fails the run with a message when Spark computes it.

    :param record: the record at fault, see :func:`write_record`.
    """
    return context.raising(message, record).cast(to_ddl(schema))


def write_record() -> Column:
    """Return the JSON of the row, for the message of a failure."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.to_json(F.struct("*"), {"ignoreNullFields": "false"})


def allows_null(schema: Schema) -> bool:
    """Return whether null is a value of the schema."""
    return schema.is_nullable or schema.type is Type.NULL


def require_value(
    context: SparkContext,
    value: Column,
    name: str,
    schema: Schema,
    where: Column | None = None,
    *,
    record: Column | None = None,
    why: str = "its schema does not allow null",
) -> Column:
    """Return the value; null fails the run unless the schema allows it.

    :param where: the file of the value, for the message.
    :param record: the record of the value, for the message.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if allows_null(schema):
        return value
    message = F.lit(f"Field '{name}' is null, but {why}.")
    if where is not None:
        message = F.concat(message, F.lit(" File: "), where)
    return F.coalesce(value, build_failure(context, message, schema, record))
