"""``arrays:``: functions of ``java.util.Arrays``."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.java import numbers
from localcdap.java.hash_codes import hash_code
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


@arrays("A -> A", "sort", "parallelSort")
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


@arrays("A I I O -> I", "binarySearch")
def search_range(values: Any, start: int, end: int, wanted: Any) -> int:
    import bisect

    _check_range(values, start, end)
    at = bisect.bisect_left(values, wanted, start, end)
    return at if at < end and values[at] == wanted else -at - 1


@arrays("A I I -> A", "sort", "parallelSort")
def sort_range(values: Any, start: int, end: int) -> list[Any]:
    """Sort a part of the list in place, as Java does, and return the list."""
    _check_range(values, start, end)
    changed = _require_list(values)
    changed[start:end] = sorted(changed[start:end])
    return changed


@arrays("A O -> A")
def fill(values: Any, value: Any) -> list[Any]:
    """Set all elements of the list in place, as Java does, and return it."""
    return fill_range(values, 0, len(values), value)


@arrays("A I I O -> A", "fill")
def fill_range(values: Any, start: int, end: int, value: Any) -> list[Any]:
    _check_range(values, start, end)
    changed = _require_list(values)
    changed[start:end] = [value] * (end - start)
    return changed


@arrays("A -> I", "hashCode", "deepHashCode")
def hashCode(values: Any) -> int:
    """Return the hash code that ``Arrays.hashCode`` gives for texts, numbers, booleans and lists of them."""
    result = 0 if values is None else 1
    for value in values or ():
        code = hashCode(value) if isinstance(value, list | tuple) else _hash_element(value)
        result = (31 * result + code) & 0xFFFFFFFF
    return numbers.wrap(result, 32)


def _hash_element(value: Any) -> int:
    return 0 if value is None else hash_code(value)


def _check_range(values: Any, start: int, end: int) -> None:
    if not 0 <= start <= end <= len(values):
        raise ValueError(f"a list of {len(values)} elements has no range from {start} to {end}")


def _require_list(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    raise ValueError("only a list can be changed")
