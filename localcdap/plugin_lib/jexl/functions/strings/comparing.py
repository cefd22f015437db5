"""``string:``: whether texts are equal, hold, begin or end with others."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.plugin_lib.jexl.functions.strings.namespace import string
from localcdap.plugin_lib.jexl.functions.strings.positions import index_of_any_character
from localcdap.plugin_lib.jexl.operators.measures import text_length


@string("S S -> B")
def equals(left: str | None, right: str | None) -> bool:
    return left == right


@string("S S -> B")
def equalsIgnoreCase(left: str | None, right: str | None) -> bool:
    return left == right if left is None or right is None else left.lower() == right.lower()


@string("S S -> B")
def contains(text: str | None, searched: str | None) -> bool:
    return text is not None and searched is not None and searched in text


@string("S S -> B")
def containsIgnoreCase(text: str | None, searched: str | None) -> bool:
    return text is not None and searched is not None and searched.lower() in text.lower()


@string("S S -> B")
def containsAny(text: str | None, characters: str | None) -> bool:
    return index_of_any_character(text, characters) >= 0


@string("S S -> B")
def containsOnly(text: str | None, characters: str | None) -> bool:
    if text is None or characters is None:
        return False
    return all(char in characters for char in text)


@string("S S -> B")
def containsNone(text: str | None, characters: str | None) -> bool:
    return text is None or characters is None or not containsAny(text, characters)


@string("S S -> B")
def startsWith(text: str | None, prefix: str | None) -> bool:
    return text is prefix if text is None or prefix is None else text.startswith(prefix)


@string("S S -> B")
def startsWithIgnoreCase(text: str | None, prefix: str | None) -> bool:
    return (
        text is prefix
        if text is None or prefix is None
        else text.lower().startswith(prefix.lower())
    )


@string("S S -> B")
def endsWith(text: str | None, suffix: str | None) -> bool:
    return text is suffix if text is None or suffix is None else text.endswith(suffix)


@string("S S -> B")
def endsWithIgnoreCase(text: str | None, suffix: str | None) -> bool:
    return (
        text is suffix if text is None or suffix is None else text.lower().endswith(suffix.lower())
    )


@string("S A -> B")
def startsWithAny(text: str | None, prefixes: Any) -> bool:
    return bool(text) and any(startsWith(text, prefix) for prefix in prefixes or ())


@string("S A -> B")
def endsWithAny(text: str | None, suffixes: Any) -> bool:
    return bool(text) and any(endsWith(text, suffix) for suffix in suffixes or ())


@string("S S -> I")
def countMatches(text: str | None, searched: str | None) -> int:
    return text.count(searched) if text and searched else 0


@string("S -> I")
def length(text: str | None) -> int:
    return 0 if text is None else text_length(text)
