"""DataFrames that know their own types, as records of a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, SparkContext, Type
from localcdap.plugin_lib.spark.checks import allows_null, failing, required
from localcdap.plugin_lib.spark.columns import column
from localcdap.plugin_lib.spark.ddl import type_ddl, type_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NUMBERS: Final = frozenset(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"))
_MOMENTS: Final = frozenset(("timestamp", "timestamp_ntz"))
_TEXTS: Final = frozenset(("string", "binary"))


def conformed_columns(context: SparkContext, df: DataFrame, schema: Schema) -> list[Column]:
    """The columns of a DataFrame as the fields of a schema.

    Fields that the DataFrame lacks are null; numbers become other numbers where they fit.

    :raises StageError: when a field without null is missing, or has a type that cannot become its own.
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
            columns.append(F.lit(None).cast(type_ddl(each.schema)).alias(each.name))
            continue
        value = _converted(context, column(each.name), actual, each.name, each.schema)
        if value is None:
            raise context.fail(
                f"field '{each.name}' is of type {actual} in the data, but its schema says "
                f"{each.schema.display_name}.",
                f"Change the type of '{each.name}' in the schema.",
            )
        columns.append(required(context, value, each.name, each.schema).alias(each.name))
    return columns


def _converted(
    context: SparkContext, value: Column, actual: str, name: str, schema: Schema
) -> Column | None:
    """The value as the schema's type; None when no value of that type becomes it."""
    from pyspark.sql import functions as F  # noqa: N812

    wanted = type_name(schema)
    if actual == wanted:
        return value
    if schema.type is Type.NULL:
        return F.lit(None)
    if actual == "void" or (_kind(actual) == _kind(wanted) == "time"):
        return value.cast(type_ddl(schema))
    kinds = {_kind(actual), _kind(wanted)}
    if kinds <= _MOMENTS or kinds <= _TEXTS:
        return value.cast(type_ddl(schema))
    if kinds <= _NUMBERS:
        fitting = value.try_cast(type_ddl(schema))
        message = F.concat(
            F.lit(f"Field '{name}' must be of type {schema.display_name}, but it is "),
            value.cast("string"),
            F.lit("."),
        )
        return F.coalesce(fitting, F.when(value.isNotNull(), failing(context, message, schema)))
    is_nested = schema.non_nullable.type in (Type.RECORD, Type.ARRAY, Type.MAP)
    if is_nested and _kind(actual) == _kind(wanted):
        return _nested(value, schema)
    return None


def _nested(value: Column, schema: Schema) -> Column:
    """Parts of records by name; everything inside becomes the type of the schema, or fails the run."""
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    if inner.type is Type.RECORD:
        parts = [value[f.name].cast(type_ddl(f.schema)).alias(f.name) for f in inner]
        return F.when(value.isNotNull(), F.struct(*parts))
    return value.cast(type_ddl(schema))


def _kind(type: str) -> str:
    return type.partition("(")[0].partition("<")[0]
