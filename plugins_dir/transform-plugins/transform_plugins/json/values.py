"""From decoded JSON to the value of a declared type (CDAP ``JsonStructuredRecordDatumReader``).

More lenient than CDAP where a meaning is plain: an object or array becomes its JSON text in a string
field, and dates and times are read from ISO texts as well as from epoch numbers.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any, Final

import msgspec

from localcdap.api import LogicalType, Schema, Type
from localcdap.api.arrow import matches

from ..text_values import INT_RANGE, LONG_RANGE

Convert = Callable[[Any], Any]

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MIDNIGHT: Final = datetime.datetime(1970, 1, 1)


class WrongValueError(ValueError):
    """A JSON value does not fit its schema. The message names the place and both types."""


def json_converter(schema: Schema, path: str) -> Convert:
    """What turns a decoded JSON value into a value of the schema.

    The converter raises :class:`WrongValueError`.

    :param path: where the value stands, for messages.
    """
    inner = schema.non_nullable
    convert = _converter(inner, path)
    if schema.is_nullable or inner.type is Type.NULL:
        return lambda value: None if value is None else convert(value)

    def required(value: Any) -> Any:
        if value is None:
            raise WrongValueError(
                f"'{path}' is null or missing, but its schema does not allow null"
            )
        return convert(value)

    return required


def _converter(schema: Schema, path: str) -> Convert:
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            return _array(schema.items, path)
        case Type.MAP if schema.values is not None:
            return _map(schema.values, path)
        case Type.RECORD:
            return _record(schema, path)
        case Type.UNION:
            return _union(schema, path)
        case _:
            simple = _LOGICAL[schema.logical_type] if schema.logical_type else _SIMPLE[schema.type]
            return _checked(simple, schema, path)


def _checked(convert: Convert, schema: Schema, path: str) -> Convert:
    def checked(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, TypeError, OverflowError, decimal.InvalidOperation):
            shown = msgspec.json.encode(value).decode()
            raise WrongValueError(
                f"'{path}' must be of type {schema.display_name}, but is {shown[:80]}"
            ) from None

    return checked


def _array(items: Schema, path: str) -> Convert:
    item = json_converter(items, f"{path}[]")

    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise WrongValueError(f"'{path}' must be an array")
        return [item(element) for element in value]

    return convert


def _map(values: Schema, path: str) -> Convert:
    item = json_converter(values, f"{path}.*")

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise WrongValueError(f"'{path}' must be an object")
        return {key: item(element) for key, element in value.items()}

    return convert


def _record(schema: Schema, path: str) -> Convert:
    prefix = f"{path}." if path else ""
    members = [(f.name, json_converter(f.schema, prefix + f.name)) for f in schema]

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise WrongValueError(f"'{path}' must be an object" if path else "it is not an object")
        return {name: member(value.get(name)) for name, member in members}

    return convert


def _union(schema: Schema, path: str) -> Convert:
    choices = [(m, json_converter(m, path)) for m in schema.members if m.type is not Type.NULL]

    def convert(value: Any) -> Any:
        for member, choice in choices:
            if matches(value, member):
                return choice(value)
        for _, choice in choices:
            try:
                return choice(value)
            except WrongValueError:
                continue
        raise WrongValueError(f"'{path}' is none of the types of its union")

    return convert


def _whole(limits: tuple[int, int]) -> Convert:
    def convert(value: Any) -> int:
        if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
            raise ValueError(value)
        number = int(value)
        if not limits[0] <= number <= limits[1]:
            raise OverflowError(value)
        return number

    return convert


def _double(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError(value)
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _string(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return bytes(element & 0xFF for element in value)


def _date(value: Any) -> datetime.date:
    if isinstance(value, str):
        return datetime.date.fromisoformat(value)
    return (_EPOCH + datetime.timedelta(days=value)).date()


def _time(unit: str) -> Convert:
    def convert(value: Any) -> datetime.time:
        if isinstance(value, str):
            return datetime.time.fromisoformat(value)
        return (_MIDNIGHT + datetime.timedelta(**{unit: value})).time()

    return convert


def _timestamp(unit: str) -> Convert:
    def convert(value: Any) -> datetime.datetime:
        if not isinstance(value, str):
            return _EPOCH + datetime.timedelta(**{unit: value})
        moment = datetime.datetime.fromisoformat(value.removesuffix("[UTC]"))
        return moment.replace(tzinfo=moment.tzinfo or datetime.UTC)

    return convert


def _decimal(value: Any) -> decimal.Decimal:
    if isinstance(value, bool):
        raise TypeError(value)
    return decimal.Decimal(str(value))


_SIMPLE: Final[dict[Type, Convert]] = {
    Type.NULL: lambda _: None,
    Type.BOOLEAN: _boolean,
    Type.INT: _whole(INT_RANGE),
    Type.LONG: _whole(LONG_RANGE),
    Type.FLOAT: _double,
    Type.DOUBLE: _double,
    Type.BYTES: _bytes,
    Type.STRING: _string,
    Type.ENUM: _string,
}
_LOGICAL: Final[dict[LogicalType, Convert]] = {
    LogicalType.DATE: _date,
    LogicalType.TIME_MILLIS: _time("milliseconds"),
    LogicalType.TIME_MICROS: _time("microseconds"),
    LogicalType.TIMESTAMP_MILLIS: _timestamp("milliseconds"),
    LogicalType.TIMESTAMP_MICROS: _timestamp("microseconds"),
    LogicalType.DATETIME: datetime.datetime.fromisoformat,
    LogicalType.DECIMAL: _decimal,
}
