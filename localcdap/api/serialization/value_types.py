"""Which Python values fit which schema, and how a schema is a member of a Struct in MessagePack and JSON.

JSON encoders and decoders take :func:`encode_schema` and :func:`decode_schema` as hooks: in JSON a schema is
an object. Between processes and in spools (:func:`pack`, :func:`unpack`) a schema is the text of its
document: the same few schemas are sent many times, and parsed schemas are cached by their text.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import uuid
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.decoders import decode_msgpack

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


def encode_schema(value: Any) -> Any:
    """Encode a schema as its document: the ``enc_hook`` of JSON."""
    if isinstance(value, Schema):
        return value.to_json()
    raise NotImplementedError(f"A {type(value).__name__} cannot be encoded.")


def decode_schema(type: Any, value: Any) -> Any:
    """Decode a schema from its document or the document's text: the ``dec_hook``."""
    if type is not Schema:
        raise NotImplementedError(f"A {type} cannot be decoded.")
    return _parse_schema(value) if isinstance(value, str) else Schema.parse(value)


def pack(value: Any) -> bytes:
    """Encode a value as MessagePack. An integer over 64 bits, which JSON may hold, becomes the nearest float.

    :raises TypeError: for a value that is not a Struct, plain value, container or schema.
    """
    try:
        return _ENCODER.encode(value)
    except OverflowError:
        return _ENCODER.encode(
            _limit_integers(
                msgspec.to_builtins(value, builtin_types=_KEPT_TYPES, enc_hook=_encode_schema_text)
            )
        )


def unpack(data: bytes | memoryview | msgspec.Raw, type: Any) -> Any:
    """Decode a value of the given type that :func:`pack` encoded.

    :raises msgspec.DecodeError: when the bytes are not MessagePack or hold another type.
    :raises SchemaError: when a schema is invalid.
    """
    try:
        return decode_msgpack(data, type, hook=decode_schema)
    except (
        UnicodeDecodeError,
        RecursionError,
    ) as error:  # msgspec raises these for malformed bytes
        raise msgspec.DecodeError(str(error)) from None


def _limit_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {_limit_integers(key): _limit_integers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_limit_integers(each) for each in value]
    if type(value) is int and not -(2**63) <= value < 2**64:
        return float(str(value))
    return value


def _encode_schema_text(value: Any) -> Any:
    if isinstance(value, Schema):
        return _format_schema(value)
    raise NotImplementedError(f"A {type(value).__name__} cannot be encoded.")


_KEPT_TYPES: Final = (
    bytes,
    bytearray,
    datetime.datetime,
    datetime.date,
    datetime.time,
    decimal.Decimal,
    uuid.UUID,
)
_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_encode_schema_text)
_format_schema: Final = lru_cache(maxsize=2048)(Schema.__str__)
_parse_schema: Final = lru_cache(maxsize=2048)(Schema.parse)
