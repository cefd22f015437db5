"""JSONPath as Jayway's library reads it, on plain values (dict, list, text, number, bool, None).

``$.store.book[0].title``, ``$['a b']``, ``$..author``, ``$.list[*].set.*``, ``[1:3]``, ``[0,-1]``,
``[?(@.price < 10 && @.isbn)]``, ``.length()``. A path that can select one thing at most gives it; any other
gives a list.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from localcdap.java.json_path_filter import JsonPathError, Test, read_filter
from localcdap.java.json_path_functions import FUNCTIONS, NothingFoundError

_Step = Callable[[Any, Any], Iterator[Any]]
"""What a step selects in a value, beside the value in which the whole path selects."""

_NAME: Final = re.compile(r"\.(\.?)(?:(\*)|([^\s.()\[\]'\"*]+)(\(\s*\))?|(?=\[))")
_TEXTS: Final = re.compile(
    r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*(?:,(?=\s*['\"])|$)", re.DOTALL
)
_SLICE: Final = re.compile(r"\s*(-?\d*)\s*:\s*(-?\d*)\s*")
_INDEXES: Final = re.compile(r"\s*-?\d+\s*(?:,\s*-?\d+\s*)*")


class _Path(msgspec.Struct, frozen=True):
    steps: list[_Step]
    definite: bool
    function: str | None = None

    def all(self, value: Any, root: Any) -> list[Any]:
        found = [value]
        for step in self.steps:
            found = [inner for one in found for inner in step(one, root)]
        return found


class _Read(msgspec.Struct, frozen=True):
    """Steps, whether they select one thing at most, and where their text ends."""

    steps: list[_Step]
    single: bool
    end: int
    function: str | None = None


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
    at, steps, definite, function = 1, list[_Step](), True, None
    while at < len(text):
        if function is not None:
            raise JsonPathError(f"'{path}' is no JSON path: nothing can follow {function}()")
        read = _bracket(text, at, path) if text[at] == "[" else _name(text, at, path)
        steps += read.steps
        definite, at, function = definite and read.single, read.end, read.function
    if function is not None and steps and steps[0] is _containers:
        return _over_all(_Path(steps, definite, function))
    return _Path(steps, definite, function)


def _name(text: str, at: int, path: str) -> _Read:
    found = _NAME.match(text, at)
    if found is None:
        raise JsonPathError(f"'{path}' is no JSON path: not understood from '{text[at:][:20]}'")
    deep, star, name, call = found.groups()
    end = found.end()
    steps: list[_Step] = [_containers] if deep else []
    if deep and text.startswith("[?", end):
        steps.append(_objects)
    if call:
        return _Read(steps, single=not deep, end=end, function=_known_function(name, path))
    if star or name:
        steps.append(_children if star else _field(name))
    return _Read(steps, single=not deep and not star, end=end)


def _over_all(path: _Path) -> _Path:
    """``$..price.sum()`` is one sum, of all prices; ``$..book.length()`` counts the books of all lists."""
    steps = [*path.steps, _children] if path.function in ("length", "size") else path.steps

    def together(value: Any, root: Any) -> Iterator[Any]:
        yield _Path(steps, definite=False).all(value, root)

    return _Path([together], definite=True, function=path.function)


def _known_function(name: str, path: str) -> str:
    if name not in FUNCTIONS:
        raise JsonPathError(f"'{path}' is no JSON path: there is no function {name}()")
    return name


def _bracket(text: str, at: int, path: str) -> _Read:
    end = _closing(text, at)
    if end < 0:
        raise JsonPathError(f"'{path}' is no JSON path: a bracket is not closed")
    inner = text[at + 1 : end].strip()
    if inner == "*":
        return _Read([_children], single=False, end=end + 1)
    if inner[:1] in ("'", '"'):
        names = _names(inner)
        if names is not None:
            is_last = end + 1 == len(text)
            step = _field(names[0]) if len(names) == 1 else _fields(names, together=is_last)
            return _Read([step], single=len(names) == 1 or is_last, end=end + 1)
    if inner.startswith("?"):
        test = read_filter(inner[1:].strip(), path, _operand)
        return _Read([_filtered(test)], single=False, end=end + 1)
    if _INDEXES.fullmatch(inner):
        indexes = [int(part) for part in inner.split(",")]
        return _Read([_elements(indexes)], single=len(indexes) == 1, end=end + 1)
    if found := _SLICE.fullmatch(inner):
        first, last = (int(part) if part else None for part in found.groups())
        return _Read([_sliced(slice(first, last))], single=False, end=end + 1)
    raise JsonPathError(f"'{path}' is no JSON path: '[{inner}]' is not understood")


def _names(inner: str) -> list[str] | None:
    names, at = list[str](), 0
    while at < len(inner):
        found = _TEXTS.match(inner, at)
        if found is None:
            return None
        quoted = found[1] if found[1] is not None else found[2]
        names.append(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        at = found.end()
    return names


def _closing(text: str, at: int) -> int:
    depth, quote = 0, ""
    while at < len(text):
        char = text[at]
        if quote:
            at += char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return -1


def _field(name: str) -> _Step:
    def step(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _fields(names: list[str], *, together: bool) -> _Step:
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


def _elements(indexes: list[int]) -> _Step:
    def step(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, list):
            for index in indexes:
                if -len(value) <= index < len(value):
                    yield value[index]

    return step


def _sliced(part: slice) -> _Step:
    return lambda value, _: iter(value[part] if isinstance(value, list) else ())


def _children(value: Any, _: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _containers(value: Any, _: Any) -> Iterator[Any]:
    """A value and all in it that holds others."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            yield one
            waiting.extend(reversed(list(_children(one, None))))


def _objects(value: Any, _: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value


def _filtered(test: Test) -> _Step:
    def step(value: Any, root: Any) -> Iterator[Any]:
        if isinstance(value, dict | list):
            for one in value if isinstance(value, list) else [value]:
                if test(one, root):
                    yield one

    return step
