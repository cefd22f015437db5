"""Column expressions that fail the run when a value violates its schema.

Each check is part of the column that it checks, so that a column that no stage reads costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import Schema, SparkContext, Type
from localcdap.plugin_lib.spark.columns import to_ddl

if TYPE_CHECKING:
    from pyspark.sql import Column


def build_failure(context: SparkContext, message: Column, schema: Schema) -> Column:
    """Return an expression of the schema's type that fails the run with a message when Spark computes it."""
    return context.raising(message).cast(to_ddl(schema))


def allows_null(schema: Schema) -> bool:
    """Return whether null is a value of the schema."""
    return schema.is_nullable or schema.type is Type.NULL


def require_value(
    context: SparkContext,
    value: Column,
    name: str,
    schema: Schema,
    where: Column | None = None,
) -> Column:
    """Return the value; null fails the run unless the schema allows it.

    :param where: the file of the value, for the message.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if allows_null(schema):
        return value
    message = F.lit(f"Field '{name}' is null, but its schema does not allow null.")
    if where is not None:
        message = F.concat(message, F.lit(" File: "), where)
    return F.coalesce(value, build_failure(context, message, schema))
