"""``string:``: parts of texts removed or replaced."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import re
from typing import Any

from localcdap.plugin_lib.jexl.functions.strings.characters import is_space
from localcdap.plugin_lib.jexl.functions.strings.comparing import (
    endsWithIgnoreCase,
    startsWithIgnoreCase,
)
from localcdap.plugin_lib.jexl.functions.strings.namespace import string


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
