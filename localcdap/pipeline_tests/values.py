"""Values of test files; each function gives the value, or a ValueError that says what is expected."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def argument(value: Any) -> str:
    """Arguments are texts; numbers and booleans are written as JSON has them."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise ValueError("text")


def texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("an array of texts")
    return value


def fields(value: Any) -> list[str]:
    try:
        return texts(value)
    except ValueError:
        raise ValueError('an array of names, or "named"') from None


def table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a table")
    return value


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a number of records")
    return value


def positive(value: Any) -> int:
    if count(value) == 0:
        raise ValueError("a number of records above 0")
    return int(value)


def _number(value: Any, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(expected)
    return float(value)


def tolerance(value: Any) -> float:
    if _number(value, "a number that is not negative") < 0:
        raise ValueError("a number that is not negative")
    return float(value)


def seconds(value: Any) -> float:
    if _number(value, "a number of seconds above 0") <= 0:
        raise ValueError("a number of seconds above 0")
    return float(value)


def when(value: Any) -> str:
    if value not in ("validation", "run"):
        raise ValueError('"validation" or "run"')
    return str(value)


def moment(value: Any) -> int:
    """Milliseconds since 1970; without a zone it is UTC."""
    try:
        moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, datetime.datetime):
        raise ValueError("a time such as 2026-01-02T03:04:05Z")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return int(moment.timestamp() * 1000)


def format_value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"
