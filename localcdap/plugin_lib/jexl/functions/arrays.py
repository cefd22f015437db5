"""``arrays:``: functions of ``java.util.Arrays``."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

arrays = FunctionNamespace("arrays")


@arrays("O* -> A!")
def asList(*values: Any) -> list[Any]:
    return list(values[0]) if len(values) == 1 and isinstance(values[0], list) else list(values)


@arrays("A -> S!", "toString", "deepToString")
def toString(values: Any) -> str:
    return "null" if values is None else f"[{', '.join(map(to_java_string, values))}]"


@arrays("A A -> B", "equals", "deepEquals")
def equals(first: Any, second: Any) -> bool:
    return bool(first == second)


@arrays("A -> A")
def sort(values: Any) -> list[Any]:
    """Sort the list in place, as Java does, and return it."""
    if not isinstance(values, list):
        raise ValueError("only a list can be sorted")
    values.sort()
    return values


@arrays("A I -> A!")
def copyOf(values: Any, length: int) -> list[Any]:
    return copyOfRange(values, 0, length)


@arrays("A I I -> A!")
def copyOfRange(values: Any, start: int, end: int) -> list[Any]:
    given = list(values or ())
    if not 0 <= start <= len(given) or not start <= end <= start + 1_000_000:
        raise ValueError(f"there is no range from {start} to {end}")
    part = given[start:end]
    return part + [None] * (end - start - len(part))


@arrays("A O -> I")
def binarySearch(values: Any, wanted: Any) -> int:
    import bisect

    at = bisect.bisect_left(values, wanted)
    return at if at < len(values) and values[at] == wanted else -at - 1
