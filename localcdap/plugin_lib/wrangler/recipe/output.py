"""Rows made records of the declared schema, by the rules of the original (wrangler ``RecordConvertor``).

Texts become numbers and truth values, numbers wider ones, anything simple a text; a blank text is null
where it is to be something else. Beyond the original, texts in ISO 8601 become dates and times.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from localcdap.api.directive import DirectiveError
from localcdap.api.directive.rows import Row
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.java.strings import to_java_string

Convert = Callable[[Any], Any]
"""A value made one of a schema; raises :class:`DirectiveError` when it cannot be."""
WHOLE: Final = r"[+-]?[0-9]+"
"""What Java reads as a whole number."""
REAL: Final = (
    r"\s*(?:[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?))\s*"
)
"""What Java reads as a number with a point, but for hexadecimal ones."""
_WHOLE: Final = re.compile(WHOLE)
_REAL: Final = re.compile(REAL)
_RANGES: Final = {Type.INT: 2**31, Type.LONG: 2**63}
_PREFIX: Final = "Problem converting into output record. Reason : "


class Converter:
    """Makes records of a schema from rows."""

    def __init__(self, schema: Schema) -> None:
        self.schema: Final = schema
        self._fields: Final = [(f.name, _converter(f.schema, f.name)) for f in schema]

    def record(self, row: Row) -> dict[str, Any]:
        """:raises DirectiveError: when a value cannot be one of its field."""
        return {name: convert(row.value(name)) for name, convert in self._fields}


def _converter(schema: Schema, name: str) -> Convert:
    convert = _inner(schema.non_nullable, name)
    if schema.is_nullable or schema.type is Type.NULL:
        return convert

    def required(value: Any) -> Any:
        made = convert(value)
        if made is None:
            raise DirectiveError(null_message(schema, name))
        return made

    return required


def null_message(schema: Schema, name: str) -> str:
    """Why a field without a value is refused, in the words of the original."""
    return (
        f"{_PREFIX}Field '{name}' of type '{schema.type.name}' (Nullable : 'NO') cannot be set to "
        "'NULL'. Possibly the value being set is not in inline with the schema specified. Check "
        f"schema for field '{name}'."
    )


def unparsed_message(schema: Schema, name: str) -> tuple[str, str]:
    """What stands before and behind a text that is no number, in the words of the original."""
    said = _said(schema)
    return f"{_PREFIX}Unable to convert '", f"' to {said} for field name '{name}'"


def _said(schema: Schema) -> str:
    return "integer" if schema.display_name == "int" else schema.display_name


def _inner(schema: Schema, name: str) -> Convert:
    if schema.logical_type is not None:
        return _logical(schema, name)
    if schema.type.is_simple:
        return _simple(schema, name)
    if schema.items is not None:
        return _array(_converter(schema.items, name), name)
    if schema.values is not None:
        return _map(_converter(schema.values, name), name)
    if schema.type is Type.RECORD:
        return _record(schema, name)
    return _union(schema, name) if schema.type is Type.UNION else _unchanged


def _simple(schema: Schema, name: str) -> Convert:
    match schema.type:
        case Type.INT | Type.LONG:
            return _whole(schema, name)
        case Type.FLOAT | Type.DOUBLE:
            return _real(schema, name)
        case Type.BOOLEAN:
            return _parsed(schema, name, bool, lambda text: text.lower() == "true")
        case Type.BYTES:
            return _parsed(schema, name, bytes, lambda text: text.encode("utf-8", "surrogatepass"))
        case Type.STRING:
            return java_text_or_null
    return lambda _: None


def _unchanged(value: Any) -> Any:
    return value


def java_text_or_null(value: Any) -> str | None:
    """Java's text of a value; null stays null."""
    if value is None or isinstance(value, str):
        return value
    return to_java_string(value)


def _refused(schema: Schema, name: str, value: Any) -> DirectiveError:
    said = _said(schema)
    return DirectiveError(
        f"{_PREFIX}Schema specifies field '{name}' is {said}, but the value is of type "
        f"'{type(value).__name__}'"
    )


def _unparsed(schema: Schema, name: str, text: str) -> DirectiveError:
    before, behind = unparsed_message(schema, name)
    return DirectiveError(f"{before}{text}{behind}")


def _parsed(schema: Schema, name: str, cls: type, parse: Callable[[str], Any]) -> Convert:
    def convert(value: Any) -> Any:
        if value is None or isinstance(value, cls):
            return value
        if isinstance(value, str):
            return parse(value) if value.strip() else None
        raise _refused(schema, name, value)

    return convert


def _whole(schema: Schema, name: str) -> Convert:
    limit = _RANGES[schema.type]

    def convert(value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif value is None:
            return None
        elif isinstance(value, str):
            if not value.strip():
                return None
            if not _WHOLE.fullmatch(value) or len(value) > 30:
                raise _unparsed(schema, name, value)
            number = int(value)
            if not -limit <= number < limit:
                raise _unparsed(schema, name, value)
        else:
            raise _refused(schema, name, value)
        if not -limit <= number < limit:
            raise _refused(schema, name, value)
        return number

    return convert


def _real(schema: Schema, name: str) -> Convert:
    def convert(value: Any) -> Any:
        if isinstance(value, float) or value is None:
            return value
        if isinstance(value, str):
            if not value.strip():
                return None
            if not _REAL.fullmatch(value):
                raise _unparsed(schema, name, value)
            text = value.strip()
            return float(text[:-1] if text[-1] in "fFdD" and text[-2:] != "nf" else text)
        if isinstance(value, int | decimal.Decimal) and not isinstance(value, bool):
            try:
                return float(value)
            except OverflowError:
                return math.inf if value > 0 else -math.inf
        raise _refused(schema, name, value)

    return convert


def _logical(schema: Schema, name: str) -> Convert:
    kind = schema.logical_type
    if kind is LogicalType.DECIMAL:
        return _decimal(schema, name)
    parse = _PARSED[LogicalType.DATE]
    if kind is not None:
        parse = _PARSED[kind]

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, str):
            if not value.strip():
                return None
            with contextlib.suppress(ValueError):
                return parse(value.strip())
            raise _unparsed(schema, name, value)
        fitted = _fitted_moment(kind, value)
        if fitted is None:
            raise _refused(schema, name, value)
        return fitted

    return convert


def _instant(text: str) -> datetime.datetime:
    made = datetime.datetime.fromisoformat(re.sub(r"\[[^\]]*\]$", "", text))
    return made.replace(tzinfo=datetime.UTC) if made.tzinfo is None else made


_PARSED: Final[Mapping[LogicalType, Callable[[str], Any]]] = {
    LogicalType.DATE: datetime.date.fromisoformat,
    LogicalType.TIME_MILLIS: datetime.time.fromisoformat,
    LogicalType.TIME_MICROS: datetime.time.fromisoformat,
    LogicalType.TIMESTAMP_MILLIS: _instant,
    LogicalType.TIMESTAMP_MICROS: _instant,
    LogicalType.DATETIME: datetime.datetime.fromisoformat,
}


def _fitted_moment(kind: LogicalType | None, value: Any) -> Any:
    """A date or time as the logical type has it, None where it is none."""
    is_moment = isinstance(value, datetime.datetime)
    if kind is LogicalType.DATE:
        return value if isinstance(value, datetime.date) and not is_moment else None
    if kind in (LogicalType.TIME_MILLIS, LogicalType.TIME_MICROS):
        return value if isinstance(value, datetime.time) else None
    if not is_moment:
        return None
    if kind is LogicalType.DATETIME:
        return value if value.tzinfo is None else None
    return value if value.tzinfo is not None else None


def _decimal(schema: Schema, name: str) -> Convert:
    scale, precision = schema.scale or 0, schema.precision or 38
    unit = decimal.Decimal(1).scaleb(-scale)
    exact = decimal.Context(prec=precision, traps=[decimal.Inexact, decimal.InvalidOperation])

    def convert(value: Any) -> Any:
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if isinstance(value, bool) or not isinstance(value, decimal.Decimal | int | float | str):
            raise _refused(schema, name, value)
        try:
            number = decimal.Decimal(repr(value) if isinstance(value, float) else value)
            return number.quantize(unit, context=exact)
        except (decimal.DecimalException, ValueError):
            raise _unparsed(schema, name, to_java_string(value)) from None

    return convert


def _array(convert: Convert, name: str) -> Convert:
    def each(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise DirectiveError(f"{_PREFIX}Unable to decode array '{name}'")
        return [convert(member) for member in value]

    return each


def _map(convert: Convert, name: str) -> Convert:
    def each(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise DirectiveError(f"{_PREFIX}Unable decode object '{name}' with schema type 'MAP'.")
        return {java_text_or_null(key): convert(member) for key, member in value.items()}

    return each


def _record(schema: Schema, name: str) -> Convert:
    fields = [(f.name, _converter(f.schema, name)) for f in schema]

    def each(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise DirectiveError(
                f"{_PREFIX}Unable decode object '{name}' with schema type 'RECORD'."
            )
        return {member: convert(value.get(member)) for member, convert in fields}

    return each


def _union(schema: Schema, name: str) -> Convert:
    converters = [_converter(member, name) for member in schema.members]

    def first(value: Any) -> Any:
        for convert in converters:
            with contextlib.suppress(DirectiveError):
                return convert(value)
        raise _refused(schema, name, value)

    return first
