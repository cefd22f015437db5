"""Hash codes of values as Java computes them."""

from __future__ import annotations

from typing import Any

from localcdap.java import numbers


def hash_code(value: Any) -> int:
    """Return Java's ``hashCode`` of a text, a whole number or a boolean.

    :raises ValueError: for another value.
    """
    if isinstance(value, str):
        return _hash_text(value)
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, int):
        return (
            value if numbers.wrap(value, 32) == value else numbers.wrap(value ^ (value >> 32), 32)
        )
    raise ValueError("its hash code differs from Java's")


def _hash_text(text: str) -> int:
    result = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        result = (31 * result + units[at] * 256 + units[at + 1]) & 0xFFFFFFFF
    return numbers.wrap(result, 32)
