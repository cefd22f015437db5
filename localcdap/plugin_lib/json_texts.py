"""Records as JSON texts, as plugins of CDAP write them.

The form is that of ``StructuredRecordStringConverter`` (``JsonStructuredRecordDatumWriter``): dates are days,
times and timestamps milli- or microseconds, bytes and the digits of decimals arrays of numbers up to 127.
Stages of earlier versions keep texts in their place, by the property of :func:`former_form_field`.
"""

from __future__ import annotations

import datetime
import decimal
import math
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import LogicalType, Record, Schema, SparkContext, Type, field
from localcdap.api.arrow import matches
from localcdap.api.record_json import encode_json_record
from localcdap.files.formats import FORMER_JSON
from localcdap.files.writers import format_local_time
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.spark.columns import build_failure

if TYPE_CHECKING:
    from pyspark.sql import Column

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_NOT_FINITE: Final = "A number of JSON must be finite, but it is "
_Encode = Callable[[Any], Any]


def former_form_field() -> Any:
    """Declare the property :data:`FORMER_JSON` of a plugin that writes JSON."""
    return field(
        "Whether JSON has dates, times and timestamps as ISO 8601 texts and decimals as numbers or texts, "
        "instead of numbers of days and of milli- or microseconds and arrays of bytes. Pipelines of earlier "
        "versions of localcdap have it.",
        default=False,
        name=FORMER_JSON,
        macro=False,
        group="more",
        addition="It writes JSON that CDAP cannot read, as earlier versions of localcdap did.",
    )


def make_json_writer(schema: Schema, *, former: bool = False) -> Callable[[Record], str]:
    """Return the function from a record of the schema to its JSON. Null is written as null.

    It raises ValueError for a number that is not finite.

    :param former: to write the form of earlier versions, see :func:`former_form_field`.
    """
    if former:
        return _format_former
    encode = _make_encoder(schema)
    return lambda record: msgspec.json.encode(encode(record)).decode()


def _format_former(record: Record) -> str:
    members = {name: _to_json_value(value) for name, value in record.items()}
    return msgspec.json.encode(members).decode()


def require_boolean(value: Any) -> bool:
    """Return a value of decoded JSON, or of a script, that must be a boolean.

    :raises TypeError: for every other value; a number or a text does not stand for a boolean.
    """
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _to_json_value(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return _encode_bytes(bytes(value))
    if isinstance(value, list | tuple):
        return [_to_json_value(each) for each in value]
    if isinstance(value, dict):
        keys = (key if isinstance(key, str) else str(encode_json_record(key)) for key in value)
        return dict(zip(keys, map(_to_json_value, value.values()), strict=True))
    return encode_json_record(value)


def _make_encoder(schema: Schema) -> _Encode:
    """Return the function from a value of the schema to decoded JSON; null stays null."""
    encode = _make_present_encoder(schema.non_nullable)
    return lambda value: None if value is None else encode(value)


def _make_present_encoder(schema: Schema) -> _Encode:
    if schema.type is Type.RECORD:
        members = [(f.name, _make_encoder(f.schema)) for f in schema]
        return lambda value: {name: encode(value.get(name)) for name, encode in members}
    if schema.type is Type.ARRAY and schema.items is not None:
        item = _make_encoder(schema.items)
        return lambda value: list(map(item, value))
    if schema.type is Type.MAP and schema.values is not None:
        item = _make_encoder(schema.values)
        return lambda value: {to_java_string(key): item(each) for key, each in value.items()}
    if schema.type is Type.UNION:
        choices = [(member, _make_encoder(member)) for member in schema.members]
        return lambda value: next(encode(value) for m, encode in choices if matches(value, m))
    if schema.logical_type is LogicalType.DECIMAL:
        scale, wide = schema.scale or 0, decimal.Context(prec=100)
        return lambda value: _encode_unscaled(int(value.scaleb(scale, wide)))
    return _SIMPLE.get(schema.logical_type or schema.type, lambda value: value)


def _encode_bytes(value: bytes) -> list[int]:
    return [byte - 256 if byte > 127 else byte for byte in value]


def _encode_unscaled(number: int) -> list[int]:
    """Return the fewest bytes of two's complement, as ``BigInteger.toByteArray``."""
    length = (number + (number < 0)).bit_length() // 8 + 1
    return _encode_bytes(number.to_bytes(length, signed=True))


def _encode_double(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{_NOT_FINITE}{value}.")
    return value


def _encode_float(value: float) -> float:
    """Return all digits of 32 bits, as Java widens them: 0.10000000149011612 for 0.1."""
    widened: float = struct.unpack("f", struct.pack("f", _encode_double(value)))[0]
    return widened


def _count_microseconds(value: datetime.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000_000 + value.microsecond


STORED: Final[dict[Type | LogicalType | None, _Encode]] = {
    LogicalType.DATE: lambda value: value.toordinal() - _EPOCH.toordinal(),
    LogicalType.TIME_MILLIS: lambda value: _count_microseconds(value) // 1000,
    LogicalType.TIME_MICROS: _count_microseconds,
    LogicalType.TIMESTAMP_MILLIS: lambda value: (value - _EPOCH) // (1000 * _MICROSECOND),
    LogicalType.TIMESTAMP_MICROS: lambda value: (value - _EPOCH) // _MICROSECOND,
    LogicalType.DATETIME: format_local_time,
}
"""From values to what a ``StructuredRecord`` of CDAP stores for them."""
_SIMPLE: Final[dict[Type | LogicalType | None, _Encode]] = {
    Type.BYTES: _encode_bytes,
    Type.FLOAT: _encode_float,
    Type.DOUBLE: _encode_double,
    **STORED,
}
_SAME: Final = (Type.NULL, Type.BOOLEAN, Type.INT, Type.LONG, Type.STRING, Type.ENUM)


# -- by Spark -----------------------------------------------------------------------------------


def to_json_column(context: SparkContext, value: Column, schema: Schema) -> Column | None:
    """Return a value as a column that Spark writes as :func:`make_json_writer`; None if there is none."""
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    match inner.logical_type or inner.type:
        case LogicalType.DATE:
            return F.unix_date(value)
        case LogicalType.TIME_MILLIS:
            return F.time_to_millis(value)
        case LogicalType.TIME_MICROS:
            return F.time_to_micros(value)
        case LogicalType.TIMESTAMP_MILLIS:
            return F.unix_millis(value)
        case LogicalType.TIMESTAMP_MICROS:
            return F.unix_micros(value)
        case LogicalType.DATETIME:
            return F.replace(value.cast("string"), F.lit(" "), F.lit("T"))
        case Type.FLOAT | Type.DOUBLE:
            number = value.cast("double")
            message = F.concat(F.lit(_NOT_FINITE), number.cast("string"), F.lit("."))
            is_infinite = F.isnan(number) | (F.abs(number) == float("inf"))
            return F.when(is_infinite, build_failure(context, message, Schema.DOUBLE)).otherwise(
                number
            )
    return value if _is_same(inner) else None


def _is_same(schema: Schema) -> bool:
    """Return whether Spark writes values of a type as CDAP does."""
    inner = schema.non_nullable
    if inner.type is Type.RECORD:
        return all(_is_same(f.schema) for f in inner)
    if inner.type is Type.MAP and inner.keys is not None and inner.values is not None:
        return inner.keys == Schema.STRING and _is_same(inner.values)
    if inner.type is Type.ARRAY and inner.items is not None:
        return _is_same(inner.items)
    return inner.logical_type is None and inner.type in _SAME
