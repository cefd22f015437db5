"""Methods that every value has."""

from __future__ import annotations

from typing import Any

from localcdap.java import numbers
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.jexl.methods.declaring import MethodsOf
from localcdap.plugin_lib.jexl.operators.comparisons import compare
from localcdap.plugin_lib.jexl.operators.measures import is_empty, size

every = MethodsOf("any")


def _same(value: Any, other: Any) -> bool:
    """Java's ``equals``: of one class only, ``1`` is not ``1.0``."""
    return type(value) is type(other) and bool(value == other)


def _hash_code(value: Any) -> int:
    if isinstance(value, str):
        return _text_hash(value)
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, int):
        return (
            value if numbers.wrap(value, 32) == value else numbers.wrap(value ^ (value >> 32), 32)
        )
    raise ValueError("its hash code differs from Java's")


def _text_hash(text: str) -> int:
    result = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        result = (31 * result + units[at] * 256 + units[at + 1]) & 0xFFFFFFFF
    return numbers.wrap(result, 32)


def compare_to(value: Any, other: Any) -> int:
    """Java's ``compareTo``, which dates and numbers have."""
    if other is None:
        raise ValueError("the other value is null")
    return compare(value, other)


every("-> S", "toString")(to_java_string)
every("O -> B", "equals")(_same)
every("-> I", "hashCode")(_hash_code)
every("-> I", "size")(size)
every("-> B", "empty")(is_empty)
