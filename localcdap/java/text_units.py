"""Texts as Java counts, cuts and compares them: in UTF-16 units.

A character beyond U+FFFF, such as an emoji, is two units in Java and one character in Python. Whatever counts
characters splits such characters first (:func:`to_units`) and joins the units of its result
(:func:`from_units`); :func:`in_units` does both. A cut can leave half of a character. Java keeps it in its
texts and writes it as a question mark (:func:`replace_halves`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

_F = TypeVar("_F", bound=Callable[..., Any])

_WIDE: Final = re.compile("[\U00010000-\U0010ffff]")
_HALVES: Final = re.compile("[\ud800-\udfff]")
_WIDE_OR_HALF: Final = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")


def count_units(text: str) -> int:
    """Return ``String.length``: a character beyond U+FFFF counts twice.

    >>> count_units("😀b")
    3
    """
    return len(text) if text.isascii() else len(text) + len(_WIDE.findall(text))


def to_units(text: str) -> str:
    """Return a text with one Python character for each UTF-16 unit."""
    return text if text.isascii() else _WIDE.sub(_split_character, text)


def _split_character(found: re.Match[str]) -> str:
    point = ord(found.group()) - 0x10000
    return chr(0xD800 + (point >> 10)) + chr(0xDC00 + (point & 0x3FF))


def from_units(text: str) -> str:
    """Return a text with its characters whole again; a half without its other half stays."""
    if text.isascii() or _HALVES.search(text) is None:
        return text
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def replace_halves(text: str) -> str:
    """Return the text that Java writes: halves of characters are joined where they meet, and question
    marks where they do not.
    """
    if text.isascii() or _HALVES.search(text) is None:
        return text
    return from_units(text).encode("utf-8", "replace").decode()


def compare_units(text: str, other: str) -> int:
    """Return ``String.compareTo``: the difference of the first units that differ, else of the lengths."""
    one, two = to_units(text), to_units(other)
    for a, b in zip(one, two, strict=False):
        if a != b:
            return ord(a) - ord(b)
    return len(one) - len(two)


def compare_folded(text: str, other: str) -> int:
    """Return ``String.compareToIgnoreCase`` of Java 17.

    It compares characters, but units if one of the texts has characters of Latin-1 only.
    """
    one_text, other_text = text, other
    if max(text, default="") <= "\xff" or max(other, default="") <= "\xff":
        one_text, other_text = to_units(text), to_units(other)
    for a, b in zip(one_text, other_text, strict=False):
        one, two = _fold(a), _fold(b)
        if one != two:
            return ord(one) - ord(two)
    return len(to_units(text)) - len(to_units(other))


def _fold(character: str) -> str:
    """Return the lower case of the upper case of a character, where each is one character."""
    upper = character.upper()
    lower = (upper if len(upper) == 1 else character).lower()
    return lower[0]


def needs_units(text: str) -> bool:
    """Return whether Java compares or counts a text in another way than Python."""
    return not text.isascii() and _WIDE_OR_HALF.search(text) is not None


def in_units(run: _F) -> _F:
    """Return a function that sees its texts, also those of lists, in UTF-16 units, and whose result has
    whole characters again.
    """

    @functools.wraps(run)
    def call(*arguments: Any) -> Any:
        for value in arguments:
            if value.__class__ is str:
                if value.isascii():
                    continue
            elif value.__class__ is not list:
                continue
            return _convert(run(*[_convert(each, to_units) for each in arguments]), from_units)
        return run(*arguments)

    return cast(_F, call)


def _convert(value: Any, change: Callable[[str], str]) -> Any:
    if value.__class__ is str:
        return change(value)
    return [_convert(each, change) for each in value] if value.__class__ is list else value
