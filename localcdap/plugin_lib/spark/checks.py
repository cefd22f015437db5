"""Expressions that fail the run when a value is not what its schema says.

They belong to the column they check, so that a column that nothing reads costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import Schema, SparkContext, Type
from localcdap.plugin_lib.spark.columns import to_ddl

if TYPE_CHECKING:
    from pyspark.sql import Column


def build_failure(context: SparkContext, message: Column, schema: Schema) -> Column:
    """A value of the schema's type that fails the run when it is needed."""
    return context.raising(message).cast(to_ddl(schema))


def allows_null(schema: Schema) -> bool:
    return schema.is_nullable or schema.type is Type.NULL


def require_value(
    context: SparkContext,
    value: Column,
    name: str,
    schema: Schema,
    where: Column | None = None,
) -> Column:
    """The value, checked to be there unless the schema allows null."""
    from pyspark.sql import functions as F  # noqa: N812

    if allows_null(schema):
        return value
    message = F.lit(f"Field '{name}' is null, but its schema does not allow null.")
    if where is not None:
        message = F.concat(message, F.lit(" File: "), where)
    return F.coalesce(value, build_failure(context, message, schema))
