"""The conversions of :mod:`localcdap.plugin_lib.wrangler.recipe.output` as Spark expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api.directive import NoNativeFormError
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.plugin_lib.spark.conversion import read_real
from localcdap.plugin_lib.wrangler.recipe.output import (
    WHOLE,
    format_null_message,
    split_parse_message,
    split_range_message,
)
from localcdap.plugin_lib.wrangler.recipe.spark_frame import SparkFrame

if TYPE_CHECKING:
    from pyspark.sql import Column

_TO_TEXT: Final = (Type.INT, Type.LONG, Type.BOOLEAN, Type.DOUBLE)
_WIDENED: Final = {
    (Type.INT, Type.LONG): "bigint",
    (Type.INT, Type.FLOAT): "float",
    (Type.INT, Type.DOUBLE): "double",
    (Type.LONG, Type.FLOAT): "float",
    (Type.LONG, Type.DOUBLE): "double",
}
_NUMBERS: Final = {Type.INT: "int", Type.LONG: "bigint", Type.FLOAT: "float", Type.DOUBLE: "double"}
_BLANK: Final = r"^\s*$"


def convert_output(frame: SparkFrame, declared: Schema) -> None:
    """Convert the columns to those of the declared schema.

    :raises NoNativeFormError: if Spark has no equivalent of a conversion.
    """
    from pyspark.sql import functions as f

    frame.directive = ""
    for field in declared:
        target = field.schema.non_nullable
        source = frame.columns.schema(field.name)
        if source is None:
            frame.put(
                field.name, f.lit(None).cast(_find_null_type(target)), field.schema.as_nullable
            )
        elif source.non_nullable != target:
            _convert(frame, field.name, source.non_nullable, target)
        if not field.schema.is_nullable and field.schema.type is not Type.NULL:
            source = frame.columns.schema(field.name)
            if source is None or source.is_nullable:
                missing = frame.column(field.name).isNull()
                frame.fail_without_prefix(missing, format_null_message(field.schema, field.name))
    for name in list(frame.columns):
        if not any(field.name.lower() == name.lower() for field in declared):
            frame.remove(name)


def _convert(frame: SparkFrame, name: str, source: Schema, target: Schema) -> None:
    value = frame.column(name)
    made: Column | None = None
    if source.logical_type is None and target.logical_type is None:
        if source.type is Type.STRING:
            made = _parse(frame, name, value, target)
        elif target.type is Type.STRING and source.type in _TO_TEXT:
            made = value.cast("string")
        elif (source.type, target.type) == (Type.LONG, Type.INT):
            made = _narrow(frame, name, value, target)
        elif (source.type, target.type) in _WIDENED:
            made = value.cast(_WIDENED[source.type, target.type])
    elif target.type is Type.STRING and source.logical_type is LogicalType.DATE:
        made = value.cast("string")
    if made is None:
        raise NoNativeFormError(
            f"Spark does not make '{name}' {target.display_name} from {source.display_name} in the "
            "same way"
        )
    frame.put(name, made, target.as_nullable)


def _narrow(frame: SparkFrame, name: str, value: Column, target: Schema) -> Column:
    """Make an int of a long; rows with numbers that do not fit fail."""
    from pyspark.sql import functions as f

    number = value.try_cast("int")
    before, after = split_range_message(target, name)
    failing = number.isNull() & value.isNotNull()
    frame.fail_without_prefix(failing, f.concat(f.lit(before), value.cast("string"), f.lit(after)))
    return number


def _parse(frame: SparkFrame, name: str, value: Column, target: Schema) -> Column | None:
    from pyspark.sql import functions as f

    if target.type is Type.BYTES:
        return f.when(~value.rlike(_BLANK), value.cast("binary"))
    if target.type is Type.BOOLEAN:
        return f.when(~value.rlike(_BLANK), f.lower(value) == "true")
    if target.type not in _NUMBERS:
        return None
    kind = _NUMBERS[target.type]
    if target.type in (Type.INT, Type.LONG):
        number = f.when(value.rlike(rf"\A{WHOLE}\z"), value.try_cast(kind))
    else:
        number = read_real(value, kind)
    before, after = split_parse_message(target, name)
    failing = number.isNull() & value.isNotNull() & ~value.rlike(_BLANK)
    frame.fail_without_prefix(failing, f.concat(f.lit(before), value, f.lit(after)))
    return number


def _find_null_type(schema: Schema) -> str:
    if schema.logical_type is None and schema.type in _NUMBERS:
        return _NUMBERS[schema.type]
    if schema.logical_type is None and schema.type is Type.STRING:
        return "string"
    if schema.logical_type is None and schema.type is Type.BOOLEAN:
        return "boolean"
    raise NoNativeFormError(
        f"a missing column of the type {schema.display_name} is made in batches"
    )
