"""Values as ``%t`` and ``%T`` of FORMAT, and casts to STRING, print them (``string_functions.md`` of
google/zetasql; values of ``zetasql/public/functions/string_format.cc``).
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import re
from typing import Any, Final

_NAMES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "BOOL"),
    (int, "INT64"),
    (float, "FLOAT64"),
    (decimal.Decimal, "NUMERIC"),
    (str, "STRING"),
    (bytes, "BYTES"),
    (datetime.datetime, "DATETIME"),
    (datetime.date, "DATE"),
    (datetime.time, "TIME"),
    (list, "ARRAY"),
)
"""The types of GoogleSQL by those of Python; the first that fits counts."""
_ESCAPES: Final = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
_CONTROL: Final = re.compile(r"[\\\x00-\x1f]")


class PrintError(ValueError):
    """A value that is not printed."""


def name_type(value: Any) -> str:
    """Return the name of a value's type, for messages."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return "TIMESTAMP"
    return next((name for type, name in _NAMES if isinstance(value, type)), "STRUCT")


def print_value(value: Any) -> str:
    """Return a value as ``%t`` prints it: readable, without quotes."""
    match value:
        case None:
            return "NULL"
        case str():
            return value
        case float() if not math.isfinite(value):
            return print_float(value)
        case bytes():
            return _escape_bytes(value, '"')
        case list() | dict() | tuple():
            return _print_parts(value, print_value, "(")
        case bool() | int() | float() | decimal.Decimal():
            return print_literal(value).removeprefix('NUMERIC "').rstrip('"')
        case _:
            return print_time(value)


def print_literal(value: Any) -> str:
    """Return a value as ``%T`` prints it: as a literal of GoogleSQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            text = print_float(value)
            return text if math.isfinite(value) else f'CAST("{text}" AS FLOAT64)'
        case decimal.Decimal():
            return f'NUMERIC "{print_decimal(value)}"'
        case str():
            return _quote_string(value)
        case bytes():
            return _quote_bytes(value)
        case list() | dict() | tuple():
            return _print_parts(value, print_literal, "STRUCT(")
        case _:
            return f'{name_type(value)} "{print_time(value)}"'


def print_float(value: float) -> str:
    """Return a FLOAT64 with as many digits as its value needs, 15 or 17, and a point or an exponent."""
    if not math.isfinite(value):
        return {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    text = f"{value:.15g}"
    if float(text) != value:
        text = f"{value:.17g}"
    return text if "." in text or "e" in text else f"{text}.0"


def print_decimal(value: decimal.Decimal) -> str:
    """Return a NUMERIC without zeros at its end."""
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def print_time(value: datetime.date | datetime.time | datetime.timedelta) -> str:
    """Return a DATE, TIME, DATETIME or TIMESTAMP (in UTC) with no, three or six digits of its second."""
    if isinstance(value, datetime.timedelta):
        raise PrintError("An INTERVAL is not printed here; print its parts")
    if not isinstance(value, datetime.datetime | datetime.time):
        return value.isoformat()
    fraction = value.microsecond
    timespec = "seconds" if not fraction else "microseconds" if fraction % 1000 else "milliseconds"
    if isinstance(value, datetime.time):
        return value.isoformat(timespec)
    if value.tzinfo is None:
        return value.isoformat(" ", timespec)
    utc = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return f"{utc.isoformat(' ', timespec)}+00"


def print_json(text: str, *, is_multiline: bool = False) -> str:
    """Return a JSON text as GoogleSQL prints it: with sorted keys, in one line or indented by two blanks."""
    value = json.loads(text)
    if is_multiline:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=2)
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _print_parts(value: Any, print_one: Any, opening: str) -> str:
    parts = list(value.values()) if isinstance(value, dict) else list(value)
    joined = ", ".join(map(print_one, parts))
    if isinstance(value, list):
        return f"[{joined}]"
    return f"{opening if len(parts) < 2 else '('}{joined})"


def _quote_string(text: str) -> str:
    quote = "'" if '"' in text and "'" not in text else '"'
    escaped = _CONTROL.sub(lambda found: _ESCAPES.get(found[0], f"\\x{ord(found[0]):02x}"), text)
    return quote + escaped.replace(quote, f"\\{quote}") + quote


def _quote_bytes(data: bytes) -> str:
    quote = "'" if b'"' in data and b"'" not in data else '"'
    return f"b{quote}{_escape_bytes(data, quote)}{quote}"


def _escape_bytes(data: bytes, quote: str) -> str:
    """Return bytes with what is not printable ASCII as a hexadecimal escape."""
    escaped = {ord("\\"): r"\\", ord(quote): f"\\{quote}"}
    return "".join(
        escaped.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}") for byte in data
    )
