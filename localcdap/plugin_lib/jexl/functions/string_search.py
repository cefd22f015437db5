"""Functions of expressions in the namespace ``string``: tests of the characters of a text, comparison,
positions and distances. An expression calls them as ``string:contains(body, 'a')``.

In the original (``EL.java``) the namespace is the class ``StringUtils`` of Apache Commons Lang.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

string = FunctionNamespace("string", counts_units=True)


# ruff: noqa: N802 - functions have the names that expressions call them by


@string("S -> B")
def isAlpha(text: str | None) -> bool:
    return _each(text, "L")


@string("S -> B")
def isAlphaSpace(text: str | None) -> bool:
    return _each(text, "L", " ")


@string("S -> B")
def isAlphanumeric(text: str | None) -> bool:
    return text is not None and all(c.isalpha() or unicodedata.category(c) == "Nd" for c in text)


@string("S -> B")
def isAlphanumericSpace(text: str | None) -> bool:
    return text is not None and isAlphanumeric(text.replace(" ", ""))


@string("S -> B")
def isNumeric(text: str | None) -> bool:
    return text is not None and all(unicodedata.category(c) == "Nd" for c in text)


@string("S -> B")
def isNumericSpace(text: str | None) -> bool:
    return text is not None and isNumeric(text.replace(" ", ""))


@string("S -> B")
def isWhitespace(text: str | None) -> bool:
    return text is not None and all(map(is_space, text))


@string("S -> B")
def isAsciiPrintable(text: str | None) -> bool:
    return text is not None and all(" " <= char <= "~" for char in text)


@string("S -> B")
def isAllLowerCase(text: str | None) -> bool:
    return bool(text) and all(char.islower() for char in text or "")


@string("S -> B")
def isAllUpperCase(text: str | None) -> bool:
    return bool(text) and all(char.isupper() for char in text or "")


def is_space(char: str) -> bool:
    """Return whether a character is white space, as ``Character.isWhitespace`` says."""
    if char in "\xa0\u2007\u202f":
        return False
    return char in "\t\n\x0b\f\r\x1c\x1d\x1e\x1f" or unicodedata.category(char) in (
        "Zs",
        "Zl",
        "Zp",
    )


def _each(text: str | None, categories: str, also: str = "") -> bool:
    if text is None:
        return False
    return all(unicodedata.category(char)[0] in categories or char in also for char in text if char)


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
    return len(text or "")


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
    if not searched:
        return max(start, 0) if start <= len(text) + 1 else -1
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
    for at, char in enumerate(text):
        following = text[at + 1 : at + 2]
        if "\ud800" <= char <= "\udbff" and following:
            if char in characters and following not in characters:
                return at
        elif char not in characters:
            return at
    return -1


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
