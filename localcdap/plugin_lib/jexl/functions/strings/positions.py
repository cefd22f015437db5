"""``string:``: where in a text another one stands, from 0; -1 where it does not."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.plugin_lib.jexl.functions.strings.namespace import string


@string("S S -> I", "indexOf")
def index_of(text: str | None, searched: str | None) -> int:
    return -1 if text is None or searched is None else text.find(searched)


@string("S S I -> I")
def indexOf(text: str | None, searched: str | None, start: int) -> int:
    if text is None or searched is None:
        return -1
    if not searched and start >= len(text):
        return len(text)
    return text.find(searched, max(start, 0))


@string("S S I -> I")
def ordinalIndexOf(text: str | None, searched: str | None, ordinal: int) -> int:
    if text is None or searched is None or ordinal <= 0:
        return -1
    if not searched:
        return 0
    at = -1
    for _ in range(ordinal):
        at = text.find(searched, at + 1)
        if at < 0:
            break
    return at


@string("S S -> I", "indexOfIgnoreCase")
def index_ignoring_case(text: str | None, searched: str | None) -> int:
    return indexOfIgnoreCase(text, searched, 0)


@string("S S I -> I")
def indexOfIgnoreCase(text: str | None, searched: str | None, start: int) -> int:
    if text is None or searched is None:
        return -1
    return text.lower().find(searched.lower(), max(start, 0))


@string("S S -> I", "lastIndexOf")
def last_index_of(text: str | None, searched: str | None) -> int:
    return -1 if text is None or searched is None else text.rfind(searched)


@string("S S I -> I")
def lastIndexOf(text: str | None, searched: str | None, start: int) -> int:
    if text is None or searched is None or start < 0:
        return -1
    return text.rfind(searched, 0, min(start, len(text)) + len(searched))


@string("S S I -> I")
def lastOrdinalIndexOf(text: str | None, searched: str | None, ordinal: int) -> int:
    if text is None or searched is None or ordinal <= 0:
        return -1
    if not searched:
        return len(text)
    at = len(text) + len(searched)
    for _ in range(ordinal):
        at = text.rfind(searched, 0, at + len(searched) - 1) if at > 0 else -1
        if at < 0:
            break
    return at


@string("S S -> I", "lastIndexOfIgnoreCase")
def last_index_ignoring_case(text: str | None, searched: str | None) -> int:
    return -1 if text is None else lastIndexOfIgnoreCase(text, searched, len(text))


@string("S S I -> I")
def lastIndexOfIgnoreCase(text: str | None, searched: str | None, start: int) -> int:
    if text is None or searched is None:
        return -1
    return lastIndexOf(text.lower(), searched.lower(), start)


@string("S S -> I", "indexOfAny")
def index_of_any_character(text: str | None, characters: str | None) -> int:
    found = (at for at, char in enumerate(text or "") if char in (characters or ""))
    return next(found, -1)


@string("S A -> I")
def indexOfAny(text: str | None, searched: Any) -> int:
    found = [text.find(one) for one in searched or () if text is not None and one is not None]
    return min((at for at in found if at >= 0), default=-1)


@string("S A -> I")
def lastIndexOfAny(text: str | None, searched: Any) -> int:
    return max((text.rfind(one) for one in searched or () if text and one is not None), default=-1)


@string("S S -> I")
def indexOfAnyBut(text: str | None, characters: str | None) -> int:
    if not text or not characters:
        return -1
    return next((at for at, char in enumerate(text) if char not in characters), -1)
