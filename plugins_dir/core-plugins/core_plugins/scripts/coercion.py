"""Coercion of values that scripts emit to declared types (CDAP ``JavaScriptTransform.decode``).

Fractions are truncated for int and long, but not in a union. Unlike in CDAP, a number out of the range of its
type is an error.

Nearly all values already have the class of their field. A call for each value would be the main cost of a
script; one generated function for the whole record costs a seventh of that.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from localcdap.api import LogicalType, Schema, Type
from localcdap.java.big_decimal import EXACT
from localcdap.plugin_lib.json_texts import require_boolean

Coerce = Callable[[Any], Any]

INT_RANGE: Final = (-(2**31), 2**31 - 1)
LONG_RANGE: Final = (-(2**63), 2**63 - 1)
_FITTING: Final = {
    Schema.BOOLEAN: "v.__class__ is bool",
    Schema.FLOAT: "v.__class__ is float",
    Schema.DOUBLE: "v.__class__ is float",
    Schema.STRING: "v.__class__ is str",
    Schema.BYTES: "v.__class__ is bytes",
    Schema.INT: f"v.__class__ is int and {INT_RANGE[0]} <= v <= {INT_RANGE[1]}",
    Schema.LONG: f"v.__class__ is int and {LONG_RANGE[0]} <= v <= {LONG_RANGE[1]}",
}
"""Source of the test whether a value needs no coercion, by schema."""


def make_record_coercer(schema: Schema, members: Sequence[Coerce], otherwise: Coerce) -> Coerce:
    """Generate a function that makes a new record of a dict with all fields of a schema.

    :param members: the coercers of the fields, for values that need coercion.
    :param otherwise: the coercer of any other value, which raises the errors.
    """
    parts = [
        _write_entry(field.name, field.schema, f"m{number}") for number, field in enumerate(schema)
    ]
    is_simple = all(field.schema.non_nullable in _FITTING for field in schema)
    fits = [
        f"len(record) == {len(parts)}",
        *(_write_test(f.name, f.schema) for f in schema if is_simple),
    ]
    source = f"""\
def coerce(record):
    if record.__class__ is dict:
        try:
            if {" and ".join(fits) if is_simple else False}:
                return {{**record}}
            return {{{", ".join(parts)}}}
        except KeyError:
            pass
    return otherwise(record)
"""
    names = {f"m{number}": member for number, member in enumerate(members)}
    names["otherwise"] = otherwise
    # The fields' names, as string literals, are the only foreign text in the source.
    exec(source, names)  # noqa: S102
    made: Coerce = names["coerce"]
    return made


def _write_entry(name: str, schema: Schema, member: str) -> str:
    """Return the source of one field's entry in the new record."""
    if schema.non_nullable not in _FITTING:
        return f"{name!r}: {member}(record[{name!r}])"
    return f"{name!r}: v if {_write_test(name, schema)} else {member}(v)"


def _write_test(name: str, schema: Schema) -> str:
    """Return the source of the test whether a field's value, assigned to ``v``, needs no coercion."""
    fits = _FITTING[schema.non_nullable]
    if schema.is_nullable:
        fits = f"({fits} or v is None)"
    return fits.replace("v", f"(v := record[{name!r}])", 1)


EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MIDNIGHT: Final = datetime.datetime(1970, 1, 1)


class ScriptValueError(ValueError):
    """A value of a script does not fit its schema; the message names the field, the type and the value."""


def make_coercer(
    schema: Schema,
    name: str = "",
    *,
    cuts: bool = True,
    on_missing: Callable[[Any], None] | None = None,
) -> Coerce:
    """Return the function that converts a script's value to the schema, or raises :class:`ScriptValueError`.

    Dates and times may be ISO texts, epoch numbers in the schema's unit, or Python objects. Decimals may be
    numbers, texts or the bytes of the unscaled number. Bytes may be a list of numbers.

    :param name: the field's name for messages; empty for a whole record.
    :param cuts: whether fractions are truncated for integers.
    :param on_missing: called with each record that lacks a field.
    """
    inner = schema.non_nullable
    if inner.type is Type.RECORD:
        members = _make_members(inner, name, cuts)
        otherwise = _make_nullable(schema, _make_record_converter(members, name), name)
        if on_missing is not None:
            otherwise = _call_before(on_missing, otherwise)
        return make_record_coercer(inner, list(members.values()), otherwise)
    return _make_nullable(schema, _make_converter(inner, name, cuts), name)


def _call_before(watch: Callable[[Any], None], convert: Coerce) -> Coerce:
    def coerce(value: Any) -> Any:
        watch(value)
        return convert(value)

    return coerce


def _make_nullable(schema: Schema, convert: Coerce, name: str) -> Coerce:
    is_nullable = schema.is_nullable or schema.type is Type.NULL

    def coerce(value: Any) -> Any:
        if value is not None:
            return convert(value)
        if is_nullable:
            return None
        raise ScriptValueError(f"field '{name}' is null, but its schema does not allow null")

    return coerce


def _make_converter(schema: Schema, name: str, cuts: bool) -> Coerce:
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            return _make_array_converter(make_coercer(schema.items, f"{name}[]", cuts=cuts), name)
        case Type.MAP if schema.values is not None and schema.keys is not None:
            keys = make_coercer(schema.keys, f"keys of {name}", cuts=cuts)
            return _make_map_converter(
                keys, make_coercer(schema.values, f"{name}.*", cuts=cuts), name
            )
        case Type.UNION:
            choices = [
                make_coercer(m, name, cuts=False) for m in schema.members if m.type is not Type.NULL
            ]
            return _make_union_converter(choices, name)
        case _:
            return _make_checked_converter(schema, name, cuts)


def _make_array_converter(item: Coerce, name: str) -> Coerce:
    def convert(value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise _build_error(name, "an array", value)
        return [item(element) for element in value]

    return convert


def _make_map_converter(key: Coerce, item: Coerce, name: str) -> Coerce:
    def convert(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise _build_error(name, "a map", value)
        return {key(k): item(v) for k, v in value.items()}

    return convert


def _make_members(schema: Schema, name: str, cuts: bool) -> dict[str, Coerce]:
    prefix = f"{name}." if name else ""
    return {f.name: make_coercer(f.schema, prefix + f.name, cuts=cuts) for f in schema}


def _make_record_converter(members: dict[str, Coerce], name: str) -> Coerce:
    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _build_error(name, "a record", value)
        get = value.get
        return {member: coerce(get(member)) for member, coerce in members.items()}

    return convert


def _make_union_converter(choices: list[Coerce], name: str) -> Coerce:
    def convert(value: Any) -> Any:
        for choice in choices:
            try:
                return choice(value)
            except ScriptValueError:
                continue
        raise _build_error(name, "one of the types of its union", value)

    return convert


def _make_checked_converter(schema: Schema, name: str, cuts: bool) -> Coerce:
    wanted = _describe_type(schema)
    convert = _make_simple_converter(schema, cuts)

    def convert_checked(value: Any) -> Any:
        try:
            return convert(value)
        except (TypeError, ValueError, OverflowError, decimal.InvalidOperation):
            raise _build_error(name, f"of type {wanted}", value) from None

    return convert_checked


def _describe_type(schema: Schema) -> str:
    if schema.logical_type is not LogicalType.DECIMAL:
        return schema.display_name
    precision, scale = schema.precision or 0, schema.scale or 0
    return f"decimal({precision}, {scale}) (digits: {precision - scale} before the point, {scale} after it)"


def _build_error(name: str, wanted: str, value: Any) -> ScriptValueError:
    shown = str(value) if isinstance(value, decimal.Decimal) else repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    subject = f"field '{name}'" if name else "an emitted record"
    return ScriptValueError(f"{subject} must be {wanted}, not {shown}")


def _make_simple_converter(schema: Schema, cuts: bool) -> Coerce:
    match schema.logical_type:
        case None:
            return (
                _PLAIN[schema.type]
                if schema.type in _PLAIN
                else _make_special_converter(schema, cuts)
            )
        case LogicalType.DECIMAL:
            return _make_decimal_converter(schema.precision or 0, schema.scale or 0)
        case logical:
            return _LOGICAL[logical]


def _make_special_converter(schema: Schema, cuts: bool) -> Coerce:
    if schema.type is Type.ENUM:
        return _make_enum_converter(schema.symbols)
    return _make_integer_converter(INT_RANGE if schema.type is Type.INT else LONG_RANGE, cuts)


def _make_integer_converter(limits: tuple[int, int], cuts: bool) -> Coerce:
    lowest, highest = limits

    def convert(value: Any) -> int:
        if value.__class__ is int and lowest <= value <= highest:
            return int(value)
        if isinstance(value, float):
            if not cuts and not value.is_integer():
                raise ValueError(value)
            value = math.trunc(value)
        elif not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(value)
        if not lowest <= value <= highest:
            raise OverflowError(value)
        return int(value)

    return convert


def _require_double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(value)
    return float(value)


def _to_string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _make_enum_converter(symbols: tuple[str, ...]) -> Coerce:
    def convert(value: Any) -> str:
        if value not in symbols:
            raise ValueError(value)
        return str(value)

    return convert


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if not isinstance(value, (list, tuple)):
        raise TypeError(value)
    return bytes(int(element) & 0xFF for element in value)


def _reject_null(value: Any) -> None:
    raise TypeError(value)


def _to_date(value: Any) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    if isinstance(value, str):
        return datetime.date.fromisoformat(value)
    return (EPOCH + datetime.timedelta(days=int(value))).date()


def _make_time_converter(unit: str) -> Coerce:
    def convert(value: Any) -> datetime.time:
        if isinstance(value, datetime.time):
            return value
        if isinstance(value, str):
            return datetime.time.fromisoformat(value)
        return (_MIDNIGHT + datetime.timedelta(**{unit: int(value)})).time()

    return convert


def _make_timestamp_converter(unit: str) -> Coerce:
    def convert(value: Any) -> datetime.datetime:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value.removesuffix("[UTC]"))
        if isinstance(value, datetime.datetime):
            return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        return EPOCH + datetime.timedelta(**{unit: int(value)})

    return convert


def _to_datetime(value: Any) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    return datetime.datetime.fromisoformat(value)


def _make_decimal_converter(precision: int, scale: int) -> Coerce:
    step, limit = decimal.Decimal(1).scaleb(-scale), decimal.Decimal(10) ** (precision - scale)

    def read(value: Any) -> decimal.Decimal:
        if isinstance(value, bool):
            raise TypeError(value)
        if isinstance(value, (list, tuple, bytes, bytearray)):
            unscaled = int.from_bytes(_to_bytes(value), "big", signed=True)
            return decimal.Decimal(unscaled).scaleb(-scale)
        return decimal.Decimal(value if isinstance(value, decimal.Decimal) else str(value))

    def convert(value: Any) -> decimal.Decimal:
        found = read(value)
        if not found.is_finite() or abs(found) >= limit or EXACT.remainder(found, step):
            raise ValueError(value)
        return found

    return convert


_PLAIN: Final[dict[Type, Coerce]] = {
    Type.NULL: _reject_null,
    Type.BOOLEAN: require_boolean,
    Type.FLOAT: _require_double,
    Type.DOUBLE: _require_double,
    Type.STRING: _to_string,
    Type.BYTES: _to_bytes,
}
_LOGICAL: Final[dict[LogicalType, Coerce]] = {
    LogicalType.DATE: _to_date,
    LogicalType.TIME_MILLIS: _make_time_converter("milliseconds"),
    LogicalType.TIME_MICROS: _make_time_converter("microseconds"),
    LogicalType.TIMESTAMP_MILLIS: _make_timestamp_converter("milliseconds"),
    LogicalType.TIMESTAMP_MICROS: _make_timestamp_converter("microseconds"),
    LogicalType.DATETIME: _to_datetime,
}
