"""The types of fields for columns of databases, and decimals that are read with fewer digits.

A table holds what the schema reader of a database decides otherwise than the common one
(database-plugins, ``database-commons/…/db/CommonSchemaReader.java``, which asks hydrator-common
``DBUtils.getSchema``). Its keys are the names that the JDBC driver gives types, in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import LogicalType, Schema
from localcdap.plugin_lib.spark.columns import build_failure, to_ddl

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructField, StructType

    from localcdap.api import SparkContext

_COMMON: Final = {
    "boolean": Schema.BOOLEAN,
    **dict.fromkeys(("tinyint", "smallint", "int"), Schema.INT),
    "bigint": Schema.LONG,
    "float": Schema.FLOAT,
    "double": Schema.DOUBLE,
    **dict.fromkeys(("string", "varchar", "char"), Schema.STRING),
    "binary": Schema.BYTES,
    "date": Schema.DATE,
    "time": Schema.TIME,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), Schema.TIMESTAMP),
}
"""By Spark's type; ``DBUtils.getSchema`` says the same of the type of JDBC."""
_DECIMAL: Final = re.compile(r"decimal\((\d+),(-?\d+)\)")
_MAX_PRECISION: Final = 38
_WITHOUT_PRECISION: Final = (("decimal(38,18)", 0), ("decimal(38,10)", -127))
"""Spark's type and the driver's scale of numbers without a precision, in PostgreSQL and Oracle."""


class UnsupportedTypeError(Exception):
    """A column has a type that no field has."""


class ColumnTypes(msgspec.Struct, frozen=True):
    """What one database has otherwise than the common table."""

    names: dict[str, Schema] = {}
    has_text_numbers: bool = False
    """Whether a number without a precision is a string; otherwise no field has its type."""
    has_text_arrays: bool = False
    """Whether an array is a string; otherwise no field has its type."""
    rounds: bool = False
    """Whether decimals are rounded half to even to the scale of their field; otherwise they must fit."""


COMMON: Final = ColumnTypes()
"""``DBUtils.getSchema``, and multi-table-plugins, ``io/cdap/plugin/format/DBTypes.java``."""
POSTGRES: Final = ColumnTypes(
    names={
        **dict.fromkeys(("bit", "timetz", "money"), Schema.STRING),
        "timestamp": Schema.DATETIME,
        "oid": Schema.LONG,
    },
    has_text_numbers=True,
    has_text_arrays=True,
    rounds=True,
)
"""``PostgresSchemaReader.java``, ``PostgresDBRecord.java``."""
MYSQL: Final = ColumnTypes(names={"year": Schema.INT, "mediumint unsigned": Schema.INT})
"""``MysqlSchemaReader.java``."""
SQL_SERVER: Final = ColumnTypes(
    names={
        "datetimeoffset": Schema.TIMESTAMP,
        **dict.fromkeys(("datetime", "datetime2", "smalldatetime"), Schema.DATETIME),
        **dict.fromkeys(("geometry", "geography"), Schema.BYTES),
    }
)
"""``SqlServerSourceSchemaReader.java``."""
ORACLE: Final = ColumnTypes(
    names={
        "timestamp with time zone": Schema.TIMESTAMP,
        **dict.fromkeys(("date", "timestamp", "timestamp with local time zone"), Schema.DATETIME),
        "binary_float": Schema.FLOAT,
        **dict.fromkeys(("binary_double", "float"), Schema.DOUBLE),
        **dict.fromkeys(("bfile", "long raw"), Schema.BYTES),
        **dict.fromkeys(("intervalds", "intervalym", "long"), Schema.STRING),
    },
    has_text_numbers=True,
)
"""``OracleSourceSchemaReader.java``; the driver reports ``DATE`` as a timestamp, ``FLOAT`` as a double."""


def to_table_schema(columns: StructType, name: str, types: ColumnTypes = COMMON) -> Schema:
    """Return the record schema of the columns of a table or a query.

    :param columns: as Spark's JDBC reader finds them, with its metadata.
    :raises UnsupportedTypeError: for a column such as an array, unless the database has it as a string.
    """
    fields = []
    for column in columns.fields:
        schema = to_field_schema(column, types)
        fields.append((column.name, schema.as_nullable if column.nullable else schema))
    return Schema.record(name, fields)


def to_field_schema(column: StructField, types: ColumnTypes) -> Schema:
    """Return the schema, not nullable, of the field for a column.

    A decimal of more than 38 digits has 38, of which as many follow the point as in the column.

    :raises UnsupportedTypeError: when no field has the column's type.
    """
    spark_type = column.dataType.simpleString()
    type_name = str(column.metadata.get("jdbcClientType", ""))
    schema: Schema | None = types.names.get(re.sub(r"\(\d*\)", "", type_name).lower())
    if schema is not None:
        return schema
    if has_no_precision(column):
        if types.has_text_numbers:
            return Schema.STRING
        raise UnsupportedTypeError(
            f"Column '{column.name}' has the type {type_name} without a precision, which no field has."
        )
    if decimal := _DECIMAL.fullmatch(spark_type):
        scale = int(column.metadata["scale"]) if loses_scale(column) else int(decimal[2])
        return Schema.decimal(int(decimal[1]), scale)
    if spark_type.startswith("array<") and types.has_text_arrays:
        return Schema.STRING
    schema = _COMMON.get(spark_type.partition("(")[0])
    if schema is None or is_bit_field(column):
        raise UnsupportedTypeError(
            f"Column '{column.name}' has the type {type_name or spark_type}, which no field has."
        )
    return schema


def is_bit_field(column: StructField) -> bool:
    """Return whether a column has the bits of MySQL, of which Spark makes texts of another meaning."""
    return column.dataType.simpleString() == "binary" and "binarylong" in column.metadata


def has_no_precision(column: StructField) -> bool:
    """Return whether a column is a number without a precision."""
    scale = column.metadata.get("scale")
    return (column.dataType.simpleString(), scale) in _WITHOUT_PRECISION


def loses_scale(column: StructField) -> bool:
    """Return whether Spark's decimal has fewer digits after the point than the column, of over 38 digits."""
    decimal = _DECIMAL.fullmatch(column.dataType.simpleString())
    scale = int(column.metadata.get("scale", 0))
    return decimal is not None and int(decimal[2]) < scale <= _MAX_PRECISION


def is_rounded(column: StructField, schema: Schema, types: ColumnTypes) -> bool:
    """Return whether values of a column may have more decimals than a field and are rounded."""
    decimal = _DECIMAL.fullmatch(column.dataType.simpleString())
    if (
        not types.rounds
        or decimal is None
        or schema.non_nullable.logical_type is not LogicalType.DECIMAL
    ):
        return False
    return is_rounded_from_text(column) or int(decimal[2]) > (schema.non_nullable.scale or 0)


def is_rounded_from_text(column: StructField) -> bool:
    """Return whether Spark's decimals cannot hold the values of a column before they are rounded."""
    return has_no_precision(column) or loses_scale(column)


def round_texts(context: SparkContext, text: Column, name: str, schema: Schema) -> Column:
    """Return the numbers in a column of texts as the decimals of a field, rounded half to even.

    A number with too many digits before the point fails the run, as does one that is not finite.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StringType

    round_batch = build_rounding(schema.non_nullable.scale or 0)
    rounded = F.arrow_udf(round_batch, StringType())(text)
    message = F.concat(
        F.lit(f"Field '{name}' must be of type {schema.non_nullable.display_name}, but it is "),
        text,
        F.lit("."),
    )
    fitting = rounded.try_cast(to_ddl(schema))
    return F.coalesce(fitting, F.when(text.isNotNull(), build_failure(context, message, schema)))


def build_rounding(scale: int) -> Callable[[Any], Any]:
    """Return a function that rounds the numbers in an array of texts half to even.

    ``NaN`` and ``Infinity`` stay as they are. The function refers to nothing of this module, which Spark's
    Python workers cannot import.

    :param scale: the number of digits after the point that the texts have then.
    """
    import pyarrow as pa

    def round_batch(texts: Any) -> Any:
        import decimal

        import pyarrow

        # A numeric of PostgreSQL has at most 131072 digits before and 16383 after the point.
        exact = decimal.Context(prec=200_000, rounding=decimal.ROUND_HALF_EVEN)
        unit = decimal.Decimal(1).scaleb(-scale)
        rounded = []
        for text in texts.to_pylist():
            value = None if text is None else decimal.Decimal(text)
            if value is not None and value.is_finite():
                text = format(value.quantize(unit, context=exact), "f")  # noqa: PLW2901
            rounded.append(text)
        return pyarrow.array(rounded, pyarrow.string())

    # Spark reads the types of the function from its annotations.
    round_batch.__annotations__ = {"texts": pa.Array, "return": pa.Array}
    return round_batch
