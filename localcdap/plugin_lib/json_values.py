"""Conversion of decoded JSON to declared types (CDAP ``JsonStructuredRecordDatumReader``).

Unlike in CDAP, an object or array becomes its JSON text in a string field, and dates and times may be ISO
texts as well as epoch numbers.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any, Final

import msgspec

from localcdap.api import LogicalType, Schema, Type
from localcdap.api.arrow import matches
from localcdap.plugin_lib.json_texts import require_boolean

Convert = Callable[[Any], Any]

INT_RANGE: Final = (-(2**31), 2**31 - 1)
LONG_RANGE: Final = (-(2**63), 2**63 - 1)

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MIDNIGHT: Final = datetime.datetime(1970, 1, 1)


class JsonValueError(ValueError):
    """A JSON value does not fit its schema; the message names the path, the type and the value."""


def make_json_converter(schema: Schema, path: str) -> Convert:
    """Return the function that converts a decoded JSON value to the schema, or raises
    :class:`JsonValueError`.

    :param path: the path of the value, for messages.
    """
    inner = schema.non_nullable
    convert = _make_converter(inner, path)
    if schema.is_nullable or inner.type is Type.NULL:
        return lambda value: None if value is None else convert(value)

    def convert_required(value: Any) -> Any:
        if value is None:
            raise JsonValueError(f"'{path}' is null or missing, but its schema does not allow null")
        return convert(value)

    return convert_required


def _make_converter(schema: Schema, path: str) -> Convert:
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            return _make_array_converter(schema.items, path)
        case Type.MAP if schema.values is not None:
            return _make_map_converter(schema.values, path)
        case Type.RECORD:
            return _make_record_converter(schema, path)
        case Type.UNION:
            return _make_union_converter(schema, path)
        case _:
            simple = _LOGICAL[schema.logical_type] if schema.logical_type else _SIMPLE[schema.type]
            return _make_checked_converter(simple, schema, path)


def _make_checked_converter(convert: Convert, schema: Schema, path: str) -> Convert:
    def convert_checked(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, TypeError, OverflowError, decimal.InvalidOperation):
            shown = msgspec.json.encode(value).decode()
            raise JsonValueError(
                f"'{path}' must be of type {schema.display_name}, but is {shown[:80]}"
            ) from None

    return convert_checked


def _make_array_converter(items: Schema, path: str) -> Convert:
    item = make_json_converter(items, f"{path}[]")

    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise JsonValueError(f"'{path}' must be an array")
        return [item(element) for element in value]

    return convert


def _make_map_converter(values: Schema, path: str) -> Convert:
    item = make_json_converter(values, f"{path}.*")

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise JsonValueError(f"'{path}' must be an object")
        return {key: item(element) for key, element in value.items()}

    return convert


def _make_record_converter(schema: Schema, path: str) -> Convert:
    prefix = f"{path}." if path else ""
    members = [(f.name, make_json_converter(f.schema, prefix + f.name)) for f in schema]

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise JsonValueError(f"'{path}' must be an object" if path else "it is not an object")
        return {name: member(value.get(name)) for name, member in members}

    return convert


def _make_union_converter(schema: Schema, path: str) -> Convert:
    choices = [(m, make_json_converter(m, path)) for m in schema.members if m.type is not Type.NULL]

    def convert(value: Any) -> Any:
        for member, choice in choices:
            if matches(value, member):
                return choice(value)
        for _, choice in choices:
            try:
                return choice(value)
            except JsonValueError:
                continue
        raise JsonValueError(f"'{path}' does not have one of the types of its union")

    return convert


def _make_integer_converter(limits: tuple[int, int]) -> Convert:
    def convert(value: Any) -> int:
        if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
            raise ValueError(value)
        number = int(value)
        if not limits[0] <= number <= limits[1]:
            raise OverflowError(value)
        return number

    return convert


def _convert_to_double(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError(value)
    return float(value)


def _to_string(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return bytes(element & 0xFF for element in value)


def _to_date(value: Any) -> datetime.date:
    if isinstance(value, str):
        return datetime.date.fromisoformat(value)
    return (_EPOCH + datetime.timedelta(days=value)).date()


def _make_time_converter(unit: str) -> Convert:
    def convert(value: Any) -> datetime.time:
        if isinstance(value, str):
            return datetime.time.fromisoformat(value)
        return (_MIDNIGHT + datetime.timedelta(**{unit: value})).time()

    return convert


def _make_timestamp_converter(unit: str) -> Convert:
    def convert(value: Any) -> datetime.datetime:
        if not isinstance(value, str):
            return _EPOCH + datetime.timedelta(**{unit: value})
        moment = datetime.datetime.fromisoformat(value.removesuffix("[UTC]"))
        return moment.replace(tzinfo=moment.tzinfo or datetime.UTC)

    return convert


def _to_decimal(value: Any) -> decimal.Decimal:
    if isinstance(value, bool):
        raise TypeError(value)
    return decimal.Decimal(str(value))


_SIMPLE: Final[dict[Type, Convert]] = {
    Type.NULL: lambda _: None,
    Type.BOOLEAN: require_boolean,
    Type.INT: _make_integer_converter(INT_RANGE),
    Type.LONG: _make_integer_converter(LONG_RANGE),
    Type.FLOAT: _convert_to_double,
    Type.DOUBLE: _convert_to_double,
    Type.BYTES: _to_bytes,
    Type.STRING: _to_string,
    Type.ENUM: _to_string,
}
_LOGICAL: Final[dict[LogicalType, Convert]] = {
    LogicalType.DATE: _to_date,
    LogicalType.TIME_MILLIS: _make_time_converter("milliseconds"),
    LogicalType.TIME_MICROS: _make_time_converter("microseconds"),
    LogicalType.TIMESTAMP_MILLIS: _make_timestamp_converter("milliseconds"),
    LogicalType.TIMESTAMP_MICROS: _make_timestamp_converter("microseconds"),
    LogicalType.DATETIME: datetime.datetime.fromisoformat,
    LogicalType.DECIMAL: _to_decimal,
}
