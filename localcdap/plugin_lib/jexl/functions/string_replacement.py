"""More functions of the namespace ``string`` (see :mod:`.string_search`): replacing, splitting, joining."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.jexl.functions.escapes import encode
from localcdap.plugin_lib.jexl.functions.string_search import (
    endsWithIgnoreCase,
    is_space,
    startsWithIgnoreCase,
    string,
)

# ruff: noqa: N802 - functions have the names that expressions call them by


@string("S -> S", "deleteWhitespace")
def deleteWhitespace(text: str | None) -> str | None:
    return None if text is None else "".join(char for char in text if not is_space(char))


@string("S -> S")
def deleteSpaces(text: str | None) -> str | None:
    return None if text is None else "".join(char for char in text if char not in " \t\r\n\b")


@string("S -> S")
def normalizeSpace(text: str | None) -> str | None:
    if text is None:
        return None
    return re.sub(
        r"[ \t\n\x0b\f\r\x1c-\x1f\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]+",
        " ",
        text.strip(),
    )


@string("S S -> S")
def removeStart(text: str | None, prefix: str | None) -> str | None:
    return text.removeprefix(prefix) if text and prefix else text


@string("S S -> S")
def removeEnd(text: str | None, suffix: str | None) -> str | None:
    return text.removesuffix(suffix) if text and suffix else text


@string("S S -> S")
def removeStartIgnoreCase(text: str | None, prefix: str | None) -> str | None:
    return text[len(prefix) :] if text and prefix and startsWithIgnoreCase(text, prefix) else text


@string("S S -> S")
def removeEndIgnoreCase(text: str | None, suffix: str | None) -> str | None:
    return text[: -len(suffix)] if text and suffix and endsWithIgnoreCase(text, suffix) else text


@string("S S -> S")
def remove(text: str | None, removed: str | None) -> str | None:
    return text.replace(removed, "") if text and removed else text


@string("S S S -> S")
def replaceOnce(text: str | None, searched: str | None, new: str | None) -> str | None:
    return replace_limited(text, searched, new, 1)


@string("S S S -> S")
def replace(text: str | None, searched: str | None, new: str | None) -> str | None:
    return replace_limited(text, searched, new, -1)


@string("S S S I -> S", "replace")
def replace_limited(
    text: str | None, searched: str | None, new: str | None, count: int
) -> str | None:
    if not text or not searched or new is None or count == 0:
        return text
    return text.replace(searched, new, count)


@string("S A A -> S")
def replaceEach(text: str | None, searched: Any, new: Any) -> str | None:
    if not text or not searched or not new:
        return text
    searched, new = list(searched), list(new)
    if len(searched) != len(new):
        raise ValueError(f"{len(searched)} texts to search and {len(new)} to replace them differ")
    pairs = {old: to for old, to in zip(searched, new, strict=True) if old and to is not None}
    if not pairs:
        return text
    return re.sub("|".join(map(re.escape, pairs)), lambda found: pairs[found.group()], text)


@string("S A A -> S")
def replaceEachRepeatedly(text: str | None, searched: Any, new: Any) -> str | None:
    for _ in range(len(searched or ()) + 1):
        before, text = text, replaceEach(text, searched, new)
        if text == before:
            return text
    raise ValueError("the replacements never end: each makes a text that another searches")


@string("S S S -> S")
def replaceChars(text: str | None, searched: str | None, new: str | None) -> str | None:
    if not text or not searched:
        return text
    to = new or ""
    table = {
        ord(char): to[at] if at < len(to) else None
        for at, char in reversed(list(enumerate(searched)))
    }
    return text.translate(table)


@string("S S I I -> S")
def overlay(text: str | None, over: str | None, start: int, end: int) -> str | None:
    if text is None:
        return None
    first, last = sorted(min(max(at, 0), len(text)) for at in (start, end))
    return text[:first] + (over or "") + text[last:]


@string("S S I I -> S!")
def overlayString(text: str | None, over: str | None, start: int, end: int) -> str:
    if text is None or over is None or not 0 <= start <= len(text) or not 0 <= end <= len(text):
        raise ValueError("a text is null, or the range is not in it")
    return text[:start] + over + text[end:]


@string("S -> S")
def chomp(text: str | None) -> str | None:
    if not text:
        return text
    return text[:-2] if text.endswith("\r\n") else text[:-1] if text[-1] in "\r\n" else text


@string("S S -> S", "chomp")
def chomp_separator(text: str | None, separator: str | None) -> str | None:
    return removeEnd(text, separator)


@string("S -> S")
def chop(text: str | None) -> str | None:
    if text is None:
        return None
    return text[:-2] if text.endswith("\r\n") else text[:-1]


@string("S -> S")
def chopNewline(text: str) -> str:
    """Remove a line feed at the end, and a carriage return before it."""
    if len(text) <= 1:
        return ""
    if not text.endswith("\n"):
        return text
    return text[:-2] if text.endswith("\r\n") else text[:-1]


@string("S S -> S", "chompLast")
def chomp_last(text: str | None, separator: str) -> str:
    """Remove the separator at the end. A text that is shorter than the separator must be empty."""
    if text is None or (text and len(text) < len(separator)):
        raise ValueError("the text is null or shorter than the separator")
    return text.removesuffix(separator) if separator else text


@string("S -> S", "chompLast")
def chomp_last_newline(text: str) -> str:
    return text.removesuffix("\n")


@string("S S -> S")
def getChomp(text: str, separator: str) -> str:
    """Return the last separator and everything after it."""
    at = text.rfind(separator)
    if at == len(text) - len(separator):
        return separator
    return text[at:] if at >= 0 else ""


@string("S S -> S")
def prechomp(text: str, separator: str) -> str:
    """Remove everything up to the first separator, and the separator."""
    at = text.find(separator)
    return text[at + len(separator) :] if at >= 0 else text


@string("S S -> S")
def getPrechomp(text: str, separator: str) -> str:
    """Return everything up to the first separator, and the separator."""
    at = text.find(separator)
    return text[: at + len(separator)] if at >= 0 else ""


@string("S -> S")
def escape(text: str | None) -> str | None:
    """Escape like ``StringEscapeUtils.escapeJava``, which leaves a slash as it is."""
    return None if text is None else encode(text, '"\\')


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
    """Split a text at each of the separator characters (white space for None).

    :param limit: the most parts; the last part is the rest. 0 or less: no limit.
    :param keep: whether empty parts between adjacent separators and at the ends are kept.
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
    """Split a text at a separator text; the parameters are those of :func:`split_characters`."""
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
