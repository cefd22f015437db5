"""``string:``: texts split into lists, and lists joined to texts."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.jexl.functions.strings.namespace import string


@string("S -> A", "split")
def split_spaces(text: str | None) -> list[str] | None:
    return split_characters(text, None, 0, keep=False)


@string("S S -> A", "split")
def split_at(text: str | None, separators: str | None) -> list[str] | None:
    return split_characters(text, separators, 0, keep=False)


@string("S S I -> A")
def split(text: str | None, separators: str | None, limit: int) -> list[str] | None:
    return split_characters(text, separators, limit, keep=False)


@string("S -> A", "splitPreserveAllTokens")
def split_spaces_whole(text: str | None) -> list[str] | None:
    return split_characters(text, None, 0, keep=True)


@string("S S -> A", "splitPreserveAllTokens")
def split_at_whole(text: str | None, separators: str | None) -> list[str] | None:
    return split_characters(text, separators, 0, keep=True)


@string("S S I -> A")
def splitPreserveAllTokens(
    text: str | None, separators: str | None, limit: int
) -> list[str] | None:
    return split_characters(text, separators, limit, keep=True)


@string("S S -> A", "splitByWholeSeparator")
def split_separator(text: str | None, separator: str | None) -> list[str] | None:
    return split_whole(text, separator, 0, keep=False)


@string("S S I -> A")
def splitByWholeSeparator(text: str | None, separator: str | None, limit: int) -> list[str] | None:
    return split_whole(text, separator, limit, keep=False)


@string("S S -> A", "splitByWholeSeparatorPreserveAllTokens")
def split_separator_whole(text: str | None, separator: str | None) -> list[str] | None:
    return split_whole(text, separator, 0, keep=True)


@string("S S I -> A")
def splitByWholeSeparatorPreserveAllTokens(
    text: str | None, separator: str | None, limit: int
) -> list[str] | None:
    return split_whole(text, separator, limit, keep=True)


@string("S -> A")
def splitByCharacterType(text: str | None) -> list[str] | None:
    return None if text is None else _by_type(text, camel=False)


@string("S -> A")
def splitByCharacterTypeCamelCase(text: str | None) -> list[str] | None:
    return None if text is None else _by_type(text, camel=True)


@string("A -> S", "join", "concatenate")
def join_all(values: Iterable[Any] | None) -> str | None:
    return join(values, "")


@string("A S -> S")
def join(values: Iterable[Any] | None, separator: str | None) -> str | None:
    if values is None:
        return None
    return (separator or "").join(
        "" if value is None else to_java_string(value) for value in values
    )


@string("A S I I -> S", "join")
def join_some(values: Any, separator: str | None, start: int, end: int) -> str | None:
    return join(None if values is None else list(values)[start:end], separator)


def split_characters(
    text: str | None, separators: str | None, limit: int, *, keep: bool
) -> list[str] | None:
    """Splits at each of the separators (white space when None).

    :param limit: the most parts; the last has the rest as it is. 0 or less: no limit.
    :param keep: keep the empty parts between adjacent separators and at the ends.
    """
    if text is None:
        return None
    if not text:
        return []
    parts: list[str] = []
    start = at = 0
    while at < len(text):
        is_separator = text[at].isspace() if separators is None else text[at] in separators
        if is_separator and (keep or at > start):
            if len(parts) + 1 == limit:
                return [*parts, text[start:]]
            parts.append(text[start:at])
        at += 1
        if is_separator:
            start = at
    if keep or start < len(text):
        parts.append(text[start:])
    return parts


def split_whole(
    text: str | None, separator: str | None, limit: int, *, keep: bool
) -> list[str] | None:
    """Splits at a separator as a whole; the parameters are those of :func:`split_characters`."""
    if not text or not separator:
        return split_characters(text, None, limit, keep=keep)
    parts: list[str] = []
    start = 0
    while (found := text.find(separator, start)) >= 0:
        if keep or found > start:
            if len(parts) + 1 == limit:
                return [*parts, text[start:]]
            parts.append(text[start:found])
        start = found + len(separator)
    return [*parts, text[start:]]  # commons-lang gives an empty last part here whatever is kept


def _by_type(text: str, *, camel: bool) -> list[str]:
    parts: list[str] = []
    last = ""
    for char in text:
        category = unicodedata.category(char)
        if category != last:
            if camel and category == "Ll" and last == "Lu" and parts:
                head, parts[-1] = parts[-1][-1], parts[-1][:-1]
                parts = [*parts[:-1], parts[-1]] if parts[-1] else parts[:-1]
                parts.append(head + char)
            else:
                parts.append(char)
        else:
            parts[-1] += char
        last = category
    return parts
