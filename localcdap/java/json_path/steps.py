"""The steps of JSON paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Step = Callable[[Any, Any], Iterator[Any]]
"""What a step selects in a value, beside the value in which the whole path selects."""
Test = Callable[[Any, Any], bool]
"""Of a value, and of the value in which the whole path selects."""


def field(name: str) -> Step:
    def step(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def fields(names: list[str], *, together: bool) -> Step:
    """Several fields: an object of them at the end of a path, each for itself before."""

    def step(value: Any, _: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        found = {name: value[name] for name in names if name in value}
        if together:
            yield found
        else:
            yield from found.values()

    return step


def elements(indexes: list[int]) -> Step:
    def step(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, list):
            for index in indexes:
                if -len(value) <= index < len(value):
                    yield value[index]

    return step


def sliced(part: slice) -> Step:
    return lambda value, _: iter(value[part] if isinstance(value, list) else ())


def children(value: Any, _: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def containers(value: Any, _: Any) -> Iterator[Any]:
    """A value and all in it that holds others."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            yield one
            waiting.extend(reversed(list(children(one, None))))


def objects(value: Any, _: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value


def filtered(test: Test) -> Step:
    def step(value: Any, root: Any) -> Iterator[Any]:
        if isinstance(value, dict | list):
            for one in value if isinstance(value, list) else [value]:
                if test(one, root):
                    yield one

    return step
