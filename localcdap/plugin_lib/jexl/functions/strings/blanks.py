"""``string:``: texts that are null, empty or blank, and white space at their ends."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.jexl.functions.strings.characters import is_space
from localcdap.plugin_lib.jexl.functions.strings.namespace import string


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
    return (text or "").strip(TRIM_CHARACTERS)


@string("S -> S")
def trim(text: str | None) -> str | None:
    return None if text is None else text.strip(TRIM_CHARACTERS)


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
