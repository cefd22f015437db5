"""Converts values to other types, as Java narrows and parses them (wrangler ``ColumnConverter``).

Bytes hold numbers as HBase writes them: the highest byte first, a decimal's scale in front of its digits.
"""

from __future__ import annotations

import decimal
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from localcdap.java.numbers import (
    INT_MAX,
    INT_MIN,
    NumberFormatError,
    parse_double,
    parse_float,
    parse_int,
    parse_long,
    truncate_to_int,
    wrap,
)
from localcdap.java.strings import format_double, round_to_float, to_java_string

KINDS: Final = {
    "int": "int",
    "integer": "int",
    "i64": "int",
    "short": "short",
    "i32": "short",
    "long": "long",
    "float": "float",
    "double": "double",
    "bool": "bool",
    "boolean": "bool",
    "string": "string",
    "bytes": "bytes",
    "decimal": "decimal",
}
"""The kind of a type by its name in recipes, in lower case."""

ROUNDINGS: Final = {
    "UP": decimal.ROUND_UP,
    "DOWN": decimal.ROUND_DOWN,
    "CEILING": decimal.ROUND_CEILING,
    "FLOOR": decimal.ROUND_FLOOR,
    "HALF_UP": decimal.ROUND_HALF_UP,
    "HALF_DOWN": decimal.ROUND_HALF_DOWN,
    "HALF_EVEN": decimal.ROUND_HALF_EVEN,
}
"""Java's rounding modes except UNNECESSARY, which allows no rounding."""

_DIGITS: Final = 2000


class ConversionError(ValueError):
    """A value cannot be converted to a type; the message is a clause."""


def convert_value(kind: str, value: Any, form: str | None = None) -> Any:
    """Convert a value that is not null to a kind of :data:`KINDS`.

    :param form: how a number is packed into bytes; as few of 4 and 8 bytes as will do where it is not known.
    :raises ConversionError: when it cannot be.
    """
    if kind == "bytes" and form is not None and type(value) in (int, float):
        try:
            return struct.pack(form, value)
        except (struct.error, OverflowError):
            raise ConversionError(f"'{_cut_text(value)}' has too many digits") from None
    convert = _CONVERSIONS[kind].get(type(value))
    if convert is None or (isinstance(value, Decimal) and not value.is_finite()):
        raise ConversionError(f"a {type(value).__name__} cannot be converted")
    try:
        return convert(value)
    except (NumberFormatError, decimal.InvalidOperation):
        raise ConversionError(f"'{_cut_text(value)}' is not a number of that type") from None
    except struct.error:
        raise ConversionError(f"{len(value)} bytes are not as many as the type has") from None


def fit_decimal(value: Decimal, scale: int | None, precision: int | None, rounding: str) -> Decimal:
    """Round a decimal to digits after the point, to digits in all, or both.

    :param rounding: a mode of :data:`ROUNDINGS`, or ``UNNECESSARY``.
    :raises ConversionError: when digits would have to be given up that must not be.
    """
    if scale is None and precision is None:
        return value
    if scale is not None and precision is not None:
        before = 1 if not value else _count_digits(value) - _find_scale(value)
        if precision - scale < before:
            raise ConversionError(
                f"{value} has more than {precision - scale} digits before the point"
            )
    traps: list[type[decimal.DecimalException]] = [decimal.InvalidOperation]
    if rounding == "UNNECESSARY":
        traps.append(decimal.Inexact)
    mode = ROUNDINGS.get(rounding, decimal.ROUND_HALF_EVEN)
    try:
        if scale is not None:
            wide = decimal.Context(prec=_DIGITS, rounding=mode, traps=traps)
            value = value.quantize(Decimal((0, (1,), -scale)), context=wide)
        if precision is not None and _count_digits(value) > precision:
            value = decimal.Context(prec=precision, rounding=mode, traps=traps).plus(value)
    except decimal.Inexact:
        raise ConversionError(f"{value} would have to be rounded") from None
    except decimal.InvalidOperation:
        raise ConversionError(f"{value} has too many digits") from None
    return value


def _count_digits(value: Decimal) -> int:
    return len(value.as_tuple().digits)


def _find_scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


def _cut_text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _parse_short(text: str) -> int:
    value = parse_int(text)
    if not -(2**15) <= value < 2**15:
        raise NumberFormatError(text)
    return value


def _parse_decimal(text: str) -> Decimal:
    value = Decimal(text)
    if not value.is_finite() or "_" in text or text != text.strip():
        raise NumberFormatError(text)
    return value


def _unpack(form: str) -> Callable[[bytes], Any]:
    """Return the function that reads the first bytes; the bytes after them are ignored."""
    size = struct.calcsize(form)
    return lambda value: struct.unpack(form, value[:size])[0]


def _bytes_to_decimal(value: bytes) -> Decimal:
    (scale,) = struct.unpack(">i", value[:4])
    unscaled = int.from_bytes(value[4:], "big", signed=True)
    return Decimal(unscaled).scaleb(-scale, decimal.Context(prec=_DIGITS))


def _decimal_to_bytes(value: Decimal) -> bytes:
    unscaled = int(value.scaleb(_find_scale(value), decimal.Context(prec=_DIGITS)))
    length = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return struct.pack(">i", _find_scale(value)) + unscaled.to_bytes(length, "big", signed=True)


def _whole_to_bytes(value: int) -> bytes:
    return struct.pack(">i" if INT_MIN <= value <= INT_MAX else ">q", value)


def _to_float(value: Any) -> float:
    return round_to_float(float(value))


_CONVERSIONS: Final[dict[str, dict[type, Callable[[Any], Any]]]] = {
    "int": {
        str: parse_int,
        int: lambda value: wrap(value, 32),
        float: lambda value: truncate_to_int(value, 32),
        Decimal: lambda value: wrap(int(value), 32),
        bytes: _unpack(">i"),
    },
    "short": {
        str: _parse_short,
        int: lambda value: wrap(value, 16),
        float: lambda value: wrap(truncate_to_int(value, 32), 16),
        Decimal: lambda value: wrap(int(value), 16),
        bytes: _unpack(">h"),
    },
    "long": {
        str: parse_long,
        int: lambda value: wrap(value, 64),
        float: lambda value: truncate_to_int(value, 64),
        Decimal: lambda value: wrap(int(value), 64),
        bytes: _unpack(">q"),
    },
    "float": {
        str: parse_float,
        int: _to_float,
        float: round_to_float,
        Decimal: _to_float,
        bytes: lambda value: round_to_float(_unpack(">f")(value)),
    },
    "double": {
        str: parse_double,
        int: float,
        float: lambda value: value,
        Decimal: float,
        bytes: _unpack(">d"),
    },
    "bool": {
        bool: lambda value: value,
        str: lambda value: value.lower() == "true",
        int: lambda value: value > 0,
        float: lambda value: value > 0,
        Decimal: lambda value: value > 0,
        bytes: lambda value: struct.unpack(">b", value)[0] != 0,
    },
    "decimal": {
        Decimal: lambda value: value,
        str: _parse_decimal,
        int: Decimal,
        float: lambda value: _parse_decimal(format_double(value)),
        bytes: _bytes_to_decimal,
    },
    "bytes": {
        bytes: lambda value: value,
        str: lambda value: value.encode("utf-8", "replace"),
        int: _whole_to_bytes,
        float: lambda value: struct.pack(">d", value),
        Decimal: _decimal_to_bytes,
    },
}


class _Texts(dict[type, Callable[[Any], Any]]):
    def get(self, key: type, default: Any = None) -> Any:
        return to_java_string


_CONVERSIONS["string"] = _Texts()
