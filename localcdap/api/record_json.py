"""Records as JSON: the form in which people write records and front ends show them.

=====================  =================================================================
type                   JSON
=====================  =================================================================
boolean, string, enum  as they are
numbers                numbers; ``"NaN"``, ``"Infinity"``, ``"-Infinity"``
bytes                  text in base64
date                   ``"2026-01-02"``
time                   ``"03:04:05.678"``
timestamp              ``"2026-01-02T03:04:05Z"``; without a zone it is UTC
datetime               ``"2026-01-02T03:04:05"``
decimal                text without an exponent, ``"12.50"``; a number is read too
array, record          array, object
map                    object; a key that is not text is written as its JSON
union                  the form of the member; the first member that accepts the value is read
=====================  =================================================================

A field that is absent is null. JSON holds no schema, so decoding needs the schema of the records.

The record at fault in a failure is JSON where it is found, and a short text without secrets where it is
shown. The text is cut after secrets are removed from it: the beginning of a secret would not be recognized.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.decoders import decode_json
from localcdap.moved import build_getattr

_MAX_PROBLEMS: Final = 20
_NON_FINITE: Final = ("NaN", "Infinity", "-Infinity")
_ZONE_NAME: Final = re.compile(r"\[[\w/+-]+\]$")
"""The zone name that Java's ``ZonedDateTime`` appends to the offset."""
_RANGES: Final = {Type.INT: (-(2**31), 2**31 - 1), Type.LONG: (-(2**63), 2**63 - 1)}


def encode_json_record(value: Any) -> Any:
    """Return a record, or one of its values, as decoded JSON."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            # A subclass may hold more than the number.
            return float(value) if math.isfinite(value) else _encode_non_finite(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode("ascii")
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case Mapping():
            return {_encode_key(key): encode_json_record(each) for key, each in value.items()}
        case list() | tuple():
            return [encode_json_record(each) for each in value]
        case decimal.Decimal():
            return _encode_decimal(value)
    return str(value)


def _encode_non_finite(value: float) -> str:
    return _NON_FINITE[0 if math.isnan(value) else (1 if value > 0 else 2)]


def _encode_decimal(value: decimal.Decimal) -> str:
    """Return a decimal with all of its digits; Python writes a small one, and a zero of it, as ``0E-9``."""
    text = str(value)
    if "E" not in text:
        return text
    return format(value, "f") if value else "0"


def _encode_key(key: Any) -> str:
    plain = encode_json_record(key)
    return plain if isinstance(plain, str) else json.dumps(plain)


def decode_json_records(
    schema: Schema, records: Iterable[Any], source: str | None = None
) -> list[dict[str, Any]]:
    """Return the records of decoded JSON, with the fields of the schema in its order.

    :param source: where the records come from, for messages.
    :raises BadRequestError: when records do not fit; lists each record and field with what was expected.
    """
    found: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, record in enumerate(records, start=1):
        decoder = _RecordDecoder(f"record {number}", problems)
        found.append(decoder.decode_record(schema, record, ""))
    if problems:
        more = len(problems) - _MAX_PROBLEMS
        shown = problems[:_MAX_PROBLEMS] + ([f"… and {more} more."] if more > 0 else [])
        of = f" of '{source}'" if source else ""
        raise BadRequestError(
            f"The records{of} do not fit their schema:\n" + "\n".join(shown),
            "Correct the records, or the schema that they are given.",
        )
    return found


class _MismatchError(Exception):
    """A value does not match its type."""


class _RecordDecoder:
    """Decodes one record; notes each value that does not fit, and decodes it as null."""

    def __init__(self, record_name: str, problems: list[str]) -> None:
        self._record_name = record_name
        self._problems = problems

    def decode_record(self, schema: Schema, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            self._add_problem(path, "expected an object", value)
            return {}
        for name in value:
            if schema.field(name) is None:
                known = ", ".join(schema.field_names) or "none"
                self._problems.append(
                    f"{self._record_name}: there is no field '{_join_path(path, name)}'; fields: {known}."
                )
        return {
            f.name: self.decode(f.schema, value.get(f.name), _join_path(path, f.name))
            for f in schema
        }

    def decode(self, schema: Schema, value: Any, path: str) -> Any:
        if value is None:
            if not (schema.is_nullable or schema.type is Type.NULL):
                self._add_problem(
                    path, f"expected {_describe_expected(schema)}, which must not be null", value
                )
            return None
        inner = schema.non_nullable
        try:
            return self._decode_present(inner, value, path)
        except (_MismatchError, ValueError, ArithmeticError, RecursionError):
            self._add_problem(path, f"expected {_describe_expected(inner)}", value)
            return None

    def _decode_present(self, schema: Schema, value: Any, path: str) -> Any:
        if schema.logical_type is not None:
            return _LOGICAL_DECODERS[schema.logical_type](value)
        match schema.type:
            case Type.RECORD:
                return self.decode_record(schema, value, path)
            case Type.ARRAY if schema.items is not None:
                items = schema.items
                return [
                    self.decode(items, v, f"{path}[{n}]")
                    for n, v in enumerate(_require_list(value))
                ]
            case Type.MAP if schema.keys is not None and schema.values is not None:
                keys, values = schema.keys, schema.values
                return {
                    self._decode_map_key(keys, k, path): self.decode(values, v, f"{path}.{k}")
                    for k, v in _require_object(value).items()
                }
            case Type.UNION:
                return _decode_union(schema.members, value)
        return _decode_simple(schema, value)

    def _decode_map_key(self, schema: Schema, key: str, path: str) -> Any:
        read = self.decode(schema, _decode_key(schema.non_nullable, key), f"{path}.keys")
        return tuple(read) if isinstance(read, list) else read

    def _add_problem(self, path: str, expected: str, value: Any) -> None:
        place = f"{self._record_name}, field '{path}'" if path else self._record_name
        self._problems.append(f"{place}: {expected}, not {format_json_value(value)}.")


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _decode_union(members: Sequence[Schema], value: Any) -> Any:
    for member in members:
        problems: list[str] = []
        is_cut = isinstance(value, float) and member.type in _RANGES
        if member.type is Type.NULL or is_cut:
            continue
        read = _RecordDecoder("", problems).decode(member, value, "value")
        if not problems:
            return read
    raise _MismatchError


def _decode_key(schema: Schema, key: str) -> Any:
    """Return a key of an object, decoded where its schema is not a text type."""
    is_text = schema.type in (Type.STRING, Type.ENUM, Type.BYTES) or schema.logical_type
    if is_text:
        return key
    try:
        return json.loads(key)
    except ValueError:
        return key


def _decode_simple(schema: Schema, value: Any) -> Any:
    match schema.type:
        case Type.BOOLEAN if isinstance(value, bool):
            return value
        case Type.INT | Type.LONG:
            return _decode_integer(value, *_RANGES[schema.type])
        case Type.FLOAT | Type.DOUBLE:
            return _decode_float(value)
        case Type.STRING if isinstance(value, str):
            return value
        case Type.ENUM if value in schema.symbols:
            return value
        case Type.BYTES:
            return _decode_bytes(value)
    raise _MismatchError


def _decode_integer(value: Any, lowest: int, highest: int) -> int:
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_whole or not lowest <= value <= highest:
        raise _MismatchError
    return int(value)


def _decode_float(value: Any) -> float:
    if value in _NON_FINITE:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _MismatchError
    return float(value)


def _decode_bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_require_text(value), validate=True)
    except binascii.Error:
        raise _MismatchError from None


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise _MismatchError
    return value


def _require_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _MismatchError
    return value


def _require_object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _MismatchError
    return value


def _decode_date(value: Any) -> datetime.date:
    return datetime.date.fromisoformat(_require_text(value))


def _decode_time(value: Any) -> datetime.time:
    read = datetime.time.fromisoformat(_require_text(value))
    if read.tzinfo is not None:
        raise _MismatchError
    return read


def _decode_timestamp(value: Any) -> datetime.datetime:
    read = datetime.datetime.fromisoformat(_ZONE_NAME.sub("", _require_text(value)))
    utc = datetime.UTC
    return read.astimezone(utc) if read.tzinfo is not None else read.replace(tzinfo=utc)


def _decode_datetime(value: Any) -> datetime.datetime:
    read = datetime.datetime.fromisoformat(_require_text(value))
    if read.tzinfo is not None:
        raise _MismatchError
    return read


def _decode_decimal(value: Any) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _MismatchError
    read = decimal.Decimal(str(value))
    if not read.is_finite():
        raise _MismatchError
    return read


_LOGICAL_DECODERS: Final[dict[LogicalType, Callable[[Any], Any]]] = {
    LogicalType.DATE: _decode_date,
    LogicalType.TIME_MILLIS: _decode_time,
    LogicalType.TIME_MICROS: _decode_time,
    LogicalType.TIMESTAMP_MILLIS: _decode_timestamp,
    LogicalType.TIMESTAMP_MICROS: _decode_timestamp,
    LogicalType.DATETIME: _decode_datetime,
    LogicalType.DECIMAL: _decode_decimal,
}
_EXAMPLES: Final[dict[LogicalType, str]] = {
    LogicalType.DATE: "a date such as '2026-01-02'",
    LogicalType.TIME_MILLIS: "a time such as '03:04:05'",
    LogicalType.TIME_MICROS: "a time such as '03:04:05'",
    LogicalType.TIMESTAMP_MILLIS: "a timestamp such as '2026-01-02T03:04:05Z'",
    LogicalType.TIMESTAMP_MICROS: "a timestamp such as '2026-01-02T03:04:05Z'",
    LogicalType.DATETIME: "a datetime such as '2026-01-02T03:04:05'",
    LogicalType.DECIMAL: "a decimal such as '12.50'",
}


def _describe_expected(schema: Schema) -> str:
    if schema.logical_type is not None:
        return _EXAMPLES[schema.logical_type]
    match schema.type:
        case Type.BYTES:
            return "bytes as text in base64"
        case Type.ENUM:
            return f"one of {', '.join(schema.symbols)}"
        case Type.RECORD:
            return "an object"
        case Type.ARRAY:
            return "an array"
        case Type.MAP:
            return "an object (a map)"
    return f"a value of type {schema.display_name}"


def format_json_value(value: Any, most_letters: int = 60) -> str:
    """Return decoded JSON in one line for messages, cut with ``…``; what JSON does not have is a text."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most_letters else text[: most_letters - 1] + "…"


_NESTED: Final = (Type.ARRAY, Type.MAP, Type.RECORD, Type.UNION)
_NUMBERS: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)
_BOOLEANS: Final = {"true": True, "false": False}


def decode_text_record(schema: Schema, values: Mapping[str, str]) -> dict[str, Any]:
    """Return a record of texts, such as the cells of a CSV row, as JSON for :func:`decode_json_records`.

    Texts of numbers, booleans, arrays, maps and records are parsed; other types stay text, as in JSON. An
    empty text is null, unless the field is a string that must not be null.
    """
    return {name: _decode_text(schema, name, text) for name, text in values.items()}


def _decode_text(schema: Schema, name: str, text: str) -> Any:
    field = schema.field(name)
    if field is None:
        return text
    inner = field.schema.non_nullable
    is_text = inner.type is Type.STRING
    if not text and (field.schema.is_nullable or not is_text):
        return None
    if inner.type is Type.BOOLEAN:
        return _BOOLEANS.get(text.lower(), text)
    has_json = inner.type in _NESTED or inner.type in _NUMBERS
    if has_json and not isinstance(inner.logical_type, LogicalType):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


__getattr__ = build_getattr(__name__)


MOST_ENCODED: Final = 8_000
"""Characters of the JSON of a record. A longer one is not shown."""
HIDDEN_VALUE: Final = "***"
"""Stands for a value that is not shown."""
_MOST_VALUE: Final = 60
_MOST_RECORD: Final = 400
_TOO_LONG: Final = f"(its JSON has more than {MOST_ENCODED} characters)"


def encode_record(record: Any) -> str:
    """Return a record as JSON, and anything else as the JSON of its Python form.

    JSON of more than :data:`MOST_ENCODED` characters is cut, and no JSON any more.
    """
    given = record if isinstance(record, Mapping) else repr(record)
    try:
        text = json.dumps(encode_json_record(given), default=repr, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # what a plugin made of it
        text = json.dumps(repr(record), ensure_ascii=False)
    return text[:MOST_ENCODED]


def read_record(encoded: str) -> dict[str, Any] | None:
    """Return the fields of the result of :func:`encode_record`; None when it is not a whole record."""
    try:
        record = decode_json(encoded)
    except msgspec.DecodeError:
        return None
    return record if isinstance(record, dict) else None


def format_record(
    encoded: str, hide: Callable[[str], str] = str, hidden: Collection[str] = ()
) -> str:
    """Return the result of :func:`encode_record` as text; long values and long records are cut.

    :param hide: removes secrets from a text.
    :param hidden: the fields whose values are not shown.
    """
    try:
        record = decode_json(encoded)
    except msgspec.DecodeError:
        return _TOO_LONG
    if not isinstance(record, dict):
        return _cut(hide(str(record)), _MOST_RECORD) if not hidden else HIDDEN_VALUE
    pairs = ", ".join(
        f"{hide(name)}: "
        + (HIDDEN_VALUE if name in hidden else _cut(hide(repr(value)), _MOST_VALUE))
        for name, value in record.items()
    )
    return _cut("{" + pairs + "}", _MOST_RECORD)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
