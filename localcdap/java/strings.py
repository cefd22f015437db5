"""Values as Java converts them to text: ``String.valueOf``, which concatenation and comparison use."""

from __future__ import annotations

import datetime
import json
import math
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from localcdap.java.floating_decimal import (
    DOUBLE,
    FLOAT,
    NumberFormat,
    find_digits,
    has_shortest_digits,
)

TRIM_CHARACTERS: Final = "".join(map(chr, range(33)))
"""The characters that ``String.trim`` removes at both ends: control characters and the space."""


class LiteralFloat(float):
    """A double that keeps its literal in JSON, such as ``1.10`` (Gson ``LazilyParsedNumber``).

    :func:`to_java_string` gives the literal; ``float`` of it gives the plain number.
    """

    __slots__ = ("literal",)
    literal: str

    def __new__(cls, literal: str) -> LiteralFloat:
        number = super().__new__(cls, literal)
        number.literal = literal
        return number

    def __reduce__(self) -> tuple[type[LiteralFloat], tuple[str]]:
        return LiteralFloat, (self.literal,)


def format_double(value: float) -> str:
    """Format a double as ``Double.toString``: ``1.0``, ``1.0E10``, ``NaN``."""
    return _format_number(value, DOUBLE)


def format_float(value: float) -> str:
    """Format a 32-bit float as ``Float.toString``: ``0.1``, and ``1.23456792E8`` for ``123456789``."""
    return _format_number(round_to_float(value), FLOAT)


def _format_number(value: float, kind: NumberFormat) -> str:
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1.0, value) < 0 else "0.0"
    size = abs(value)
    if 1e-3 <= size < 1e7:
        plain = repr(value)
        return plain if "e" not in plain else format(Decimal(plain), "f")
    digits, exponent = find_digits(size, kind)
    power = len(digits) - 1 + exponent
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:].rstrip('0') or '0'}E{power}"


def narrow_to_float(value: float) -> float:
    """Return the nearest 32-bit float, infinite when out of range."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def round_to_float(value: float) -> float:
    """Return the nearest 32-bit float, as the double with the same text: ``11.79``, not ``11.78999…``.

    So a Java ``float`` keeps its text and its arithmetic as a Python float. Infinite when out of range.
    """
    exact = narrow_to_float(value)
    if not math.isfinite(exact) or exact == 0:
        return exact
    if not has_shortest_digits(abs(exact), FLOAT):
        digits, exponent = find_digits(abs(exact), FLOAT)
        return math.copysign(float(f"{digits}e{exponent}"), exact)
    short = (float(f"{exact:.{digits}g}") for digits in range(6, 10))
    return next((each for each in short if narrow_to_float(each) == exact), exact)


def format_time(value: datetime.time) -> str:
    """Format a time as ``LocalTime.toString``: without zero seconds, and fractions of three or six digits."""
    text = f"{value.hour:02}:{value.minute:02}"
    if value.second or value.microsecond:
        text += f":{value.second:02}"
    if value.microsecond:
        text += f".{value.microsecond:06}".removesuffix("000")
    return text


def format_datetime(value: datetime.datetime) -> str:
    """Format as ``LocalDateTime.toString``, or as ``ZonedDateTime.toString`` when there is a zone."""
    text = f"{value.year:04}-{value.month:02}-{value.day:02}T{format_time(value.time())}"
    if value.tzinfo is None:
        return text
    offset = value.strftime("%z")
    text += "Z" if offset in ("+0000", "") else f"{offset[:3]}:{offset[3:5]}"
    name = str(value.tzinfo)
    return text if name.startswith(("UTC+", "UTC-")) else f"{text}[{name}]"


def format_json(value: Any) -> str:
    """Format nested values as compact JSON, as the elements of Gson do: numbers as Java formats them."""
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    if isinstance(value, Mapping):
        members = [
            f"{format_json(to_java_string(key))}:{format_json(each)}" for key, each in value.items()
        ]
        return f"{{{','.join(members)}}}"
    if isinstance(value, list | tuple | set | frozenset | range):
        return f"[{','.join(map(format_json, value))}]"
    if isinstance(value, Decimal):
        return to_java_string(float(value) if value % 1 else int(value))
    if value is None or isinstance(value, int | float):
        return to_java_string(value)
    return json.dumps(to_java_string(value), ensure_ascii=False)


_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    str: lambda value: value,
    int: int.__repr__,
    float: format_double,
    LiteralFloat: lambda value: value.literal,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
    Decimal: str,
    datetime.date: datetime.date.isoformat,
    datetime.time: format_time,
    datetime.datetime: format_datetime,
    bytes: lambda value: value.decode("utf-8", "replace"),
}


def to_java_string(value: Any) -> str:
    """Convert as ``String.valueOf``; lists and maps become JSON, bytes the UTF-8 text that they hold."""
    writer = _WRITERS.get(value.__class__)
    return writer(value) if writer is not None else format_json(value)
