"""Reads JSON paths, and selects by them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from localcdap.java.json_path.errors import NothingFoundError, no_path
from localcdap.java.json_path.functions import FUNCTIONS
from localcdap.java.json_path.parts import part_at
from localcdap.java.json_path.steps import Step, children, containers


class _Path(msgspec.Struct, frozen=True):
    steps: list[Step]
    definite: bool
    function: str | None = None

    def all(self, value: Any, root: Any) -> list[Any]:
        found = [value]
        for step in self.steps:
            found = [inner for one in found for inner in step(one, root)]
        return found


def select(value: Any, path: str) -> Any:
    """What the path selects in a value.

    :raises JsonPathError: when the path is none.
    :raises NothingFoundError: when it could select one thing, and that is not there.
    """
    return _selected(path, value, value)


def check_path(path: str) -> None:
    """Read a path.

    :raises JsonPathError: when it is none.
    """
    _compiled(path)


def _selected(path: str, value: Any, root: Any) -> Any:
    compiled = _compiled(path)
    found = compiled.all(value, root)
    if compiled.function is not None:
        run = FUNCTIONS[compiled.function]
        return run(found) if compiled.definite else [run([one]) for one in found]
    if not compiled.definite:
        return found
    if not found:
        raise NothingFoundError(f"nothing is at '{path}'")
    return found[0]


def _operand(path: str) -> Callable[[Any, Any], Any]:
    """A path in a filter, which selects in the tested value or in the whole."""
    _compiled(f"${path[1:]}")

    def read(value: Any, root: Any) -> Any:
        return _selected(f"${path[1:]}", root if path[0] == "$" else value, root)

    return read


@functools.lru_cache(maxsize=512)
def _compiled(path: str) -> _Path:
    text = path.strip()
    if not text.startswith("$"):
        text = "$" + (text if text.startswith("[") else f".{text}")
    at, steps, definite, function = 1, list[Step](), True, None
    while at < len(text):
        if function is not None:
            raise no_path(path, f"nothing can follow {function}()")
        part = part_at(text, at, path, _operand)
        steps += part.steps
        definite, at, function = definite and part.single, part.end, part.function
    if function is not None and steps and steps[0] is containers:
        return _over_all(_Path(steps, definite, function))
    return _Path(steps, definite, function)


def _over_all(path: _Path) -> _Path:
    """``$..price.sum()`` is one sum, of all prices; ``$..book.length()`` counts the books of all lists."""
    steps = [*path.steps, children] if path.function in ("length", "size") else path.steps

    def together(value: Any, root: Any) -> Iterator[Any]:
        yield _Path(steps, definite=False).all(value, root)

    return _Path([together], definite=True, function=path.function)
