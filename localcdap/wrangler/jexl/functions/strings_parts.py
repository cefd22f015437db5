"""``string:``: parts of texts, and what texts have in common."""

# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from localcdap.java.text import java_text
from localcdap.wrangler.jexl.functions.splitting import split_characters, split_whole
from localcdap.wrangler.jexl.functions.strings import string

# -- parts ------------------------------------------------------------------------------------------


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
    return (separator or "").join("" if value is None else java_text(value) for value in values)


@string("A S I I -> S", "join")
def join_some(values: Any, separator: str | None, start: int, end: int) -> str | None:
    return join(None if values is None else list(values)[start:end], separator)


# -- abbreviations and differences ------------------------------------------------------------------


@string("S I -> S", "abbreviate")
def abbreviate_end(text: str | None, width: int) -> str | None:
    return abbreviate(text, 0, width)


@string("S I I -> S")
def abbreviate(text: str | None, offset: int, width: int) -> str | None:
    if text is None:
        return None
    if width < 4:
        raise ValueError("Minimum abbreviation width is 4")
    if len(text) <= width:
        return text
    offset = min(offset, len(text))
    if len(text) - offset < width - 3:
        offset = len(text) - (width - 3)
    if offset <= 4:
        return text[: width - 3] + "..."
    if width < 7:
        raise ValueError("Minimum abbreviation width with offset is 7")
    if offset + width - 3 < len(text):
        return "..." + str(abbreviate(text[offset:], 0, width - 3))
    return "..." + text[-(width - 3) :]


@string("S S I -> S")
def abbreviateMiddle(text: str | None, middle: str | None, length: int) -> str | None:
    if not text or not middle or length >= len(text) or length < len(middle) + 2:
        return text
    kept = length - len(middle)
    return text[: kept // 2 + kept % 2] + middle + text[len(text) - kept // 2 :]


@string("S S -> S")
def difference(first: str | None, second: str | None) -> str | None:
    if first is None or second is None:
        return second if first is None else first
    at = index_of_difference(first, second)
    return "" if at < 0 else second[at:]


@string("S S -> I", "indexOfDifference")
def index_of_difference(first: str | None, second: str | None) -> int:
    if first == second:
        return -1
    if first is None or second is None:
        return 0
    return common_length([first, second])


@string("A -> I")
def indexOfDifference(texts: Any) -> int:
    texts = list(texts or ())
    if len(texts) <= 1 or len(set(texts)) == 1:
        return -1
    return 0 if None in texts else common_length(texts)


def common_length(texts: list[str]) -> int:
    shortest = min(texts, key=len)
    for at, char in enumerate(shortest):
        if any(text[at] != char for text in texts):
            return at
    return len(shortest)


@string("A -> S!")
def getCommonPrefix(texts: Any) -> str:
    texts = list(texts or ())
    if not texts or None in texts:
        return ""
    return str(texts[0][: common_length(texts)])


@string("S S -> I")
def getLevenshteinDistance(first: str | None, second: str | None) -> int:
    if first is None or second is None:
        raise ValueError("Strings must not be null")
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(first, second))
