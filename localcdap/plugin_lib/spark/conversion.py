"""Columns converted to the types of a schema: typed columns, and the texts of delimited files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import LogicalType, Schema, SparkContext, Type
from localcdap.plugin_lib.spark.checks import allows_null, build_failure, require_value
from localcdap.plugin_lib.spark.columns import get_column, to_ddl, to_spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NUMBERS: Final = frozenset(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"))
_TIMESTAMPS: Final = frozenset(("timestamp", "timestamp_ntz"))
_TEXTS: Final = frozenset(("string", "binary"))
_DATE = r"^\s*[+-]?[0-9]{4,}(-[0-9]{1,2}){0,2}\s*$"
_DATE_FIRST = r"^\s*[+-]?[0-9]{4,}-"


def conform_columns(context: SparkContext, df: DataFrame, schema: Schema) -> list[Column]:
    """Convert the columns of a DataFrame to the fields of a schema.

    Fields that the DataFrame lacks are null. Numbers are converted to other numeric types if they fit.

    :raises StageError: when a non-nullable field is missing, or a column's type cannot be converted.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = dict(df.dtypes)
    columns = []
    for each in schema:
        actual = found.get(each.name)
        if actual is None and not allows_null(each.schema):
            raise context.fail(
                f"field '{each.name}' does not exist in the data; fields are: {', '.join(found)}.",
                f"Allow null for '{each.name}' in the schema, or remove it.",
            )
        if actual is None:
            columns.append(F.lit(None).cast(to_ddl(each.schema)).alias(each.name))
            continue
        value = _convert(context, get_column(each.name), actual, each.name, each.schema)
        if value is None:
            raise context.fail(
                f"field '{each.name}' is of type {actual} in the data, but its schema says "
                f"{each.schema.display_name}.",
                f"Change the type of '{each.name}' in the schema.",
            )
        columns.append(require_value(context, value, each.name, each.schema).alias(each.name))
    return columns


def _convert(
    context: SparkContext, value: Column, actual: str, name: str, schema: Schema
) -> Column | None:
    """Return the value as the schema's type; None when its type cannot be converted."""
    from pyspark.sql import functions as F  # noqa: N812

    wanted = to_spark_type(schema)
    if actual == wanted:
        return value
    if schema.type is Type.NULL:
        return F.lit(None)
    if actual == "void" or (_get_kind(actual) == _get_kind(wanted) == "time"):
        return value.cast(to_ddl(schema))
    kinds = {_get_kind(actual), _get_kind(wanted)}
    if kinds <= _TIMESTAMPS or kinds <= _TEXTS:
        return value.cast(to_ddl(schema))
    if kinds <= _NUMBERS:
        fitting = value.try_cast(to_ddl(schema))
        message = F.concat(
            F.lit(f"Field '{name}' must be of type {schema.display_name}, but it is "),
            value.cast("string"),
            F.lit("."),
        )
        return F.coalesce(
            fitting, F.when(value.isNotNull(), build_failure(context, message, schema))
        )
    is_nested = schema.non_nullable.type in (Type.RECORD, Type.ARRAY, Type.MAP)
    if is_nested and _get_kind(actual) == _get_kind(wanted):
        return _convert_nested(value, schema)
    return None


def _convert_nested(value: Column, schema: Schema) -> Column:
    """Convert a nested value: parts of records by name; values that do not fit fail the run."""
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    if inner.type is Type.RECORD:
        parts = [value[f.name].cast(to_ddl(f.schema)).alias(f.name) for f in inner]
        return F.when(value.isNotNull(), F.struct(*parts))
    return value.cast(to_ddl(schema))


def _get_kind(type: str) -> str:
    return type.partition("(")[0].partition("<")[0]


def from_text(text: Column, schema: Schema) -> Column:
    """Parse a text as a value of the schema; null when it is not one. Numbers may have blanks around them.

    Dates and times are ISO 8601, bytes are Base64.
    """
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    if inner.type is Type.ENUM:
        return F.when(text.isin(list(inner.symbols)), text)
    match inner.logical_type or inner.type:
        case Type.STRING:
            return text
        case Type.BOOLEAN:
            word = F.lower(F.trim(text))
            return F.when(word == "true", True).when(word == "false", False)
        case Type.BYTES:
            return F.try_to_binary(text, F.lit("base64"))
        case LogicalType.DECIMAL:
            # A cast would round without an error.
            too_fine = text.rlike(rf"\.[0-9]{{{inner.scale or 0}}}[0-9]*[1-9]")
            return F.when(~too_fine, text.try_cast(to_ddl(inner)))
        case LogicalType.DATE:
            return F.when(text.rlike(_DATE), text.try_cast("date"))
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS | LogicalType.DATETIME:
            return F.when(text.rlike(_DATE_FIRST), text.try_cast(to_ddl(inner)))
        case _:
            return text.try_cast(to_ddl(inner))


def to_text(value: Column, schema: Schema) -> Column:
    """Format a value as :func:`from_text` parses it; null stays null."""
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    match inner.logical_type or inner.type:
        case Type.STRING | Type.ENUM:
            return value
        case Type.BYTES:
            return F.base64(value)
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return F.concat(F.replace(value.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))
        case LogicalType.DATETIME:
            return F.replace(value.cast("string"), F.lit(" "), F.lit("T"))
        case _:
            return value.cast("string")
