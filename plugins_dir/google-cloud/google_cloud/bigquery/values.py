"""Values converted between the types of fields and of columns, as BigQuery converts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import Schema, SparkContext, Type
from localcdap.plugin_lib.spark.columns import build_failure, get_column, to_ddl, to_spark_type
from localcdap.plugin_lib.spark.conversion import convert_number, from_text, to_text

from .types import NUMBERS, can_convert, describe_type, get_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def convert_rows(
    context: SparkContext, df: DataFrame, given: Schema, wanted: Schema, *, rounds: bool
) -> DataFrame:
    """Convert the simple fields that have another type than wanted; the others stay as they are.

    A value that does not fit fails the run with its field and text. Call ``conform_columns`` afterwards.

    :param given: the schema of the rows.
    :param rounds: whether decimals with more digits after the point are rounded, halves away from zero, as
        BigQuery does when it loads rows; otherwise they fail the run.
    """
    changed: dict[str, Column] = {}
    for field in wanted:
        found = given.field(field.name)
        if found is not None:
            value = _convert(context, field.name, found.schema, field.schema, rounds=rounds)
            if value is not None:
                changed[field.name] = value
    return df.select(*(changed.get(name, get_column(name)).alias(name) for name in df.columns))


def check_value(context: SparkContext, name: str, given: Schema, wanted: Schema) -> Column | None:
    """Return a field whose values fit into a column of another type, still in the type of the field.

    A value that does not fit fails the run with its field and text. None when there is nothing to check.

    :raises StageError: when no value of the field fits.
    """
    if given.non_nullable == wanted.non_nullable or Type.NULL in (given.type, wanted.type):
        return None
    if not can_convert(given, wanted):
        raise context.fail(
            f"field '{name}' of type '{given.display_name}' is incompatible with its column of type "
            f"'{describe_type(wanted)}'.",
            "Convert the field before it is written, or write into another table.",
        )
    if not (given.is_simple and wanted.is_simple) or get_type(wanted) == "STRING":
        return None
    value = _convert(context, name, given, wanted, rounds=True)
    numbers = {get_type(given), get_type(wanted)} <= NUMBERS
    if value is None and numbers:
        value = convert_number(context, get_column(name), to_spark_type(given), name, wanted)
    return None if value is None else value.cast(to_ddl(given))


def check_arrays(context: SparkContext, df: DataFrame, schema: Schema) -> DataFrame:
    """Return the rows with arrays as BigQuery stores them (CDAP ``BigQueryRecordToJson``), also nested ones.

    A null array is an empty one, and a null among the elements fails the run.

    :param schema: of the rows; fields that the rows lack do not count.
    """
    changed: dict[str, Column] = {}
    for field in schema:
        if field.name in df.columns:
            value = _check_array(context, field.name, get_column(field.name), field.schema)
            if value is not None:
                changed[field.name] = value
    return df.select(*(changed.get(name, get_column(name)).alias(name) for name in df.columns))


def _check_array(context: SparkContext, name: str, value: Column, schema: Schema) -> Column | None:
    """Return a value whose arrays are checked; None when its type has no arrays."""
    from pyspark.sql import functions as f

    inner = schema.non_nullable
    if inner.fields is not None:
        parts = [_check_array(context, each.name, value[each.name], each.schema) for each in inner]
        if all(part is None for part in parts):
            return None
        record = f.struct(
            *(
                (value[each.name] if part is None else part).alias(each.name)
                for each, part in zip(inner, parts, strict=True)
            )
        )
        return f.when(value.isNotNull(), record)
    items = inner.items
    if items is None:
        return None
    message = f.lit(
        f"Field '{name}' contains null values in its array, which is not allowed by BigQuery."
    )

    def check(element: Column) -> Column:
        checked = _check_array(context, name, element, items)
        failure = build_failure(context, message, items)
        return f.when(element.isNull(), failure).otherwise(element if checked is None else checked)

    return f.coalesce(f.transform(value, check), f.array().cast(f"array<{to_ddl(items)}>"))


def _convert(
    context: SparkContext, name: str, given: Schema, wanted: Schema, *, rounds: bool
) -> Column | None:
    from pyspark.sql import functions as f

    value = get_column(name)
    held, made = get_type(given), get_type(wanted)
    if not (given.non_nullable.is_simple and wanted.non_nullable.is_simple):
        return None
    if held == made == "NUMERIC":
        return _convert_decimal(context, name, given, wanted, rounds=rounds)
    if held == made or "BYTES" in (held, made):
        return None
    if made == "STRING":
        # BigQueryRecordToJson writes timestamps in this form.
        return (
            f.date_format(value, "yyyy-MM-dd HH:mm:ss.SSSSSS")
            if held == "TIMESTAMP"
            else to_text(value, given)
        )
    if held == "STRING":
        return _require_parsed(context, name, value, from_text(value, wanted), wanted)
    if held == "DATE":
        return value.cast(to_ddl(wanted))
    return None


def _convert_decimal(
    context: SparkContext, name: str, given: Schema, wanted: Schema, *, rounds: bool
) -> Column | None:
    from pyspark.sql import functions as f

    value, scale = get_column(name), wanted.non_nullable.scale or 0
    if (given.non_nullable.scale or 0) <= scale:
        return None
    rounded = f.round(value, scale)
    if rounds:
        return rounded
    return _require_parsed(context, name, value, f.when(rounded == value, rounded), wanted)


def _require_parsed(
    context: SparkContext, name: str, value: Column, parsed: Column, wanted: Schema
) -> Column:
    """Return the parsed value; fail the run where there is a value and no parsed one."""
    from pyspark.sql import functions as f

    message = f.concat(
        f.lit(f"Field '{name}' must be {_describe(wanted)}, but it is '"),
        value.cast("string"),
        f.lit("'."),
    )
    failure = build_failure(context, message, wanted)
    return f.coalesce(parsed.cast(to_ddl(wanted)), f.when(value.isNotNull(), failure))


def _describe(schema: Schema) -> str:
    inner = schema.non_nullable
    digits = "" if inner.precision is None else f"({inner.precision}, {inner.scale or 0})"
    return f"a {inner.display_name}{digits}"
