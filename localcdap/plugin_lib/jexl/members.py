"""Elements, properties and methods of values, as expressions reach them.

Methods are those of Java's classes that recipes use: of String, the numbers, Boolean, List, Map, dates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from localcdap.plugin_lib.jexl.errors import EvaluationError, fail, type_name
from localcdap.plugin_lib.jexl.functions.registry import Function
from localcdap.plugin_lib.jexl.methods import METHODS, kind_of


def element(value: Any, index: Any) -> Any:
    """``value[index]``: of a map or row by key, of a list by position; null of null."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        found = value.get(index)
        if found is None and index not in value and isinstance(index, str):
            return _any_case(value, index)
        return found
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return _at(value, index)
    return fail(f"A {type_name(value)} has no elements")


def _any_case(value: Mapping[Any, Any], name: str) -> Any:
    """Rows find their columns without regard to case; other maps do not."""
    look_up = getattr(value, "value", None)
    return look_up(name) if look_up is not None else None


def _at(value: Sequence[Any], index: Any) -> Any:
    if isinstance(index, str) and index.isdigit():
        index = int(index)
    if not isinstance(index, int) or isinstance(index, bool):
        fail(f"A list has no element '{index}'")
    if not 0 <= index < len(value):
        fail(f"The list has {len(value)} elements, none at {index} (the first is at 0)")
    return value[index]


def member(value: Any, name: str) -> Any:
    """``value.name``: an entry of a map, an element of a list, or a property such as ``year`` of a date."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return element(value, name)
    if name.isdigit():
        return element(value, name)
    getters = (name, f"get{name[:1].upper()}{name[1:]}", f"is{name[:1].upper()}{name[1:]}")
    for getter in getters:
        if (kind_of(value), getter) in METHODS and METHODS[kind_of(value), getter].forms(1):
            return METHODS[kind_of(value), getter].caller(1)(value)
    return fail(f"A {type_name(value)} has no '{name}'")


def method(value: Any, name: str, *arguments: Any) -> Any:
    """``value.name(arguments)``; of null an error."""
    if value is None:
        fail(f"'{name}' cannot be called on null: a column is null or not there")
    found = METHODS.get((kind_of(value), name)) or METHODS.get(("any", name))
    if found is None:
        _unknown(value, name)
    assert found is not None
    if not found.forms(1 + len(arguments)):
        fail(f"'{name}' of a {type_name(value)} does not take {len(arguments)} arguments")
    return _caller(found, 1 + len(arguments))(value, *arguments)


@functools.lru_cache(maxsize=1024)
def _caller_of(kind: str, name: str, count: int) -> Callable[..., Any]:
    found = METHODS.get((kind, name)) or METHODS["any", name]
    return found.caller(count)


def _caller(found: Function, count: int) -> Callable[..., Any]:
    return _caller_of(found.namespace, found.name, count)


def _unknown(value: Any, name: str) -> None:
    from rapidfuzz import process

    known = [method for kind, method in METHODS if kind in (kind_of(value), "any")]
    near: Final = process.extractOne(name, known, score_cutoff=60)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise EvaluationError(f"A {type_name(value)} has no method '{name}'{hint}")
