"""The methods that expressions call on values, and members of maps and lists.

The methods are those of the Java class that the original has the value in, such as ``String.substring``;
:mod:`localcdap.plugin_lib.jexl.value_methods` declares them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from localcdap.plugin_lib.jexl.errors import EvaluationError, fail, type_name
from localcdap.plugin_lib.jexl.functions.registry import Function
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
