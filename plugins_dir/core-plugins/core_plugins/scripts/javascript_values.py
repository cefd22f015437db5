"""Conversion of records to JSON for V8, and back (CDAP ``JsonStructuredRecordDatumWriter``).

As in CDAP, dates are days, times and timestamps are milliseconds or microseconds since the epoch, and bytes
and decimals are lists of signed bytes. Values that JSON cannot represent (longs beyond 2^53, NaN,
infinities) are marked objects in JSON, and BigInts or numbers in V8.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any, Final

import msgspec

from localcdap.api import LogicalType, Record, Schema, Type

from .coercion import EPOCH

Encode = Callable[[Any], Any]

MARK: Final = "\0\0"
"""The only key of an object that stands for a value that JSON cannot represent.

It has two characters, because V8 misreads keys of one escaped character.
"""
MARK_IN_JSON: Final = '"\\u0000\\u0000":'
"""The JSON text of :data:`MARK`; a text without it has no marked values."""
_MISREAD: Final = frozenset(('"', "\\", *map(chr, range(32))))
"""Keys that V8 misreads (seen in version 14)."""
LARGEST_SAFE: Final = 2**53 - 1
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)


class RecordEncoder:
    """Encodes records of one schema as the JSON text of an array."""

    def __init__(self, schema: Schema) -> None:
        self._encoders = {f.name: e for f in schema if (e := _make_encoder(f.schema)) is not None}

    def encode(self, records: list[Record]) -> str:
        if self._encoders:
            records = [self.encode_record(record) for record in records]
        return msgspec.json.encode(records).decode()

    def encode_record(self, record: Record) -> Record:
        """Return a record whose values JSON can represent."""
        changed = dict(record)
        for name, encode in self._encoders.items():
            value = changed.get(name)
            if value is not None:
                changed[name] = encode(value)
        return changed


def decode(text: str) -> Any:
    """Decode JSON text from V8."""
    decoded = msgspec.json.decode(text)
    return _unmark(decoded) if MARK_IN_JSON in text else decoded


def _unmark(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmark(element) for element in value]
    if not isinstance(value, dict):
        return value
    marked = value.get(MARK)
    if isinstance(marked, str) and len(value) == 1:
        return int(marked[1:]) if marked[0] == "i" else float(marked[1:].replace("Infinity", "inf"))
    return {key: _unmark(element) for key, element in value.items()}


def _make_encoder(schema: Schema) -> Encode | None:
    """Return the function that prepares a non-null value for JSON; None if no preparation is needed."""
    inner = schema.non_nullable
    if inner.logical_type is not None:
        return _LOGICAL.get(inner.logical_type) or _make_decimal_encoder(inner.scale or 0)
    match inner.type:
        case Type.LONG:
            return _encode_long
        case Type.FLOAT | Type.DOUBLE:
            return _encode_double
        case Type.BYTES:
            return _encode_bytes
        case Type.ARRAY if inner.items is not None:
            return _make_array_encoder(_make_encoder(inner.items))
        case Type.MAP if inner.values is not None:
            return _make_map_encoder(_make_encoder(inner.values) or _keep)
        case Type.RECORD:
            return _make_record_encoder(
                {f.name: e for f in inner if (e := _make_encoder(f.schema)) is not None}
            )
        case Type.UNION:
            return _encode_any
    return None


def _encode_long(value: int) -> Any:
    return value if -LARGEST_SAFE <= value <= LARGEST_SAFE else {MARK: f"i{value}"}


def _encode_double(value: float) -> Any:
    if math.isfinite(value):
        return value
    name = "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return {MARK: f"n{name}"}


def _encode_bytes(value: bytes | bytearray) -> list[int]:
    return [byte - 256 if byte > 127 else byte for byte in value]


def _make_array_encoder(item: Encode | None) -> Encode | None:
    if item is None:
        return None
    return lambda values: [None if v is None else item(v) for v in values]


def _make_map_encoder(item: Encode) -> Encode:
    return lambda values: _encode_entries(
        {k: None if v is None else item(v) for k, v in values.items()}
    )


def _encode_entries(values: dict[str, Any]) -> dict[str, Any]:
    """Return the map, or a list of its entries if V8 would misread a key."""
    if _MISREAD.isdisjoint(values):
        return values
    return {MARK: "e", "entries": list(values.items())}


def _keep(value: Any) -> Any:
    return value


def _make_record_encoder(members: dict[str, Encode]) -> Encode | None:
    if not members:
        return None

    def encode(value: Record) -> Record:
        changed = dict(value)
        for name, member in members.items():
            if changed.get(name) is not None:
                changed[name] = member(changed[name])
        return changed

    return encode


def _encode_any(value: Any) -> Any:
    """Encode a value of a union by its Python class."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _encode_long(value)
    if isinstance(value, float):
        return _encode_double(value)
    if isinstance(value, (bytes, bytearray)):
        return _encode_bytes(value)
    if isinstance(value, datetime.datetime):
        return _encode_micros(value) if value.tzinfo else value.isoformat()
    if isinstance(value, datetime.date):
        return _encode_days(value)
    if isinstance(value, list):
        return [None if v is None else _encode_any(v) for v in value]
    if isinstance(value, dict):
        return _encode_entries({k: None if v is None else _encode_any(v) for k, v in value.items()})
    return value


def _encode_days(value: datetime.date) -> int:
    return value.toordinal() - EPOCH.toordinal()


def _encode_micros(value: datetime.datetime) -> Any:
    return _encode_long((value - EPOCH) // _MICROSECOND)


def _encode_millis(value: datetime.datetime) -> int:
    return (value - EPOCH) // _MILLISECOND


def _encode_time(value: datetime.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000_000 + value.microsecond


def _make_decimal_encoder(scale: int) -> Encode:
    def encode(value: Any) -> list[int]:
        unscaled = int(value.scaleb(scale))
        length = unscaled.bit_length() // 8 + 1
        return _encode_bytes(unscaled.to_bytes(length, "big", signed=True))

    return encode


_LOGICAL: Final[dict[LogicalType, Encode]] = {
    LogicalType.DATE: _encode_days,
    LogicalType.TIME_MILLIS: lambda value: _encode_time(value) // 1000,
    LogicalType.TIME_MICROS: _encode_time,
    LogicalType.TIMESTAMP_MILLIS: _encode_millis,
    LogicalType.TIMESTAMP_MICROS: _encode_micros,
    LogicalType.DATETIME: lambda value: value.isoformat(),
}
