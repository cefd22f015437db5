"""Converts rows to records of the declared schema (wrangler ``RecordConvertor``), one by one or in Spark.

Texts become numbers and booleans, numbers become wider ones, every simple value becomes a text. A blank text
is null unless the target is a text. Beyond the original, texts in ISO 8601 become dates and times, and a long
becomes an int if it fits: the original distinguishes the whole numbers of expressions value by value, so that
``n + 1`` is an Integer or a Long (``JexlArithmetic.narrowBigInteger``), which no schema tells.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.directive import DirectiveError, NoNativeFormError
from localcdap.api.directive.rows import Row
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.java.numbers import (
    NumberFormatError,
    parse_double,
    parse_float,
    parse_int,
    parse_long,
)
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.spark.conversion import read_real, read_whole
from localcdap.plugin_lib.wrangler.recipe.spark_frame import SparkFrame

if TYPE_CHECKING:
    from pyspark.sql import Column


Convert = Callable[[Any], Any]
"""Converts a value to a schema; raises :class:`DirectiveError` for a value that cannot be converted."""
_RANGES: Final = {Type.INT: 2**31, Type.LONG: 2**63}
_PREFIX: Final = "Problem converting into output record. Reason : "


class OutputConverter:
    """Converts rows to records of a schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema: Final = schema
        self._fields: Final = [(f.name, make_converter(f.schema, f.name)) for f in schema]

    def convert(self, row: Row) -> dict[str, Any]:
        """Convert a row.

        :raises DirectiveError: for a value that cannot be converted to the type of its field.
        """
        return {name: convert(row.value(name)) for name, convert in self._fields}


def make_converter(schema: Schema, name: str) -> Convert:
    convert = _make_non_null_converter(schema.non_nullable, name)
    if schema.is_nullable or schema.type is Type.NULL:
        return convert

    def convert_required(value: Any) -> Any:
        made = convert(value)
        if made is None:
            raise DirectiveError(format_null_message(schema, name))
        return made

    return convert_required


def format_null_message(schema: Schema, name: str) -> str:
    """Return the message for a field without a value, in the wording of the original."""
    return (
        f"{_PREFIX}Field '{name}' of type '{schema.type.name}' (Nullable : 'NO') cannot be set to "
        "'NULL'. Possibly the value being set is not in inline with the schema specified. Check "
        f"schema for field '{name}'."
    )


def split_parse_message(schema: Schema, name: str) -> tuple[str, str]:
    """Return the message for a text that cannot be parsed, as the parts before and after the text."""
    type_name = _name_type(schema)
    return f"{_PREFIX}Unable to convert '", f"' to {type_name} for field name '{name}'"


def split_range_message(schema: Schema, name: str) -> tuple[str, str]:
    """Return the message for a whole number that does not fit, as the parts before and after the number."""
    type_name = _name_type(schema)
    return f"{_PREFIX}Schema specifies field '{name}' is {type_name}, but ", " does not fit it"


def _name_type(schema: Schema) -> str:
    return "integer" if schema.display_name == "int" else schema.display_name


def _make_non_null_converter(schema: Schema, name: str) -> Convert:
    if schema.logical_type is not None:
        return _make_logical(schema, name)
    if schema.type.is_simple:
        return _make_simple(schema, name)
    if schema.items is not None:
        return _make_array(make_converter(schema.items, name), name)
    if schema.values is not None:
        return _make_map(make_converter(schema.values, name), name)
    if schema.type is Type.RECORD:
        return _make_record(schema, name)
    return _make_union(schema, name) if schema.type is Type.UNION else _keep


def _make_simple(schema: Schema, name: str) -> Convert:
    match schema.type:
        case Type.INT | Type.LONG:
            return _make_whole(schema, name)
        case Type.FLOAT | Type.DOUBLE:
            return _make_real(schema, name)
        case Type.BOOLEAN:
            return _make_parsed(schema, name, bool, lambda text: text.lower() == "true")
        case Type.BYTES:
            return _make_parsed(
                schema, name, bytes, lambda text: text.encode("utf-8", "surrogatepass")
            )
        case Type.STRING:
            return to_java_text
    return lambda _: None


def _keep(value: Any) -> Any:
    return value


def to_java_text(value: Any) -> str | None:
    """Return Java's text of a value; null stays null."""
    if value is None or isinstance(value, str):
        return value
    return to_java_string(value)


def _make_type_error(schema: Schema, name: str, value: Any) -> DirectiveError:
    type_name = _name_type(schema)
    return DirectiveError(
        f"{_PREFIX}Schema specifies field '{name}' is {type_name}, but the value is of type "
        f"'{type(value).__name__}'"
    )


def _make_parse_error(schema: Schema, name: str, text: str) -> DirectiveError:
    before, after = split_parse_message(schema, name)
    return DirectiveError(f"{before}{text}{after}")


def _make_parsed(schema: Schema, name: str, cls: type, parse: Callable[[str], Any]) -> Convert:
    def convert(value: Any) -> Any:
        if value is None or isinstance(value, cls):
            return value
        if isinstance(value, str):
            return parse(value) if value.strip() else None
        raise _make_type_error(schema, name, value)

    return convert


def _make_whole(schema: Schema, name: str) -> Convert:
    limit = _RANGES[schema.type]
    parse = parse_int if schema.type is Type.INT else parse_long

    def convert(value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif value is None:
            return None
        elif isinstance(value, str):
            if not value.strip():
                return None
            try:
                return parse(value)
            except NumberFormatError:
                raise _make_parse_error(schema, name, value) from None
        else:
            raise _make_type_error(schema, name, value)
        if not -limit <= number < limit:
            before, after = split_range_message(schema, name)
            raise DirectiveError(f"{before}{number}{after}")
        return number

    return convert


def _make_real(schema: Schema, name: str) -> Convert:
    parse = parse_float if schema.non_nullable.type is Type.FLOAT else parse_double

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, float):
            return float(value)
        if isinstance(value, str):
            if not value.strip():
                return None
            try:
                return parse(value)
            except NumberFormatError:
                raise _make_parse_error(schema, name, value) from None
        if isinstance(value, int | decimal.Decimal) and not isinstance(value, bool):
            try:
                return float(value)
            except OverflowError:
                return math.inf if value > 0 else -math.inf
        raise _make_type_error(schema, name, value)

    return convert


def _make_logical(schema: Schema, name: str) -> Convert:
    kind = schema.logical_type
    if kind is LogicalType.DECIMAL:
        return _make_decimal(schema, name)
    parse = _PARSERS[LogicalType.DATE]
    if kind is not None:
        parse = _PARSERS[kind]

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, str):
            if not value.strip():
                return None
            with contextlib.suppress(ValueError):
                return parse(value.strip())
            raise _make_parse_error(schema, name, value)
        matched = _match_moment(kind, value)
        if matched is None:
            raise _make_type_error(schema, name, value)
        return matched

    return convert


def _parse_instant(text: str) -> datetime.datetime:
    made = datetime.datetime.fromisoformat(re.sub(r"\[[^\]]*\]$", "", text))
    return made.replace(tzinfo=datetime.UTC) if made.tzinfo is None else made


_PARSERS: Final[Mapping[LogicalType, Callable[[str], Any]]] = {
    LogicalType.DATE: datetime.date.fromisoformat,
    LogicalType.TIME_MILLIS: datetime.time.fromisoformat,
    LogicalType.TIME_MICROS: datetime.time.fromisoformat,
    LogicalType.TIMESTAMP_MILLIS: _parse_instant,
    LogicalType.TIMESTAMP_MICROS: _parse_instant,
    LogicalType.DATETIME: datetime.datetime.fromisoformat,
}


def _match_moment(kind: LogicalType | None, value: Any) -> Any:
    """Return a date or time of the logical type; None for any other value."""
    is_moment = isinstance(value, datetime.datetime)
    if kind is LogicalType.DATE:
        return value if isinstance(value, datetime.date) and not is_moment else None
    if kind in (LogicalType.TIME_MILLIS, LogicalType.TIME_MICROS):
        return value if isinstance(value, datetime.time) else None
    if not is_moment:
        return None
    if kind is LogicalType.DATETIME:
        return value if value.tzinfo is None else None
    return value if value.tzinfo is not None else None


def _make_decimal(schema: Schema, name: str) -> Convert:
    scale, precision = schema.scale or 0, schema.precision or 38
    unit = decimal.Decimal(1).scaleb(-scale)
    exact = decimal.Context(prec=precision, traps=[decimal.Inexact, decimal.InvalidOperation])

    def convert(value: Any) -> Any:
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if isinstance(value, bool) or not isinstance(value, decimal.Decimal | int | float | str):
            raise _make_type_error(schema, name, value)
        try:
            number = decimal.Decimal(repr(value) if isinstance(value, float) else value)
            return number.quantize(unit, context=exact)
        except (decimal.DecimalException, ValueError):
            raise _make_parse_error(schema, name, to_java_string(value)) from None

    return convert


def _make_array(convert: Convert, name: str) -> Convert:
    def convert_value(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise DirectiveError(f"{_PREFIX}Unable to decode array '{name}'")
        return [convert(member) for member in value]

    return convert_value


def _make_map(convert: Convert, name: str) -> Convert:
    def convert_value(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise DirectiveError(f"{_PREFIX}Unable decode object '{name}' with schema type 'MAP'.")
        return {to_java_text(key): convert(member) for key, member in value.items()}

    return convert_value


def _make_record(schema: Schema, name: str) -> Convert:
    fields = [(f.name, make_converter(f.schema, name)) for f in schema]

    def convert_value(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise DirectiveError(
                f"{_PREFIX}Unable decode object '{name}' with schema type 'RECORD'."
            )
        return {member: convert(value.get(member)) for member, convert in fields}

    return convert_value


def _make_union(schema: Schema, name: str) -> Convert:
    converters = [make_converter(member, name) for member in schema.members]

    def convert_first(value: Any) -> Any:
        for convert in converters:
            with contextlib.suppress(DirectiveError):
                return convert(value)
        raise _make_type_error(schema, name, value)

    return convert_first


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
    read = read_whole if target.type in (Type.INT, Type.LONG) else read_real
    number = read(value, kind)
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
