"""``string:``: capitals and small letters, and texts turned around."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from localcdap.plugin_lib.jexl.functions.strings.characters import is_space
from localcdap.plugin_lib.jexl.functions.strings.namespace import string
from localcdap.plugin_lib.jexl.functions.strings.splitting import split_characters


@string("S -> S")
def upperCase(text: str | None) -> str | None:
    return None if text is None else text.upper()


@string("S -> S")
def lowerCase(text: str | None) -> str | None:
    return None if text is None else text.lower()


@string("S -> S", "capitalize", "capitalise")
def capitalize(text: str | None) -> str | None:
    return _titled(text[0]) + text[1:] if text else text


@string("S -> S", "uncapitalize", "uncapitalise")
def uncapitalize(text: str | None) -> str | None:
    return text[0].lower() + text[1:] if text else text


@string("S -> S")
def capitaliseAllWords(text: str | None) -> str | None:
    if not text:
        return text
    chars = [
        _titled(char) if at == 0 or is_space(text[at - 1]) else char for at, char in enumerate(text)
    ]
    return "".join(chars)


@string("S -> S")
def swapCase(text: str | None) -> str | None:
    return None if text is None else "".join(map(_swapped, text))


@string("S -> S")
def reverse(text: str | None) -> str | None:
    return None if text is None else text[::-1]


@string("S C -> S")
def reverseDelimited(text: str | None, separator: str) -> str | None:
    if text is None:
        return None
    return separator.join(reversed(split_characters(text, separator, 0, keep=False) or []))


def _titled(char: str) -> str:
    """``Character.toTitleCase``: what has no title form of one character stays."""
    title = char.title()
    return title if len(title) == 1 else char


def _swapped(char: str) -> str:
    other = char.swapcase()
    return other if len(other) == 1 else char
