"""Reads the parts of JSON paths: names, brackets, functions."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from localcdap.java.json_path.errors import no_path
from localcdap.java.json_path.filters import ReadPath, read_filter
from localcdap.java.json_path.functions import FUNCTIONS
from localcdap.java.json_path.steps import (
    Step,
    children,
    containers,
    elements,
    field,
    fields,
    filtered,
    objects,
    sliced,
)

_NAME: Final = re.compile(r"\.(\.?)(?:(\*)|([^\s.()\[\]'\"*]+)(\(\s*\))?|(?=\[))")
_TEXTS: Final = re.compile(
    r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*(?:,(?=\s*['\"])|$)", re.DOTALL
)
_SLICE: Final = re.compile(r"\s*(-?\d*)\s*:\s*(-?\d*)\s*")
_INDEXES: Final = re.compile(r"\s*-?\d+\s*(?:,\s*-?\d+\s*)*")


class Part(msgspec.Struct, frozen=True):
    """Of a path: its steps, whether they select one thing at most, and where their text ends."""

    steps: list[Step]
    single: bool
    end: int
    function: str | None = None


def part_at(text: str, at: int, path: str, read_path: ReadPath) -> Part:
    """The part of a path's text that begins at a place.

    :param path: as it was given, to be named in errors.
    :param read_path: reads the paths in filters.
    :raises JsonPathError: when there is none.
    """
    return _bracket(text, at, path, read_path) if text[at] == "[" else _name(text, at, path)


def _name(text: str, at: int, path: str) -> Part:
    found = _NAME.match(text, at)
    if found is None:
        raise no_path(path, f"not understood from '{text[at:][:20]}'")
    deep, star, name, call = found.groups()
    end = found.end()
    steps: list[Step] = [containers] if deep else []
    if deep and text.startswith("[?", end):
        steps.append(objects)
    if call:
        return Part(steps, single=not deep, end=end, function=_known_function(name, path))
    if star or name:
        steps.append(children if star else field(name))
    return Part(steps, single=not deep and not star, end=end)


def _known_function(name: str, path: str) -> str:
    if name not in FUNCTIONS:
        raise no_path(path, f"there is no function {name}()")
    return name


def _bracket(text: str, at: int, path: str, read_path: ReadPath) -> Part:
    end = _closing(text, at)
    if end < 0:
        raise no_path(path, "a bracket is not closed")
    inner = text[at + 1 : end].strip()
    if inner == "*":
        return Part([children], single=False, end=end + 1)
    if inner[:1] in ("'", '"'):
        names = _names(inner)
        if names is not None:
            is_last = end + 1 == len(text)
            step = field(names[0]) if len(names) == 1 else fields(names, together=is_last)
            return Part([step], single=len(names) == 1 or is_last, end=end + 1)
    if inner.startswith("?"):
        test = read_filter(inner[1:].strip(), path, read_path)
        return Part([filtered(test)], single=False, end=end + 1)
    if _INDEXES.fullmatch(inner):
        indexes = [int(part) for part in inner.split(",")]
        return Part([elements(indexes)], single=len(indexes) == 1, end=end + 1)
    if found := _SLICE.fullmatch(inner):
        first, last = (int(part) if part else None for part in found.groups())
        return Part([sliced(slice(first, last))], single=False, end=end + 1)
    raise no_path(path, f"'[{inner}]' is not understood")


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
