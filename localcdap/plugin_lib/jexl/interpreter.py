"""The functions that compiled expressions call for loops, ranges, chains and collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from localcdap.plugin_lib.jexl.errors import EvaluationError, fail, fail_on_null_operand, type_name
from localcdap.plugin_lib.jexl.methods import get_member
from localcdap.plugin_lib.jexl.operators import to_boolean, to_long

RANGE_LIMIT: Final = 1_000_000
"""The most elements of a range (``1..9``)."""
STEP_LIMIT: Final = 1_000_000
"""The most iterations of all loops of one evaluation."""


def is_true(value: Any) -> bool:
    """Return the bool of a condition of ``? :``, where null is false."""
    return value is not None and to_boolean(value)


def fold(operators: Sequence[Callable[[Any, Any], Any]], operands: Sequence[Any]) -> Any:
    """Apply a chain of operators from the left."""
    value = operands[0]
    for operate, operand in zip(operators, operands[1:], strict=True):
        value = operate(value, operand)
    return value


def call_quietly(function: Callable[[Any], Any], value: Callable[[], Any], otherwise: Any) -> Any:
    """Return a value of ``empty`` or ``size`` for an operand that is an error."""
    try:
        return function(value())
    except EvaluationError:
        return otherwise


def read_path(first: Any, names: Sequence[str], dotted: Sequence[Any]) -> Any:
    """Return ``a.b.c``: members of ``a`` or, if there is no ``a``, the column of the name ``a.b.c``."""
    value = first
    for name, other in zip(names, dotted, strict=True):
        value = other if value is None else get_member(value, name)
    return value


def make_map(items: Sequence[Any]) -> dict[Any, Any]:
    """Return a map of alternating keys and values."""
    try:
        return dict(zip(items[::2], items[1::2], strict=True))
    except TypeError:
        fail("A list or a map cannot be the key of a map")


def make_set(items: Iterable[Any]) -> list[Any]:
    """Return the values, each once."""
    unique: list[Any] = []
    for item in items:
        if item not in unique:
            unique.append(item)
    return unique


def make_range(left: Any, right: Any) -> range:
    """Return the numbers of ``1..9``, from the smaller to the larger."""
    if left is None or right is None:
        fail_on_null_operand("..")
    first, last = to_long(left), to_long(right)
    low, high = min(first, last), max(first, last)
    if high - low >= RANGE_LIMIT:
        fail(f"The range {first}..{last} has more than {RANGE_LIMIT} elements")
    return range(low, high + 1)


def walk(value: Any) -> Iterable[Any]:
    """Return what a loop iterates over: the elements of a list, the values of a map, nothing for null."""
    if value is None:
        return ()
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | range):
        return list(value) if isinstance(value, list) else value
    return fail(f"A loop cannot go through a {type_name(value)}")


class Steps:
    """A counter of loop iterations, which ends endless loops."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = STEP_LIMIT

    def count(self) -> None:
        self._left -= 1
        if self._left < 0:
            fail(f"A loop did not end after {STEP_LIMIT} rounds")


def translate_error(error: Exception) -> NoReturn:
    """Turn any other error of an expression into an error of its row."""
    raise EvaluationError(str(error) or type(error).__name__) from error
