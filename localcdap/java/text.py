"""Java's text of values: what ``String.valueOf`` gives, which concatenation and comparison use."""

from __future__ import annotations

import datetime
import json
import math
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

TRIMMED: Final = "".join(map(chr, range(33)))
"""What ``String.trim`` takes away at both ends: control characters and spaces."""


def double_text(value: float) -> str:
    """``Double.toString``: ``1.0``, ``1.0E10``, ``NaN``; as few digits as tell it from its neighbours."""
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1.0, value) < 0 else "0.0"
    if 1e-3 <= abs(value) < 1e7:
        plain = repr(value)
        return plain if "e" not in plain else format(Decimal(plain), "f")
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    if abs(value) == 5e-324:
        digits, exponent = (4, 9), -325  # Java writes two digits at least, the nearest ones
    power = len(digits) - 1 + exponent
    text = "".join(map(str, digits)).rstrip("0") or "0"
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def nearest_float(value: float) -> float:
    """The 32-bit float nearest to a double, as the double that prints alike (``11.79``, not ``11.78999…``).

    So a Java ``float`` keeps its text and its arithmetic among Python's floats. Infinite when out of range.
    """
    try:
        packed = struct.pack("f", value)
    except OverflowError:
        return math.copysign(math.inf, value)
    if value != value or math.isinf(value):
        return value
    exact = float(struct.unpack("f", packed)[0])
    short = (float(f"{exact:.{digits}g}") for digits in range(6, 10))
    return next((each for each in short if struct.pack("f", each) == packed), exact)


def time_text(value: datetime.time) -> str:
    """``LocalTime.toString``: seconds and fractions only where they are, in groups of three digits."""
    text = f"{value.hour:02}:{value.minute:02}"
    if value.second or value.microsecond:
        text += f":{value.second:02}"
    if value.microsecond:
        text += f".{value.microsecond:06}".removesuffix("000")
    return text


def datetime_text(value: datetime.datetime) -> str:
    """``LocalDateTime.toString``, or ``ZonedDateTime.toString`` of one with a zone."""
    text = f"{value.year:04}-{value.month:02}-{value.day:02}T{time_text(value.time())}"
    if value.tzinfo is None:
        return text
    offset = value.strftime("%z")
    text += "Z" if offset in ("+0000", "") else f"{offset[:3]}:{offset[3:5]}"
    name = str(value.tzinfo)
    return text if name.startswith(("UTC+", "UTC-")) else f"{text}[{name}]"


def json_text(value: Any) -> str:
    """Nested values as compact JSON, the text of Gson's elements: numbers as Java writes them."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        members = [f"{json_text(java_text(key))}:{json_text(each)}" for key, each in value.items()]
        return f"{{{','.join(members)}}}"
    if isinstance(value, list | tuple | set | frozenset | range):
        return f"[{','.join(map(json_text, value))}]"
    if isinstance(value, Decimal):
        return java_text(float(value) if value % 1 else int(value))
    if value is None or isinstance(value, int | float):
        return java_text(value)
    return json.dumps(java_text(value), ensure_ascii=False)


_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    str: lambda value: value,
    int: int.__repr__,
    float: double_text,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
    Decimal: str,
    datetime.date: datetime.date.isoformat,
    datetime.time: time_text,
    datetime.datetime: datetime_text,
    bytes: lambda value: value.decode("utf-8", "replace"),
}


def java_text(value: Any) -> str:
    """``String.valueOf``; lists and maps as JSON (they come from JSON), bytes as the text they hold."""
    writer = _WRITERS.get(value.__class__)
    return writer(value) if writer is not None else json_text(value)
