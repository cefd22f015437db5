"""Which Python values fit which schema."""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Sequence
from typing import Any, Final

from localcdap.api.schema import LogicalType, Schema, Type

_USUAL_TYPES: Final[dict[Type | LogicalType, frozenset[type]]] = {
    Type.NULL: frozenset(),
    Type.BOOLEAN: frozenset((bool,)),
    Type.INT: frozenset((int,)),
    Type.LONG: frozenset((int,)),
    Type.FLOAT: frozenset((float, int)),
    Type.DOUBLE: frozenset((float, int)),
    Type.BYTES: frozenset((bytes,)),
    Type.STRING: frozenset((str,)),
    Type.ENUM: frozenset((str,)),
    Type.ARRAY: frozenset((list, tuple)),
    Type.MAP: frozenset((dict,)),
    Type.RECORD: frozenset((dict,)),
    LogicalType.DATE: frozenset((datetime.date,)),
    LogicalType.TIME_MILLIS: frozenset((datetime.time,)),
    LogicalType.TIME_MICROS: frozenset((datetime.time,)),
    LogicalType.TIMESTAMP_MILLIS: frozenset((datetime.datetime,)),
    LogicalType.TIMESTAMP_MICROS: frozenset((datetime.datetime,)),
    LogicalType.DATETIME: frozenset((datetime.datetime,)),
    LogicalType.DECIMAL: frozenset((decimal.Decimal, int)),
}
_DECIDING_TYPES: Final[dict[Type | LogicalType, type]] = {
    Type.BOOLEAN: bool,
    Type.LONG: int,
    Type.FLOAT: float,
    Type.DOUBLE: float,
    Type.BYTES: bytes,
    Type.STRING: str,
    LogicalType.DATE: datetime.date,
    LogicalType.TIME_MILLIS: datetime.time,
    LogicalType.TIME_MICROS: datetime.time,
}
"""The Python type whose every value matches; a value of another type must be inspected."""
_INT_RANGE: Final = (-(2**31), 2**31 - 1)


def get_usual_types(schema: Schema) -> frozenset[type]:
    """Return the Python types whose values fit, except for their size. The schema is not a union."""
    return _USUAL_TYPES[schema.logical_type or schema.type]


def is_writable(value: Any, schema: Schema) -> bool:
    """Return whether a non-null value can be written without loss, by its type and not by its parts.

    Wider than :func:`matches`: accepts NumPy's numbers, whole floats as whole numbers, and whole numbers as
    floats and decimals. The schema is not a union.
    """
    if schema.logical_type is LogicalType.DECIMAL:
        return isinstance(value, decimal.Decimal) or _is_int(value)
    if schema.logical_type is not None:
        return _is_date_or_time(value, schema.logical_type)
    match schema.type:
        case Type.BOOLEAN:
            return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")  # NumPy's
        case Type.INT | Type.LONG:
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            return whole or (isinstance(value, float) and value.is_integer())
        case Type.FLOAT | Type.DOUBLE:
            return isinstance(value, numbers.Real) and not isinstance(value, bool)
        case Type.BYTES:
            return isinstance(value, (bytes, bytearray, memoryview))
        case Type.ENUM:
            return isinstance(value, str) and value in schema.symbols
    return isinstance(value, tuple(get_usual_types(schema)))


def is_unicode(text: str) -> bool:
    """Return whether UTF-8 can encode a text; it cannot encode half of a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_deciding_types(alternatives: Sequence[Schema]) -> dict[type, int]:
    """Return the Python types whose values always match the same alternative first, with its index."""
    decided: dict[type, int] = {}
    claimed: set[type] = set()
    for index, schema in enumerate(alternatives):
        deciding = _DECIDING_TYPES.get(schema.logical_type or schema.type)
        if deciding is not None and deciding not in claimed:
            decided[deciding] = index
        claimed |= get_usual_types(schema)
    return decided


def matches(value: Any, schema: Schema) -> bool:
    """Return whether a value and all its parts are of the schema's type: what selects a member of a union."""
    if value is None:
        return schema.is_nullable or schema.type is Type.NULL
    match schema.type:
        case Type.UNION:
            return any(matches(value, member) for member in schema.members)
        case Type.ARRAY if schema.items is not None:
            items = schema.items
            return isinstance(value, (list, tuple)) and all(matches(v, items) for v in value)
        case Type.MAP if schema.keys is not None and schema.values is not None:
            keys, values = schema.keys, schema.values
            return isinstance(value, dict) and all(
                matches(k, keys) and matches(v, values) for k, v in value.items()
            )
        case Type.RECORD:
            return (
                isinstance(value, dict)
                and set(schema.field_names) >= set(value)
                and all(matches(value.get(f.name), f.schema) for f in schema)
            )
    return _matches_simple(value, schema)


def _matches_simple(value: Any, schema: Schema) -> bool:
    match schema.logical_type:
        case LogicalType.DECIMAL:
            return isinstance(value, decimal.Decimal) and _has_enough_digits(schema, value)
        case LogicalType.DATETIME:
            return isinstance(value, datetime.datetime) and value.tzinfo is None
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return isinstance(value, datetime.datetime) and value.tzinfo is not None
        case LogicalType():
            return _is_date_or_time(value, schema.logical_type)
    match schema.type:
        case Type.INT:
            return _is_int(value) and _INT_RANGE[0] <= value <= _INT_RANGE[1]
        case Type.LONG:
            return _is_int(value)
        case Type.FLOAT | Type.DOUBLE:
            return isinstance(value, float)
    return is_writable(value, schema)


def _has_enough_digits(schema: Schema, value: decimal.Decimal) -> bool:
    """Return whether a decimal schema has enough digits for the value."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # NaN, infinity
        return False
    precision, scale = schema.precision or 0, schema.scale or 0
    before = len(digits) + exponent
    return -exponent <= scale and before <= precision - scale


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_date_or_time(value: Any, logical: LogicalType) -> bool:
    if logical is LogicalType.DATE:
        return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
    return isinstance(value, tuple(_USUAL_TYPES[logical]))
