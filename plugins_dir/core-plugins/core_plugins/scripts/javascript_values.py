"""Records as JSON that crosses into V8, and back (CDAP ``JsonStructuredRecordDatumWriter``).

As in CDAP a script sees dates as days and times and timestamps as milliseconds or microseconds since
the epoch, bytes and decimals as lists of signed bytes. What JSON cannot hold (long numbers beyond 2^53,
NaN, infinities) travels in a marked object and is a BigInt or number on the other side.
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
"""The only key of an object that stands for a value which JSON cannot hold.

V8 misreads keys of a single character that is written with a backslash, so it has two.
"""
MARK_IN_JSON: Final = '"\\u0000\\u0000":'
"""How :data:`MARK` looks in JSON text; without it no value is marked."""
_MISREAD: Final = frozenset(('"', "\\", *map(chr, range(32))))
"""Such keys (V8's bug was seen in version 14)."""
LARGEST_SAFE: Final = 2**53 - 1
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)


class RecordEncoder:
    """Turns records of one schema into the JSON text of an array."""

    def __init__(self, schema: Schema) -> None:
        self._encoders = {f.name: e for f in schema if (e := _encoder(f.schema)) is not None}

    def encode(self, records: list[Record]) -> str:
        if self._encoders:
            records = [self.encoded(record) for record in records]
        return msgspec.json.encode(records).decode()

    def encoded(self, record: Record) -> Record:
        """A record of values that JSON can hold."""
        changed = dict(record)
        for name, encode in self._encoders.items():
            value = changed.get(name)
            if value is not None:
                changed[name] = encode(value)
        return changed


def decode(text: str) -> Any:
    """The values of JSON text that the script's side made."""
    decoded = msgspec.json.decode(text)
    return _unmarked(decoded) if MARK_IN_JSON in text else decoded


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(element) for element in value]
    if not isinstance(value, dict):
        return value
    marked = value.get(MARK)
    if isinstance(marked, str) and len(value) == 1:
        return int(marked[1:]) if marked[0] == "i" else float(marked[1:].replace("Infinity", "inf"))
    return {key: _unmarked(element) for key, element in value.items()}


def _encoder(schema: Schema) -> Encode | None:
    """What prepares a non-null value for JSON; None when nothing is to be done."""
    inner = schema.non_nullable
    if inner.logical_type is not None:
        return _LOGICAL.get(inner.logical_type) or _decimal(inner.scale or 0)
    match inner.type:
        case Type.LONG:
            return _long
        case Type.FLOAT | Type.DOUBLE:
            return _double
        case Type.BYTES:
            return _bytes
        case Type.ARRAY if inner.items is not None:
            return _array(_encoder(inner.items))
        case Type.MAP if inner.values is not None:
            return _map(_encoder(inner.values) or _same)
        case Type.RECORD:
            return _record({f.name: e for f in inner if (e := _encoder(f.schema)) is not None})
        case Type.UNION:
            return _any
    return None


def _long(value: int) -> Any:
    return value if -LARGEST_SAFE <= value <= LARGEST_SAFE else {MARK: f"i{value}"}


def _double(value: float) -> Any:
    if math.isfinite(value):
        return value
    name = "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return {MARK: f"n{name}"}


def _bytes(value: bytes | bytearray) -> list[int]:
    return [byte - 256 if byte > 127 else byte for byte in value]


def _array(item: Encode | None) -> Encode | None:
    if item is None:
        return None
    return lambda values: [None if v is None else item(v) for v in values]


def _map(item: Encode) -> Encode:
    return lambda values: _entries({k: None if v is None else item(v) for k, v in values.items()})


def _entries(values: dict[str, Any]) -> dict[str, Any]:
    """A map, in another form where V8 would misread a key."""
    if _MISREAD.isdisjoint(values):
        return values
    return {MARK: "e", "entries": list(values.items())}


def _same(value: Any) -> Any:
    return value


def _record(members: dict[str, Encode]) -> Encode | None:
    if not members:
        return None

    def encode(value: Record) -> Record:
        changed = dict(value)
        for name, member in members.items():
            if changed.get(name) is not None:
                changed[name] = member(changed[name])
        return changed

    return encode


def _any(value: Any) -> Any:
    """A union's value: what to do follows from its class."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _long(value)
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, (bytes, bytearray)):
        return _bytes(value)
    if isinstance(value, datetime.datetime):
        return _micros(value) if value.tzinfo else value.isoformat()
    if isinstance(value, datetime.date):
        return _days(value)
    if isinstance(value, list):
        return [None if v is None else _any(v) for v in value]
    if isinstance(value, dict):
        return _entries({k: None if v is None else _any(v) for k, v in value.items()})
    return value


def _days(value: datetime.date) -> int:
    return value.toordinal() - EPOCH.toordinal()


def _micros(value: datetime.datetime) -> Any:
    return _long((value - EPOCH) // _MICROSECOND)


def _millis(value: datetime.datetime) -> int:
    return (value - EPOCH) // _MILLISECOND


def _time_micros(value: datetime.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000_000 + value.microsecond


def _decimal(scale: int) -> Encode:
    def encode(value: Any) -> list[int]:
        unscaled = int(value.scaleb(scale))
        length = unscaled.bit_length() // 8 + 1
        return _bytes(unscaled.to_bytes(length, "big", signed=True))

    return encode


_LOGICAL: Final[dict[LogicalType, Encode]] = {
    LogicalType.DATE: _days,
    LogicalType.TIME_MILLIS: lambda value: _time_micros(value) // 1000,
    LogicalType.TIME_MICROS: _time_micros,
    LogicalType.TIMESTAMP_MILLIS: _millis,
    LogicalType.TIMESTAMP_MICROS: _micros,
    LogicalType.DATETIME: lambda value: value.isoformat(),
}
