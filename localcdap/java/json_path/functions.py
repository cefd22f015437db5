"""The functions at the end of a JSON path, as Jayway's library has them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, Final

from localcdap.java.json_path.errors import NothingFoundError


def _numbers(value: Any) -> list[float]:
    numbers = [
        float(one)
        for one in (value if isinstance(value, list) else ())
        if isinstance(one, int | float) and not isinstance(one, bool)
    ]
    if not numbers:
        raise NothingFoundError("the function of a JSON path has no numbers")
    return numbers


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, dict | list) else None


def _keys(value: Any) -> list[str] | None:
    return list(value) if isinstance(value, dict) else None


def _at(index: int) -> Callable[[Any], Any]:
    return lambda value: value[index] if isinstance(value, list) and value else None


def _of_one(run: Callable[[Any], Any]) -> Callable[[list[Any]], Any]:
    """A function of what a path found, which is one thing or none."""
    return lambda found: run(found[0]) if found else None


FUNCTIONS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    name: _of_one(run)
    for name, run in {
        "length": _length,
        "size": _length,
        "min": lambda value: min(_numbers(value)),
        "max": lambda value: max(_numbers(value)),
        "sum": lambda value: sum(_numbers(value)),
        "avg": lambda value: statistics.fmean(_numbers(value)),
        "stddev": lambda value: statistics.pstdev(_numbers(value)),
        "keys": _keys,
        "first": _at(0),
        "last": _at(-1),
    }.items()
}
