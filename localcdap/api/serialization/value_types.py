"""Which Python values fit which schema."""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Sequence
from typing import Any, Final

from localcdap.api.schema import LogicalType, Schema, Type

_USUAL: Final[dict[Type | LogicalType, frozenset[type]]] = {
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
_DECIDING: Final[dict[Type | LogicalType, type]] = {
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
"""The class all of whose values match: the others must be looked at."""
_INT_RANGE: Final = (-(2**31), 2**31 - 1)


def usual_classes(schema: Schema) -> frozenset[type]:
    """Classes whose values fit for sure, but for their size, of a schema that is no union."""
    return _USUAL[schema.logical_type or schema.type]


def fits(value: Any, schema: Schema) -> bool:
    """Whether a non-null value can be written without loss, looking at its class and not into it.

    Wider than :func:`matches`: NumPy's numbers fit, whole floats fit whole numbers, whole numbers fit
    floats and decimals. The schema is no union.
    """
    if schema.logical_type is LogicalType.DECIMAL:
        return isinstance(value, decimal.Decimal) or _is_int(value)
    if schema.logical_type is not None:
        return _is_moment(value, schema.logical_type)
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
    return isinstance(value, tuple(usual_classes(schema)))


def deciding_classes(alternatives: Sequence[Schema]) -> dict[type, int]:
    """The classes whose values always match the same alternative first, and which one that is."""
    decided: dict[type, int] = {}
    claimed: set[type] = set()
    for index, schema in enumerate(alternatives):
        deciding = _DECIDING.get(schema.logical_type or schema.type)
        if deciding is not None and deciding not in claimed:
            decided[deciding] = index
        claimed |= usual_classes(schema)
    return decided


def matches(value: Any, schema: Schema) -> bool:
    """Whether a value is of the schema's type in all its parts, as needed to choose from a union."""
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
            return isinstance(value, decimal.Decimal) and _holds(schema, value)
        case LogicalType.DATETIME:
            return isinstance(value, datetime.datetime) and value.tzinfo is None
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return isinstance(value, datetime.datetime) and value.tzinfo is not None
        case LogicalType():
            return _is_moment(value, schema.logical_type)
    match schema.type:
        case Type.INT:
            return _is_int(value) and _INT_RANGE[0] <= value <= _INT_RANGE[1]
        case Type.LONG:
            return _is_int(value)
        case Type.FLOAT | Type.DOUBLE:
            return isinstance(value, float)
    return fits(value, schema)


def _holds(schema: Schema, value: decimal.Decimal) -> bool:
    """Whether a decimal schema has digits enough for the value."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # NaN, infinity
        return False
    precision, scale = schema.precision or 0, schema.scale or 0
    before = len(digits) + exponent
    return -exponent <= scale and before <= precision - scale


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_moment(value: Any, logical: LogicalType) -> bool:
    if logical is LogicalType.DATE:
        return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
    return isinstance(value, tuple(_USUAL[logical]))
