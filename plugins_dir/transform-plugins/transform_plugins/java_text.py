"""Values as the texts that Java's ``String.valueOf`` makes of them."""

from __future__ import annotations

import math
from typing import Any

import msgspec


def java_text(value: Any) -> str:
    """The text of a value; ``null`` for None.

    Dates and times are ISO texts, bytes are read as UTF-8, and arrays, maps and records are JSON,
    where Java has no text that anybody could read.
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, (list, dict)):
        return msgspec.json.encode(value).decode()
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return str(value)


def _float_text(value: float) -> str:
    """Java's shortest form: plain from 0.001 up to 10 million, with an exponent outside."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        return text if "e" not in text else f"{value:f}".rstrip("0")
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        shortest = len(digits.lstrip("-").replace(".", "").strip("0"))
        digits, _, exponent = f"{value:.{max(shortest - 1, 1)}e}".partition("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
