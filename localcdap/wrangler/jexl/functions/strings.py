"""``string:``, commons-lang's ``StringUtils``: empty and blank texts, white space, letter case."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import unicodedata
from typing import Any

from localcdap.java.text import TRIMMED
from localcdap.wrangler.jexl.functions.registry import Namespace
from localcdap.wrangler.jexl.functions.splitting import split_characters

LONGEST = 10_000_000
"""Characters that padding and repeating may make."""

string = Namespace("string")


def is_space(char: str) -> bool:
    """``Character.isWhitespace``."""
    if char in "\xa0\u2007\u202f":
        return False
    return char in "\t\n\x0b\f\r\x1c\x1d\x1e\x1f" or unicodedata.category(char) in (
        "Zs",
        "Zl",
        "Zp",
    )


def checked_length(length: int) -> int:
    if length > LONGEST:
        raise ValueError(f"a text of {length} characters would be too long; {LONGEST} are allowed")
    return length


# -- null, empty, blank -----------------------------------------------------------------------------


@string("S -> B")
def isEmpty(text: str | None) -> bool:
    return not text


@string("S -> B")
def isNotEmpty(text: str | None) -> bool:
    return bool(text)


@string("S -> B")
def isBlank(text: str | None) -> bool:
    return text is None or all(map(is_space, text))


@string("S -> B")
def isNotBlank(text: str | None) -> bool:
    return not isBlank(text)


@string("S -> S!", "clean", "trimToEmpty")
def trimToEmpty(text: str | None) -> str:
    return (text or "").strip(TRIMMED)


@string("S -> S")
def trim(text: str | None) -> str | None:
    return None if text is None else text.strip(TRIMMED)


@string("S -> S")
def trimToNull(text: str | None) -> str | None:
    return trimToEmpty(text) or None


@string("S -> S!")
def defaultString(text: str | None) -> str:
    return text or ""


@string("S S -> S", "defaultString")
def default_string(text: str | None, default: str | None) -> str | None:
    return default if text is None else text


@string("S S -> S")
def defaultIfEmpty(text: str | None, default: str | None) -> str | None:
    return text or default


@string("S S -> S")
def defaultIfBlank(text: str | None, default: str | None) -> str | None:
    return default if isBlank(text) else text


# -- stripping --------------------------------------------------------------------------------------


@string("S -> S", "strip")
def strip_spaces(text: str | None) -> str | None:
    return strip(text, None)


@string("S S -> S")
def strip(text: str | None, characters: str | None) -> str | None:
    return stripEnd(stripStart(text, characters), characters)


@string("S S -> S")
def stripStart(text: str | None, characters: str | None) -> str | None:
    if not text or characters == "":
        return text
    at = 0
    while at < len(text) and (is_space(text[at]) if characters is None else text[at] in characters):
        at += 1
    return text[at:]


@string("S S -> S")
def stripEnd(text: str | None, characters: str | None) -> str | None:
    if not text or characters == "":
        return text
    at = len(text)
    while at and (is_space(text[at - 1]) if characters is None else text[at - 1] in characters):
        at -= 1
    return text[:at]


@string("S -> S")
def stripToNull(text: str | None) -> str | None:
    return strip(text, None) or None


@string("S -> S!")
def stripToEmpty(text: str | None) -> str:
    return strip(text, None) or ""


@string("A -> A", "stripAll")
def strip_all_spaces(texts: Any) -> list[str | None] | None:
    return stripAll(texts, None)


@string("A S -> A")
def stripAll(texts: Any, characters: str | None) -> list[str | None] | None:
    return None if texts is None else [strip(text, characters) for text in texts]


# -- case and order ---------------------------------------------------------------------------------


@string("S -> S")
def upperCase(text: str | None) -> str | None:
    return None if text is None else text.upper()


@string("S -> S")
def lowerCase(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _titled(char: str) -> str:
    """``Character.toTitleCase``: what has no title form of one character stays."""
    title = char.title()
    return title if len(title) == 1 else char


def _swapped(char: str) -> str:
    other = char.swapcase()
    return other if len(other) == 1 else char


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
