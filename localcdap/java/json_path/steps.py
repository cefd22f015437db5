"""The steps of a JSON path, the functions at its end, and its errors."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any, Final

from localcdap.java.numbers import is_number

Step = Callable[[Any, Any], Iterator[Any]]
"""Selects values in a value. The second argument is the document: the value that the path starts from."""
Predicate = Callable[[Any, Any], bool]
"""The condition of a filter on a value; the second argument is the document."""


class JsonPathError(ValueError):
    """A text is not a valid JSON path; the message says where."""


class NothingFoundError(ValueError):
    """A definite path selects nothing in a document."""


def build_error(path: str, reason: str) -> JsonPathError:
    """Return the error to raise for an invalid path."""
    return JsonPathError(f"'{path}' is not a JSON path: {reason}")


def build_field_step(name: str) -> Step:
    """Return the step into a member of an object."""

    def select_field(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return select_field


def build_fields_step(names: list[str], *, as_object: bool) -> Step:
    """Return the step into several members of an object.

    :param as_object: whether to select one object of these members, as at the end of a path, or each of their
        values, as before its end.
    """

    def select_fields(value: Any, _: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        found = {name: value[name] for name in names if name in value}
        if as_object:
            yield found
        else:
            yield from found.values()

    return select_fields


def build_index_step(indexes: list[int]) -> Step:
    """Return the step into elements of a list; a negative index counts from the end."""

    def select_elements(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, list):
            for index in indexes:
                if -len(value) <= index < len(value):
                    yield value[index]

    return select_elements


def build_slice_step(part: slice) -> Step:
    """Return the step into a part of a list."""
    return lambda value, _: iter(value[part] if isinstance(value, list) else ())


def build_filter_step(predicate: Predicate) -> Step:
    """Return the step to the elements of a list, or to an object itself, for which a filter is true."""

    def select_matches(value: Any, document: Any) -> Iterator[Any]:
        if isinstance(value, dict | list):
            for each in value if isinstance(value, list) else [value]:
                if predicate(each, document):
                    yield each

    return select_matches


def select_children(value: Any, _: Any) -> Iterator[Any]:
    """Select all members of an object or elements of a list: the step ``*``."""
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def select_containers(value: Any, _: Any) -> Iterator[Any]:
    """Select a value and all values in it that are objects or lists, outer ones first: the step ``..``."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            yield each
            waiting.extend(reversed(list(select_children(each, None))))


def select_object(value: Any, _: Any) -> Iterator[Any]:
    """Select a value if it is an object."""
    if isinstance(value, dict):
        yield value


def _list_numbers(value: Any) -> list[float]:
    numbers = [
        float(each) for each in (value if isinstance(value, list) else ()) if is_number(each)
    ]
    if not numbers:
        raise NothingFoundError("the function of a JSON path has no numbers")
    return numbers


def _count_children(value: Any) -> int | None:
    return len(value) if isinstance(value, dict | list) else None


def _list_keys(value: Any) -> list[str] | None:
    return list(value) if isinstance(value, dict) else None


def _build_element_function(index: int) -> Callable[[Any], Any]:
    return lambda value: value[index] if isinstance(value, list) and value else None


FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "length": _count_children,
    "size": _count_children,
    "min": lambda value: min(_list_numbers(value)),
    "max": lambda value: max(_list_numbers(value)),
    "sum": lambda value: sum(_list_numbers(value)),
    "avg": lambda value: statistics.fmean(_list_numbers(value)),
    "stddev": lambda value: statistics.pstdev(_list_numbers(value)),
    "keys": _list_keys,
    "first": _build_element_function(0),
    "last": _build_element_function(-1),
}
"""The functions that may end a path, by name."""
