"""Records and lookup tables inside V8, because a script cannot call Python while it runs.

Keys and columns are array buffers in the layout of Arrow, so that a million rows load in a fraction of a
second and take no more memory than in the file.

As in CDAP, a lookup in a key-value table returns a text, and a lookup in any other table returns an object
with the columns of the row except the key.

As in CDAP, dates are days, times and timestamps are milliseconds or microseconds since the epoch, and bytes
and decimals are lists of signed bytes. Values that JSON cannot represent (longs beyond 2^53, NaN,
infinities) are marked objects in JSON, and numbers in V8.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import (
    Field,
    LogicalType,
    Lookup,
    Record,
    Schema,
    StageConfigurer,
    StageError,
    Type,
)
from localcdap.api.arrow import RecordCodec

from .coercion import EPOCH, ScriptValueError

if TYPE_CHECKING:
    import pyarrow as pa


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


PROPERTY: Final = "lookup"
DESCRIPTION: Final = (
    'Tables of this namespace for lookups, as {"tables": {"jobs": {"type": "DATASET"}}}. '
    "context.getLookup('jobs').lookup(key) returns the value of a key-value table (columns 'key' and "
    "'value'), an object with the columns of any other table, or null; for several keys, an object with the "
    "entries that exist."
)
_TYPE: Final = "DATASET"


class LookupConfigError(Exception):
    """The property 'lookup' is invalid; the message says why."""

    def __init__(self, message: str, corrective_action: str) -> None:
        super().__init__(message)
        self.message = message
        self.corrective_action = corrective_action


def parse_declared_tables(text: str | None) -> list[str]:
    """Return the names of the tables that the property declares.

    The form of older manuals of CDAP, without 'tables' around the tables, is accepted too. The properties of
    a table have no effect.

    :raises LookupConfigError: when the property is invalid.
    """
    if not text or not text.strip():
        return []
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    tables = given.get("tables", given) if isinstance(given, dict) else None
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise LookupConfigError(
            "Invalid lookup config.",
            'Expected a JSON object such as {"tables": {"jobs": {"type": "DATASET"}}}.',
        )
    for name, table in tables.items():
        if table.get("type", _TYPE) != _TYPE:
            raise LookupConfigError(
                f"Lookup table '{name}' has the unknown type '{table['type']}'.",
                f"Use the type '{_TYPE}'.",
            )
    return list(tables)


def check_declared(stage: StageConfigurer, text: str | None) -> None:
    """Add a failure for an invalid property."""
    try:
        parse_declared_tables(text)
    except LookupConfigError as error:
        stage.failures.add(error.message, error.corrective_action).with_config_property(PROPERTY)


def check_tables(stage: StageConfigurer, text: str | None) -> None:
    """Add failures for tables that do not exist or have no key. The property must be valid."""
    for name in parse_declared_tables(text):
        shape = stage.find_table(name)
        if shape is None:
            problem = f"There is no table '{name}' to look values up in."
            action = "Write it first; 'localcdap tables' lists all tables."
        elif shape.found is None:
            problem = f"Table '{name}' has no key by which values could be looked up."
            action = "Write it with a key, or with the columns 'key' and 'value'."
        else:
            continue
        stage.failures.add(problem, action).with_config_property(PROPERTY, element=name)


def describe_undeclared(name: Any) -> str:
    """Return the message for a script that looks into an undeclared table."""
    return f"table '{name}' is not declared; name it in the property '{PROPERTY}'"


class ScriptLookup:
    """The lookup object of a Python script."""

    def __init__(self, table: Lookup) -> None:
        self._table = table
        self._is_key_value = table.shape.is_key_value

    def lookup(self, *keys: Any) -> Any:
        """Return the value of a key, or None; for several keys or a list, the values that exist, by key."""
        if len(keys) != 1:
            return self._look_up_several(keys)
        (key,) = keys
        return (
            self._look_up_several(key)
            if isinstance(key, list | tuple | set)
            else self._look_up_one(key)
        )

    def _look_up_several(self, keys: Iterable[Any]) -> dict[Any, Any]:
        found = ((key, self._look_up_one(key)) for key in keys)
        return {key: value for key, value in found if value is not None}

    def _look_up_one(self, key: Any) -> Any:
        if key is None:
            return None
        row = self._table.get(key if isinstance(key, str) else str(key))
        if row is None or not self._is_key_value:
            return row and dict(row)
        (value,) = row.values()
        return format_table_value(value)


class ScriptLookups:
    """The lookups of a Python script, by table."""

    def __init__(self, tables: Iterable[Lookup]) -> None:
        self._lookups = {table.name: ScriptLookup(table) for table in tables}

    def get(self, name: str) -> ScriptLookup:
        """Return the lookup of a table.

        :raises ScriptValueError: when the table is not declared.
        """
        if name not in self._lookups:
            raise ScriptValueError(describe_undeclared(name))
        return self._lookups[name]


def format_table_value(value: Any) -> str | None:
    """Format a value of a key-value table as text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


MAX_BYTES: Final = 256 * 2**20
"""The size limit of all tables of one script; every task that runs the script loads them."""

HARNESS: Final = r"""
(function (settings, undeclared, revive, toNumber) {
  'use strict';
  const {parse} = JSON, {fromCharCode} = String, decode = decodeURIComponent, encode = encodeURIComponent;
  const toBytes = unescape, fromBytes = escape;
  const PIECE = 8192, SAFE = BigInt(Number.MAX_SAFE_INTEGER);

  function textAt({ends, data}, row) {
    const end = Number(ends[row + 1]);
    let text = '', isPlain = true;
    for (let at = Number(ends[row]); at < end; at += PIECE) {
      const piece = data.subarray(at, Math.min(at + PIECE, end));
      isPlain = isPlain && piece.every(byte => byte < 128);
      text += fromCharCode.apply(null, piece);
    }
    return isPlain ? text : decode(fromBytes(text));
  }
  const READERS = {
    text: textAt,
    json: (column, row) => parse(textAt(column, row), revive),
    number: ({data}, row) => data[row],
    boolean: ({data}, row) => data[row] === 1,
    long({data}, row) {
      const value = data[row];
      return value <= SAFE && value >= -SAFE ? Number(value) : toNumber(String(value));
    },
  };
  const VIEWS = {ends: BigInt64Array, nulls: Uint8Array};
  const DATA = {number: Float64Array, long: BigInt64Array};

  // Negative, 0 or positive if the key of a row is before, equal to or after the wanted one, by bytes.
  function compare({ends, data}, row, wanted) {
    const begin = Number(ends[row]), length = Number(ends[row + 1]) - begin;
    const common = Math.min(length, wanted.length);
    for (let at = 0; at < common; at++) {
      const difference = data[begin + at] - wanted.charCodeAt(at);
      if (difference !== 0) return difference;
    }
    return length - wanted.length;
  }
  function find(keys, count, key) {
    let wanted;
    try { wanted = toBytes(encode(String(key))); } catch (error) { return -1; }  // half a character
    let low = 0, high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(keys, middle, wanted) < 0) low = middle + 1; else high = middle;
    }
    return low < count && compare(keys, low, wanted) === 0 ? low : -1;
  }
  function valueAt(column, row) {
    return column.nulls !== undefined && column.nulls[row] === 1 ? null : READERS[column.kind](column, row);
  }
  function lookupIn({count, isKeyValue, keys, columns}) {
    function one(key) {
      const row = key === null || key === undefined ? -1 : find(keys, count, key);
      if (row < 0) return null;
      if (isKeyValue) return valueAt(columns[0], row);
      return Object.fromEntries(columns.map(column => [column.name, valueAt(column, row)]));
    }
    function several(wanted) {
      const pairs = Array.from(wanted, key => [key, one(key)]);
      return Object.fromEntries(pairs.filter(([, value]) => value !== null));
    }
    const isList = given => Array.isArray(given) || given instanceof Set;
    return {
      lookup: (...wanted) => wanted.length === 1 && !isList(wanted[0])
        ? one(wanted[0]) : several(wanted.length === 1 ? wanted[0] : wanted),
    };
  }

  const tables = new Map(parse(settings).map(table => [table.name, table]));
  const lookups = new Map([...tables].map(([name, table]) => [name, lookupIn(table)]));
  return {
    // A new buffer for a part of a column, -1 for the keys; the caller fills it.
    allocate(name, column, part, bytes) {
      const table = tables.get(name), owner = column < 0 ? table.keys : table.columns[column];
      const buffer = new ArrayBuffer(bytes);
      owner[part] = new (part === 'data' ? DATA[owner.kind] || Uint8Array : VIEWS[part])(buffer);
      return buffer;
    },
    getLookup(name) {
      const found = lookups.get(String(name));
      if (found === undefined) throw new Error(undeclared.replace('{}', () => name));
      return found;
    },
  };
})
"""
"""A JavaScript function that makes the functions ``allocate`` and ``getLookup`` of settings.

A column has the parts ``data``, ``nulls`` if it has nulls (a byte for each row), and ``ends`` if it is text
(the offset where each value begins, and where the last one ends)."""

UNDECLARED: Final = describe_undeclared("{}")
_NUMBERS: Final = (Schema.INT, Schema.FLOAT, Schema.DOUBLE)


class ScriptColumn(msgspec.Struct):
    """A column in the layout for V8."""

    name: str
    kind: str
    """``text``, ``json``, ``number``, ``long`` or ``boolean``."""
    parts: dict[str, Any]
    """Buffers by the name of the part."""


class ScriptTable:
    """A lookup table in the layout for V8."""

    def __init__(self, lookup: Lookup) -> None:
        keys, rows = lookup.sorted_rows()
        self.name: Final = lookup.name
        self.keys: Final = ScriptColumn("", "text", _build_text_parts(keys))
        self.columns: Final = [
            _build_text_column(field.name, array)
            if lookup.shape.is_key_value
            else _build_column(field, array)
            for field, array in zip(lookup.schema, rows.columns, strict=True)
        ]
        self.settings: Final = {
            "name": self.name,
            "count": len(keys),
            "isKeyValue": lookup.shape.is_key_value,
            "keys": {},
            "columns": [{"name": each.name, "kind": each.kind} for each in self.columns],
        }

    def iterate_parts(self) -> Iterator[tuple[int, str, memoryview]]:
        """Yield the index of a column (-1 for the keys), the name of each part, and its bytes."""
        for place, column in enumerate([self.keys, *self.columns], start=-1):
            for name, part in column.parts.items():
                yield place, name, memoryview(part).cast("B")


def check_size(tables: Iterable[ScriptTable]) -> None:
    """Check the size of the tables of a script.

    :raises StageError: (without a stage) when they are too large.
    """
    size = sum(part.nbytes for table in tables for _, _, part in table.iterate_parts())
    if size > MAX_BYTES:
        raise StageError(
            f"The lookup tables of the script have {size >> 20} MiB; the limit is {MAX_BYTES >> 20} MiB.",
            "Look up the values with a ValueMapper or a Joiner before the script.",
        )


def _build_column(field: Field, array: pa.Array) -> ScriptColumn:
    import pyarrow as pa

    schema = field.schema.non_nullable
    if schema == Schema.STRING:
        kind, parts = "text", _build_text_parts(array)
    elif schema in _NUMBERS:
        kind, parts = "number", {"data": _fill_nulls(array.cast(pa.float64()), 0.0)}
    elif schema == Schema.LONG:
        kind, parts = "long", {"data": _fill_nulls(array, 0)}
    elif schema == Schema.BOOLEAN:
        kind, parts = "boolean", {"data": _fill_nulls(array.cast(pa.uint8()), 0)}
    else:
        return ScriptColumn(field.name, "json", _build_text_parts(_encode_json(field, array)))
    return ScriptColumn(field.name, kind, parts | _build_nulls(array))


def _build_text_column(name: str, array: pa.Array) -> ScriptColumn:
    """Build the values of a key-value table, which are always texts."""
    import pyarrow as pa

    if not pa.types.is_string(array.type):
        array = pa.array(
            [format_table_value(value) for value in array.to_pylist()], pa.large_string()
        )
    return ScriptColumn(name, "text", _build_text_parts(array) | _build_nulls(array))


def _encode_json(field: Field, array: pa.Array) -> pa.Array:
    """Encode values of other types as JSON, as for the input of the script."""
    import pyarrow as pa

    schema = Schema.record("row", [field])
    records = RecordCodec(schema).decode(pa.RecordBatch.from_arrays([array], names=[field.name]))
    encoder = RecordEncoder(schema)
    texts = [msgspec.json.encode(encoder.encode_record(record)[field.name]) for record in records]
    return pa.array(texts, pa.large_binary())


def _build_text_parts(array: pa.Array) -> dict[str, Any]:
    import pyarrow as pa

    wide = array.cast(pa.large_binary())
    _, ends, data = wide.buffers()
    begin, count = wide.offset, len(wide) + 1
    return {
        "ends": memoryview(ends).cast("q")[begin : begin + count]
        if ends is not None
        else b"\0" * 8,
        "data": memoryview(data) if data is not None else b"",
    }


def _fill_nulls(array: pa.Array, instead: float) -> Any:
    """Return the values of an array of numbers, with a replacement for nulls."""
    return array.fill_null(instead).to_numpy(zero_copy_only=False)


def _build_nulls(array: pa.Array) -> dict[str, Any]:
    import pyarrow as pa

    if not array.null_count:
        return {}
    return {"nulls": array.is_null().cast(pa.uint8()).to_numpy(zero_copy_only=False)}
