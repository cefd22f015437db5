"""How much there is of a value: its length, whether it is empty."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any


def is_empty(value: Any) -> bool:
    """``empty x``: null, zero, NaN, and what has no characters or elements."""
    if value is None:
        return True
    if value is True or value is False:
        return False
    if isinstance(value, int | float | Decimal):
        return value != value or value == 0
    return isinstance(value, Collection) and len(value) == 0


def size(value: Any) -> int:
    """``size(x)``: characters (UTF-16 units) or elements; 0 of null and of what has no size."""
    if value.__class__ is str:
        return text_length(value)
    return len(value) if isinstance(value, Collection) else 0


def text_length(text: str) -> int:
    """Java's length: a character beyond the basic plane counts twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
