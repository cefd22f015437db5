"""JSON as values of a schema: the rule of CDAP (``JsonStructuredRecordDatumReader``, ``JsonDecoder``, Gson).

====================  =========================================================  =======================
type                  JSON that the original reads                               and further JSON
====================  =========================================================  =======================
boolean               ``true``, ``false``
int, long             a number or a text of one, if whole and in range: ``3.0``
float, double         a number or a text of one, if finite                       ``"NaN"``, ``"Infinity"``
string, enum          a text, or the literal of a number: ``1.10``
bytes                 an array of numbers, of which the low 8 bits count         a text in Base64
array, record         an array, an object
map                   an object; keys are parsed as texts, numbers, booleans
date, time            the number of days; of milli- or microseconds              an ISO 8601 text
timestamp             the number of milli- or microseconds since 1970            an ISO 8601 text
datetime              an ISO 8601 text with ``T`` and without a zone
decimal               an array: the bytes of the number without its point        a number or its text
nullable, union       ``null``; else the first member whose kind of JSON it is:  the first member whose
                      a number for numbers, dates, times and timestamps, an      further JSON it is; an
                      array for bytes and decimals, a text for strings           enum; tags of members
====================  =========================================================  =======================

So ``"2"`` is read as an int that must not be null, and refused for a nullable one. Names of members are
compared exactly, then without case; further members are ignored, and the last of several counts. A member may
be absent where null is allowed.

What the original alters is altered and noted (:data:`CHANGES`): it reads the first value of a text only, and
takes whole numbers in another form than digits, such as ``9007199254740993.0``, from doubles
(``JsonReader.nextLong``), and floats, too, which may then be infinite, and writes half of a surrogate pair
as a question mark.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import functools
import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from localcdap.api import LogicalType, Record, Schema, Type
from localcdap.api.arrow import list_union_tags
from localcdap.java.numbers import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    parse_double,
    parse_int,
    parse_long,
)
from localcdap.java.strings import TRIM_CHARACTERS, round_to_float
from localcdap.plugin_lib.json_texts import require_boolean

Convert = Callable[[Any], Any]
Note = Callable[[str], None]
"""Called with one of :data:`CHANGES` for each value that is altered."""
CHANGES: Final = (
    "what follows the first object was left out",
    "a number that its type does not hold became the nearest one",
    "half of a surrogate pair became a question mark",
)
_REST, _NEAREST, _HALF = CHANGES


class JsonNumber(str):
    """The literal of a number."""

    __slots__ = ()


class JsonObject(tuple[tuple[str, Any], ...]):
    """The members of an object, in their order, with repeated names."""

    __slots__ = ()


class _Constant(tuple[str]):
    """``NaN`` or an infinity without quotes, which is a value of no type."""

    __slots__ = ()


class JsonValueError(ValueError):
    """A JSON value does not fit its schema; the message names the path, the type and the value."""


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=JsonObject,
    parse_float=JsonNumber,
    parse_int=JsonNumber,
    parse_constant=lambda name: _Constant([name]),
    strict=False,
)
_WORD: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|\b(true|false|null)\b', re.IGNORECASE | re.DOTALL)
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER: Final = re.compile(r"\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*$")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?")
_DATETIME: Final = re.compile(rf"{_DATE.pattern}T{_TIME.pattern}")
_ZONE: Final = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?(\[[\w/+-]+\])?"
_TIMESTAMP: Final = re.compile(rf"{_DATE.pattern}([T ]([0-9]{{2}}|{_TIME.pattern}){_ZONE})?")
_NON_FINITE: Final = ("NaN", "Infinity", "-Infinity")
_BLANKS: Final = " \t\r\n"
"""What may stand around a value."""
_LONGEST_SHOWN: Final = 80
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_KINDS: Final = {
    type(None): "null",
    bool: "a boolean",
    JsonNumber: "a number",
    str: "a text",
    list: "an array",
    JsonObject: "an object",
}


def refuse(change: str) -> None:
    """Refuse to alter a value: the :data:`Note` of those that cannot count.

    :raises JsonValueError: always.
    """
    raise JsonValueError(change)


def make_json_reader(schema: Schema, note: Note = refuse) -> Callable[[str], Record]:
    """Return the function from the text of a JSON object to the record.

    It raises ValueError, as :func:`decode_json`, when the text is not JSON, and :class:`JsonValueError`
    when it does not fit the schema.
    """
    convert = make_json_converter(schema, "", note=note)
    return lambda text: convert(decode_json(text, note))


def decode_json(text: str, note: Note = refuse) -> Any:
    """Return the first JSON value with numbers as :class:`JsonNumber` and objects as :class:`JsonObject`.

    As Gson, it reads ``true``, ``false`` and ``null`` in any case, and control characters in texts.

    :raises ValueError: when the text does not begin with a JSON value, or is too deeply nested.
    """
    text = text.removeprefix("\ufeff").strip(_BLANKS)
    try:
        value, end = _DECODER.raw_decode(text)
        if end < len(text):
            note(_REST)
        return value
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError:
        plain = _WORD.sub(lambda word: word[0].lower() if word[1] else word[0], text)
        if plain == text:
            raise
        return decode_json(plain, note)


def mark_kinds(value: Any) -> Any:
    """Return decoded JSON in the form of :func:`decode_json`; literals of numbers are lost already."""
    if isinstance(value, dict):
        return JsonObject((name, mark_kinds(member)) for name, member in value.items())
    if isinstance(value, list):
        return [mark_kinds(element) for element in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return JsonNumber(json.dumps(value)) if is_number else value


def format_json(value: Any) -> str:
    """Return the JSON text of a value of :func:`decode_json`."""
    if isinstance(value, JsonObject):
        return f"{{{','.join(f'{json.dumps(k)}:{format_json(v)}' for k, v in value)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(format_json, value))}]"
    if isinstance(value, _Constant):
        return value[0]
    return str(value) if isinstance(value, JsonNumber) else json.dumps(value, ensure_ascii=False)


def make_json_converter(
    schema: Schema, path: str, *, lenient: bool = False, note: Note = refuse
) -> Convert:
    """Return the function that converts a value of :func:`decode_json` to the schema, or raises
    :class:`JsonValueError`.

    :param path: the path of the value, for messages; empty for the outermost object.
    :param lenient: a nullable value and a union take what their members take alone, and a string takes an
        object or array as its text.
    """
    return _ConverterBuilder(lenient, note).build(schema, path)


class _ConverterBuilder:
    def __init__(self, lenient: bool, note: Note) -> None:
        self._lenient, self._note = lenient, note

    def build(self, schema: Schema, path: str) -> Convert:
        match schema.type:
            case Type.UNION:
                return self._build_union(schema, path)
            case Type.ARRAY if schema.items is not None:
                item = self.build(schema.items, f"{path}[]")
                return _check(lambda value: list(map(item, _require(value, list))), schema, path)
            case Type.MAP if schema.values is not None and schema.keys is not None:
                return self._build_map(schema.keys, schema.values, schema, path)
            case Type.RECORD:
                return self._build_record(schema, path)
        if schema.type is Type.STRING and self._lenient and schema.logical_type is None:
            return _check(functools.partial(_read_any_text, note=self._note), schema, path)
        return _check(_find_reader(schema, self._note), schema, path)

    def _build_map(self, keys: Schema, values: Schema, schema: Schema, path: str) -> Convert:
        item = self.build(values, f"{path}.*")
        read_text = functools.partial(_read_text, note=self._note)
        read_key: Convert = _KEYS.get(keys.non_nullable.type, read_text)

        def read(value: Any) -> dict[Any, Any]:
            return {read_key(key): item(member) for key, member in _require(value, JsonObject)}

        return _check(read, schema, path)

    def _build_record(self, schema: Schema, path: str) -> Convert:
        prefix = f"{path}." if path else ""
        members = {f.name: (f.name, self.build(f.schema, prefix + f.name)) for f in schema}
        without_case = {name.lower(): member for name, member in members.items()}
        required = [f.name for f in schema if not (f.schema.is_nullable or f.schema == Schema.NULL)]
        empty = dict.fromkeys(schema.field_names)

        def convert(value: Any) -> Record:
            if type(value) is not JsonObject:
                raise JsonValueError(
                    f"'{path}' must be an object" if path else "it is not an object"
                )
            record: Record = dict(empty)
            for name, member in value:
                reader = members.get(name) or without_case.get(name.lower())
                if reader is not None:
                    record[reader[0]] = reader[1](member)
            for name in required:
                if record[name] is None:
                    raise _describe_null(prefix + name)
            return record

        return convert

    def _build_union(self, schema: Schema, path: str) -> Convert:
        members = [m for m in schema.members if m.type is not Type.NULL]
        converters = [self.build(m, path) for m in members]
        by_kind: dict[type, Convert] = {}
        for kinds in (_list_kinds, _list_further_kinds):
            for member, reader in zip(members, converters, strict=True):
                for kind in kinds(member):
                    is_text = kind is str and member.type in _OF_NUMBERS
                    by_kind.setdefault(kind, _refuse_numbers(reader, path) if is_text else reader)
        if len(members) > 1:
            tags = dict(zip(list_union_tags(schema.non_nullable), converters, strict=True))
            by_kind.setdefault(JsonObject, lambda value: _read_tagged(value, tags, path))
        if schema.is_nullable:
            by_kind[type(None)] = lambda _: None
        lenient, kinds_text = self._lenient, " or ".join(_KINDS[kind] for kind in by_kind)

        def convert(value: Any) -> Any:
            by_rule = by_kind.get(type(value))
            if by_rule is not None:
                return by_rule(value)
            for other in converters if lenient and value is not None else ():
                try:
                    return other(value)
                except JsonValueError:
                    continue
            raise JsonValueError(
                f"'{path}' ({_name_type(schema)}) must be {kinds_text}, but is {_show(value)}"
            )

        return convert


def _check(read: Convert, schema: Schema, path: str) -> Convert:
    """Return the function with errors that name the path."""

    def read_checked(value: Any) -> Any:
        try:
            return read(value)
        except JsonValueError:
            raise
        except (ValueError, TypeError, ArithmeticError):
            if value is None:
                raise _describe_null(path) from None
            raise JsonValueError(
                f"'{path}' must be of type {_name_type(schema)}, but is {_show(value)}"
            ) from None

    return read_checked


def _refuse_numbers(convert: Convert, path: str) -> Convert:
    """Return the function for the texts of a member of a union, whose numbers have no quotes."""

    def read(value: str) -> Any:
        if _NUMBER.match(value):
            raise JsonValueError(
                f"'{path}' (nullable) must be a number without quotes, but is {_show(value)}"
            )
        return convert(value)

    return read


def _describe_null(path: str) -> JsonValueError:
    return JsonValueError(f"'{path}' is null or missing, but its schema does not allow null")


def _name_type(schema: Schema) -> str:
    inner = schema.non_nullable
    if inner.type is Type.UNION:
        return " or ".join(map(_name_type, inner.members))
    name = inner.display_name
    return name if inner is schema else f"nullable {name}"


def _show(value: Any) -> str:
    text = format_json(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _require(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise ValueError(value)
    return value


def _read_tagged(value: JsonObject, tags: dict[str, Convert], path: str) -> Any:
    """Read a union as earlier versions wrote it: an object with a member for each type, all null but one."""
    filled = [(name, member) for name, member in value if member is not None]
    if len(filled) > 1 or any(name not in tags for name, _ in value):
        raise JsonValueError(f"'{path}' must be of a type of its union, but is {_show(value)}")
    return tags[filled[0][0]](filled[0][1]) if filled else None


# -- values -------------------------------------------------------------------------------------


def _make_whole_reader(lowest: int, highest: int, note: Note) -> Convert:
    """Return ``JsonReader.nextInt`` or ``nextLong``."""

    def read(value: Any) -> int:
        text = _require(value, JsonNumber, str)
        if _WHOLE.fullmatch(text) and lowest <= int(text) <= highest:
            return int(text)
        exact = _parse_exactly(text)
        # Java's cast of a double gives the lowest or highest number for what is beyond it.
        nearest = float(exact)
        number = max(lowest, min(highest, int(nearest)))
        if float(number) != nearest:
            raise ValueError(text)
        if number != exact:
            note(_NEAREST)
        return number

    return read


def _parse_exactly(text: str) -> decimal.Decimal:
    """Return all digits of what ``Double.parseDouble`` accepts."""
    number = parse_double(text)
    if "x" in text or "X" in text:
        return decimal.Decimal(number)
    return decimal.Decimal(text.strip(TRIM_CHARACTERS).rstrip("fFdD"))


def _read_double(value: Any) -> float:
    """Read a number as ``JsonReader.nextDouble``, and a number that is none as the text of its name."""
    if type(value) is str and value in _NON_FINITE:
        return float(value)
    number = parse_double(_require(value, JsonNumber, str))
    if not math.isfinite(number):
        raise ValueError(value)
    return number


def _read_float(value: Any, note: Note) -> float:
    number = _read_double(value)
    rounded = round_to_float(number)
    if math.isinf(rounded) and not math.isinf(number):
        note(_NEAREST)
    return rounded


def _read_text(value: Any, note: Note) -> str:
    text = str(_require(value, str, JsonNumber))
    if text.isascii():
        return text
    written = text.encode("utf-8", "replace").decode()
    if written != text:
        note(_HALF)
    return written


def _read_any_text(value: Any, note: Note) -> str:
    is_nested = isinstance(value, list | JsonObject)
    return format_json(value) if is_nested else _read_text(value, note)


def _make_bytes_reader(read_int: Convert) -> Convert:
    def read(value: Any) -> bytes:
        if type(value) is str:
            return base64.b64decode(value, validate=True)
        return bytes(read_int(element) & 0xFF for element in _require(value, list))

    return read


def _make_date_reader(read_int: Convert) -> Convert:
    def read(value: Any) -> datetime.date:
        if type(value) is str and _DATE.fullmatch(value):
            return datetime.date.fromisoformat(value)
        return (_EPOCH + datetime.timedelta(days=read_int(value))).date()

    return read


def _make_time_reader(read_number: Convert, unit: int) -> Convert:
    """Return the reader of times.

    :param unit: the microseconds of a unit.
    """

    def read(value: Any) -> datetime.time:
        if type(value) is str and _TIME.fullmatch(value):
            return datetime.time.fromisoformat(value)
        since_midnight = datetime.timedelta(microseconds=read_number(value) * unit)
        if not datetime.timedelta() <= since_midnight < datetime.timedelta(days=1):
            raise ValueError(value)
        return (_EPOCH + since_midnight).time()

    return read


def _make_timestamp_reader(read_long: Convert, unit: int) -> Convert:
    """Return the reader of timestamps.

    :param unit: the microseconds of a unit.
    """

    def read(value: Any) -> datetime.datetime:
        if type(value) is str and (text := _TIMESTAMP.fullmatch(value)):
            moment = datetime.datetime.fromisoformat(value.partition("[")[0])
            has_zone = text[5] is not None
            return (
                moment.astimezone(datetime.UTC) if has_zone else moment.replace(tzinfo=datetime.UTC)
            )
        return _EPOCH + datetime.timedelta(microseconds=read_long(value) * unit)

    return read


def _read_datetime(value: Any) -> datetime.datetime:
    if not _DATETIME.fullmatch(_require(value, str)):
        raise ValueError(value)
    return datetime.datetime.fromisoformat(value)


def _make_decimal_reader(schema: Schema, read_bytes: Convert) -> Convert:
    precision, scale = schema.precision or 38, schema.scale or 0
    unit = decimal.Decimal((0, (1,), -scale))
    context = decimal.Context(prec=precision, rounding=decimal.ROUND_HALF_EVEN)

    def read(value: Any) -> decimal.Decimal:
        if type(value) is list:
            if not value:
                raise ValueError(value)
            unscaled = int.from_bytes(read_bytes(value), signed=True)
            exact = decimal.Decimal(unscaled).scaleb(-scale, _WIDE)
        else:
            exact = _parse_exactly(_require(value, JsonNumber, str))
        fitted = exact.quantize(unit, context=context)
        if fitted != exact:
            raise ValueError(value)
        return fitted

    return read


_WIDE: Final = decimal.Context(prec=1000)
_KEYS: Final[dict[Type, Convert]] = {
    Type.BOOLEAN: lambda key: key.lower() == "true",
    Type.INT: parse_int,
    Type.LONG: parse_long,
    Type.FLOAT: parse_double,
    Type.DOUBLE: parse_double,
}
_OF_NUMBERS: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)


def _find_reader(schema: Schema, note: Note) -> Convert:
    """Return the reader of a simple type."""
    read_int = _make_whole_reader(INT_MIN, INT_MAX, note)
    read_long = _make_whole_reader(LONG_MIN, LONG_MAX, note)
    read_bytes = _make_bytes_reader(read_int)
    read_text: Convert = functools.partial(_read_text, note=note)
    readers: dict[Type | LogicalType, Convert] = {
        Type.NULL: lambda value: _require(value, type(None)),
        Type.BOOLEAN: require_boolean,
        Type.INT: read_int,
        Type.LONG: read_long,
        Type.FLOAT: functools.partial(_read_float, note=note),
        Type.DOUBLE: _read_double,
        Type.BYTES: read_bytes,
        Type.STRING: read_text,
        Type.ENUM: read_text,
        LogicalType.DATE: _make_date_reader(read_int),
        LogicalType.TIME_MILLIS: _make_time_reader(read_int, 1000),
        LogicalType.TIME_MICROS: _make_time_reader(read_long, 1),
        LogicalType.TIMESTAMP_MILLIS: _make_timestamp_reader(read_long, 1000),
        LogicalType.TIMESTAMP_MICROS: _make_timestamp_reader(read_long, 1),
        LogicalType.DATETIME: _read_datetime,
        LogicalType.DECIMAL: _make_decimal_reader(schema, read_bytes),
    }
    return readers[schema.logical_type or schema.type]


def _list_kinds(schema: Schema) -> tuple[type, ...]:
    """Return the kind of JSON by which the original finds the member of a union."""
    match schema.type:
        case Type.BOOLEAN:
            return (bool,)
        case Type.STRING:
            return (str,)
        case Type.BYTES | Type.ARRAY:
            return (list,)
        case Type.MAP | Type.RECORD:
            return (JsonObject,)
    return (JsonNumber,) if schema.type in _OF_NUMBERS else ()


def _list_further_kinds(schema: Schema) -> tuple[type, ...]:
    """Return the kinds of JSON that earlier versions wrote for a type."""
    if schema.logical_type is LogicalType.DECIMAL:
        return (JsonNumber, str)
    is_text = schema.logical_type is not None or schema.type in (Type.BYTES, Type.ENUM)
    return (str,) if is_text or schema.type in (Type.FLOAT, Type.DOUBLE) else ()
