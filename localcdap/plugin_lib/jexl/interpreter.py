"""The functions that compiled expressions call: loops, ranges, chains, collections, and methods of values.

The methods are those of the Java class that the original has the value in, such as ``String.substring``;
:mod:`localcdap.plugin_lib.jexl.value_methods` declares them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from localcdap.plugin_lib.jexl.errors import EvaluationError, fail, fail_on_null_operand, type_name
from localcdap.plugin_lib.jexl.functions.registry import Function
from localcdap.plugin_lib.jexl.operators import to_boolean, to_long
from localcdap.plugin_lib.jexl.value_methods import METHODS, get_kind


def get_element(value: Any, index: Any) -> Any:
    """Return ``value[index]``: the entry of a map or row by key, the element of a list by position; null
    for null.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        found = value.get(index)
        if found is None and index not in value and isinstance(index, str):
            return _find_ignoring_case(value, index)
        return found
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return _get_at(value, index)
    return fail(f"A {type_name(value)} has no elements")


def _find_ignoring_case(value: Mapping[Any, Any], name: str) -> Any:
    """Return the entry of a key. Rows find their columns without regard to case; other maps do not."""
    look_up = getattr(value, "value", None)
    return look_up(name) if look_up is not None else None


def _get_at(value: Sequence[Any], index: Any) -> Any:
    if isinstance(index, str) and index.isdigit():
        index = int(index)
    if not isinstance(index, int) or isinstance(index, bool):
        fail(f"A list has no element '{index}'")
    if not 0 <= index < len(value):
        fail(f"The list has {len(value)} elements, none at {index} (the first is at 0)")
    return value[index]


def get_member(value: Any, name: str) -> Any:
    """Return ``value.name``: an entry of a map, an element of a list, or a property such as ``year`` of a
    date.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        return get_element(value, name)
    if name.isdigit():
        return get_element(value, name)
    getters = (name, f"get{name[:1].upper()}{name[1:]}", f"is{name[:1].upper()}{name[1:]}")
    for getter in getters:
        if (get_kind(value), getter) in METHODS and METHODS[get_kind(value), getter].find_overloads(
            1
        ):
            return METHODS[get_kind(value), getter].build_caller(1)(value)
    return fail(f"A {type_name(value)} has no '{name}'")


def call_method(value: Any, name: str, *arguments: Any) -> Any:
    """Return ``value.name(arguments)``; null has no methods."""
    if value is None:
        fail(f"'{name}' cannot be called on null: a column is null or not there")
    found = METHODS.get((get_kind(value), name)) or METHODS.get(("any", name))
    if found is None:
        _fail_unknown_method(value, name)
    assert found is not None
    if not found.find_overloads(1 + len(arguments)):
        fail(f"'{name}' of a {type_name(value)} does not take {len(arguments)} arguments")
    return _build_caller(found, 1 + len(arguments))(value, *arguments)


@functools.lru_cache(maxsize=1024)
def _find_caller(kind: str, name: str, count: int) -> Callable[..., Any]:
    found = METHODS.get((kind, name)) or METHODS["any", name]
    return found.build_caller(count)


def _build_caller(found: Function, count: int) -> Callable[..., Any]:
    return _find_caller(found.namespace, found.name, count)


def _fail_unknown_method(value: Any, name: str) -> None:
    from rapidfuzz import process

    known = [method for kind, method in METHODS if kind in (get_kind(value), "any")]
    near: Final = process.extractOne(name, known, score_cutoff=60)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise EvaluationError(f"A {type_name(value)} has no method '{name}'{hint}")


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
