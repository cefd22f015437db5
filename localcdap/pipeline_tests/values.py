"""Checks of the values of test files.

Each function returns the value, or raises a ValueError whose message is the expected kind of value.
"""

from __future__ import annotations

import datetime
import json
import math
from typing import Any


def read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def read_argument(value: Any) -> str:
    """Return a runtime argument, which is text; numbers and booleans are formatted as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise ValueError("text")


def read_texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("an array of texts")
    return value


def read_fields(value: Any) -> list[str]:
    try:
        return read_texts(value)
    except ValueError:
        raise ValueError('an array of names, or "named"') from None


def read_table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a table")
    return value


def read_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def read_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a number of records")
    return value


def read_positive(value: Any) -> int:
    if read_count(value) == 0:
        raise ValueError("a number of records above 0")
    return int(value)


def _read_number(value: Any, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(expected)
    return float(value)


def read_tolerance(value: Any) -> float:
    if _read_number(value, "a number that is not negative") < 0:
        raise ValueError("a number that is not negative")
    return float(value)


def read_seconds(value: Any) -> float:
    if _read_number(value, "a number of seconds above 0") <= 0:
        raise ValueError("a number of seconds above 0")
    return float(value)


def read_when(value: Any) -> str:
    if value not in ("validation", "run"):
        raise ValueError('"validation" or "run"')
    return str(value)


def read_time(value: Any) -> int:
    """Return a time in milliseconds since 1970; a time without a zone is UTC."""
    try:
        moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, datetime.datetime):
        raise ValueError("a time such as 2026-01-02T03:04:05Z")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return int(moment.timestamp() * 1000)
