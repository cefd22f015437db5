"""Parses JSON paths, and selects values by them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from localcdap.java.json_path.filters import (
    FUNCTIONS,
    NothingFoundError,
    Operand,
    Step,
    build_error,
    build_field_step,
    build_fields_step,
    build_filter_step,
    build_index_step,
    build_slice_step,
    parse_filter,
    select_children,
    select_containers,
    select_object,
)

_NAME: Final = re.compile(r"\.(\.?)(?:(\*)|([^\s.()\[\]'\"*]+)(\(\s*\))?|(?=\[))")
_QUOTED_NAME: Final = re.compile(
    r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*(?:,(?=\s*['\"])|$)", re.DOTALL
)
_SLICE: Final = re.compile(r"\s*(-?\d*)\s*:\s*(-?\d*)\s*")
_INDEXES: Final = re.compile(r"\s*-?\d+\s*(?:,\s*-?\d+\s*)*")


class JsonPath:
    """A parsed path: see :func:`parse_path`, which makes it. It can be pickled."""

    def __init__(
        self, text: str, steps: list[Step], *, is_definite: bool, function: str | None = None
    ) -> None:
        self.text: Final = text
        self.is_definite: Final = is_definite
        """Whether the path selects at most one value, which :meth:`read` then gives by itself."""
        self._steps: Final = steps
        self._function: Final = function

    def __reduce__(self) -> tuple[Any, ...]:
        return parse_path, (self.text,)

    def read(self, document: Any) -> Any:
        """Return the value at a definite path, or the list of all values that any other path selects.

        :param document: decoded JSON.
        :raises NothingFoundError: when a definite path selects nothing.
        """
        return self.read_from(document, document)

    def read_from(self, start: Any, document: Any) -> Any:
        """Return what :meth:`read` returns, starting at a value inside the document.

        :param start: the value that the path starts from; ``@`` in a filter.
        """
        found = self._select(start, document)
        if self._function is not None:
            run = FUNCTIONS[self._function]
            if not self.is_definite:
                return [run(each) for each in found]
            return run(found[0]) if found else None
        if not self.is_definite:
            return found
        if not found:
            raise NothingFoundError(f"nothing is at '{self.text}'")
        return found[0]

    def _select(self, start: Any, document: Any) -> list[Any]:
        found = [start]
        for step in self._steps:
            found = [inner for each in found for inner in step(each, document)]
        return found


def select(document: Any, path: str) -> Any:
    """Parse a path and return what :meth:`JsonPath.read` returns.

    :raises JsonPathError: when the path is invalid.
    :raises NothingFoundError: when a definite path selects nothing.
    """
    return parse_path(path).read(document)


@functools.lru_cache(maxsize=512)
def parse_path(path: str) -> JsonPath:
    """Parse a path. Parsed paths are cached.

    :raises JsonPathError: when the path is invalid; the message says where.
    """
    text = path.strip()
    if not text:
        raise build_error(path, "it is empty")
    if not text.startswith("$"):
        text = "$" + (text if text.startswith("[") else f".{text}")
    at, steps, is_definite, function = 1, list[Step](), True, None
    while at < len(text):
        if function is not None:
            raise build_error(path, f"nothing can follow {function}()")
        part = _parse_part(text, at, path)
        steps += part.steps
        is_definite, at, function = is_definite and part.is_definite, part.end, part.function
    if function is not None and steps and steps[0] is select_containers:
        return _build_overall_function(path, steps, function)
    return JsonPath(path, steps, is_definite=is_definite, function=function)


def _build_overall_function(path: str, steps: list[Step], function: str) -> JsonPath:
    """Return a path whose function sees all values at once.

    ``$..price.sum()`` is one sum, of all prices; ``$..book.length()`` counts the books of all lists.
    """
    if function in ("length", "size"):
        steps = [*steps, select_children]
    inner = JsonPath(path, steps, is_definite=False)

    def select_list(value: Any, document: Any) -> Iterator[Any]:
        yield inner.read_from(value, document)

    return JsonPath(path, [select_list], is_definite=True, function=function)


class _Part(msgspec.Struct, frozen=True):
    """One part of a path: a name, a bracket or a function."""

    steps: list[Step]
    is_definite: bool
    end: int
    """The offset in the path's text where the part ends."""
    function: str | None = None


def _parse_part(text: str, at: int, path: str) -> _Part:
    """Parse the part of a path's text that begins at an offset.

    :param path: the path as it was given, for errors.
    """
    return _parse_bracket(text, at, path) if text[at] == "[" else _parse_name(text, at, path)


def _parse_name(text: str, at: int, path: str) -> _Part:
    found = _NAME.match(text, at)
    if found is None:
        raise build_error(path, f"not understood from '{text[at:][:20]}'")
    deep, star, name, call = found.groups()
    end = found.end()
    steps: list[Step] = [select_containers] if deep else []
    if deep and text.startswith("[?", end):
        steps.append(select_object)
    if call:
        if name not in FUNCTIONS:
            raise build_error(path, f"there is no function {name}()")
        return _Part(steps, is_definite=not deep, end=end, function=name)
    if star or name:
        steps.append(select_children if star else build_field_step(name))
    return _Part(steps, is_definite=not deep and not star, end=end)


def _parse_bracket(text: str, at: int, path: str) -> _Part:
    closing = _find_closing_bracket(text, at)
    if closing < 0:
        raise build_error(path, "a bracket is not closed")
    inner, end = text[at + 1 : closing].strip(), closing + 1
    if inner == "*":
        return _Part([select_children], is_definite=False, end=end)
    if inner[:1] in ("'", '"') and (names := _parse_names(inner)) is not None:
        if len(names) == 1:
            return _Part([build_field_step(names[0])], is_definite=True, end=end)
        is_last = end == len(text)
        return _Part([build_fields_step(names, as_object=is_last)], is_definite=is_last, end=end)
    if inner.startswith("?"):
        predicate = parse_filter(inner[1:].strip(), path, _parse_operand)
        return _Part([build_filter_step(predicate)], is_definite=False, end=end)
    if _INDEXES.fullmatch(inner):
        indexes = [int(part) for part in inner.split(",")]
        return _Part([build_index_step(indexes)], is_definite=len(indexes) == 1, end=end)
    if found := _SLICE.fullmatch(inner):
        first, last = (int(part) if part else None for part in found.groups())
        return _Part([build_slice_step(slice(first, last))], is_definite=False, end=end)
    raise build_error(path, f"'[{inner}]' is not understood")


def _parse_names(inner: str) -> list[str] | None:
    """Parse ``'a', 'b'``; None when it is not a list of quoted names."""
    names, at = list[str](), 0
    while at < len(inner):
        found = _QUOTED_NAME.match(inner, at)
        if found is None:
            return None
        quoted = found[1] if found[1] is not None else found[2]
        names.append(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        at = found.end()
    return names


def _find_closing_bracket(text: str, at: int) -> int:
    """Return the offset of the bracket that closes the one at an offset; -1 when there is none."""
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


def _parse_operand(text: str) -> Operand:
    """Parse a path in a filter, which starts at the tested value (``@``) or at the document (``$``)."""
    path = parse_path(f"${text[1:]}")
    if text[0] == "$":
        return lambda _, document: path.read(document)
    return path.read_from
