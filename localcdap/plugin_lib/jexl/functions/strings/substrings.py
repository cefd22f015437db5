"""``string:``: parts of texts, by their places or by what stands around them."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from localcdap.plugin_lib.jexl.functions.strings.namespace import string


@string("S I -> S", "substring")
def substring_from(text: str | None, start: int) -> str | None:
    if text is None:
        return None
    return text[max(start + len(text), 0) if start < 0 else start :]


@string("S I I -> S")
def substring(text: str | None, start: int, end: int) -> str | None:
    if text is None:
        return None
    first = max(start + len(text) if start < 0 else start, 0)
    last = max(min(end + len(text) if end < 0 else end, len(text)), 0)
    return text[first:last]


@string("S I -> S")
def left(text: str | None, length: int) -> str | None:
    return None if text is None else text[: max(length, 0)]


@string("S I -> S")
def right(text: str | None, length: int) -> str | None:
    return None if text is None else text[max(len(text) - max(length, 0), 0) :]


@string("S I I -> S")
def mid(text: str | None, start: int, length: int) -> str | None:
    if text is None:
        return None
    return "" if length < 0 or start > len(text) else text[max(start, 0) : max(start, 0) + length]


@string("S S -> S")
def substringBefore(text: str | None, separator: str | None) -> str | None:
    if not text or separator is None:
        return text
    return text.partition(separator)[0] if separator else ""


@string("S S -> S")
def substringAfter(text: str | None, separator: str | None) -> str | None:
    if not text:
        return text
    if separator is None:
        return ""
    return text.partition(separator)[2] if separator else text


@string("S S -> S")
def substringBeforeLast(text: str | None, separator: str | None) -> str | None:
    if not text or not separator or separator not in text:
        return text
    return text.rpartition(separator)[0]


@string("S S -> S")
def substringAfterLast(text: str | None, separator: str | None) -> str | None:
    if not text:
        return text
    return text.rpartition(separator)[2] if separator and separator in text else ""


@string("S S -> S", "substringBetween", "getNestedString")
def substring_between_same(text: str | None, tag: str | None) -> str | None:
    return substringBetween(text, tag, tag)


@string("S S S -> S", "substringBetween", "getNestedString")
def substringBetween(text: str | None, opening: str | None, closing: str | None) -> str | None:
    if text is None or opening is None or closing is None:
        return None
    start = text.find(opening)
    end = text.find(closing, start + len(opening)) if start >= 0 else -1
    return text[start + len(opening) : end] if end >= 0 else None


@string("S S S -> A")
def substringsBetween(
    text: str | None, opening: str | None, closing: str | None
) -> list[str] | None:
    if text is None or not opening or not closing:
        return None
    found = []
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        found.append(text[start + len(opening) : end])
        start = text.find(opening, end + len(closing))
    return found or ([] if not text else None)
