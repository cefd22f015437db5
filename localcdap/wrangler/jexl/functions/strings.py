"""``string:``: commons-lang's ``StringUtils``; and ``strings:``, Guava's ``Strings``."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from localcdap.wrangler.java.text import java_text
from localcdap.wrangler.jexl.arithmetic import text_length
from localcdap.wrangler.jexl.functions.registry import Namespace
from localcdap.wrangler.jexl.functions.splitting import split_characters, split_whole

LONGEST = 10_000_000
"""Characters that padding and repeating may make."""

string = Namespace("string")
guava = Namespace("strings")

_TRIMMED = "".join(map(chr, range(33)))


def _space(char: str) -> bool:
    """``Character.isWhitespace``."""
    if char in "\xa0\u2007\u202f":
        return False
    return char in "\t\n\x0b\f\r\x1c\x1d\x1e\x1f" or unicodedata.category(char) in (
        "Zs",
        "Zl",
        "Zp",
    )


def _checked_length(length: int) -> int:
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
    return text is None or all(map(_space, text))


@string("S -> B")
def isNotBlank(text: str | None) -> bool:
    return not isBlank(text)


@string("S -> S!", "clean", "trimToEmpty")
def trimToEmpty(text: str | None) -> str:
    return (text or "").strip(_TRIMMED)


@string("S -> S")
def trim(text: str | None) -> str | None:
    return None if text is None else text.strip(_TRIMMED)


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
    while at < len(text) and (_space(text[at]) if characters is None else text[at] in characters):
        at += 1
    return text[at:]


@string("S S -> S")
def stripEnd(text: str | None, characters: str | None) -> str | None:
    if not text or characters == "":
        return text
    at = len(text)
    while at and (_space(text[at - 1]) if characters is None else text[at - 1] in characters):
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


# -- comparing and finding --------------------------------------------------------------------------


@string("S S -> B")
def equals(left: str | None, right: str | None) -> bool:
    return left == right


@string("S S -> B")
def equalsIgnoreCase(left: str | None, right: str | None) -> bool:
    return left == right if left is None or right is None else left.lower() == right.lower()


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


@string("S S -> B")
def contains(text: str | None, searched: str | None) -> bool:
    return text is not None and searched is not None and searched in text


@string("S S -> B")
def containsIgnoreCase(text: str | None, searched: str | None) -> bool:
    return text is not None and searched is not None and searched.lower() in text.lower()


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


# -- changing ---------------------------------------------------------------------------------------


@string("S -> S", "deleteWhitespace")
def deleteWhitespace(text: str | None) -> str | None:
    return None if text is None else "".join(char for char in text if not _space(char))


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


@string("S I -> S")
def repeat(text: str | None, count: int) -> str | None:
    return None if text is None else text * (_checked_length(len(text) * max(count, 0)) and count)


@string("S S I -> S", "repeat")
def repeat_separated(text: str | None, separator: str | None, count: int) -> str | None:
    if text is None or separator is None:
        return repeat(text, count)
    _checked_length((len(text) + len(separator)) * max(count, 0))
    return separator.join([text] * max(count, 0))


def _padding(pad: str | None, count: int) -> str:
    pad = pad or " "
    _checked_length(count)
    return (pad * (count // len(pad) + 1))[: max(count, 0)]


@string("S I -> S", "rightPad")
def right_pad_spaces(text: str | None, size: int) -> str | None:
    return rightPad(text, size, " ")


@string("S I S -> S")
def rightPad(text: str | None, size: int, pad: str | None) -> str | None:
    return None if text is None else text + _padding(pad, size - len(text))


@string("S I -> S", "leftPad")
def left_pad_spaces(text: str | None, size: int) -> str | None:
    return leftPad(text, size, " ")


@string("S I S -> S")
def leftPad(text: str | None, size: int, pad: str | None) -> str | None:
    return None if text is None else _padding(pad, size - len(text)) + text


@string("S I -> S", "center")
def center_spaces(text: str | None, size: int) -> str | None:
    return center(text, size, " ")


@string("S I S -> S")
def center(text: str | None, size: int, pad: str | None) -> str | None:
    if text is None or size <= len(text):
        return text
    return rightPad(leftPad(text, len(text) + (size - len(text)) // 2, pad), size, pad)


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
        _titled(char) if at == 0 or _space(text[at - 1]) else char for at, char in enumerate(text)
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


# -- kinds of characters ----------------------------------------------------------------------------


def _each(text: str | None, categories: str, also: str = "") -> bool:
    if text is None:
        return False
    return all(unicodedata.category(char)[0] in categories or char in also for char in text if char)


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
    return text is not None and all(map(_space, text))


@string("S -> B")
def isAsciiPrintable(text: str | None) -> bool:
    return text is not None and all(" " <= char <= "~" for char in text)


@string("S -> B")
def isAllLowerCase(text: str | None) -> bool:
    return bool(text) and all(char.islower() for char in text or "")


@string("S -> B")
def isAllUpperCase(text: str | None) -> bool:
    return bool(text) and all(char.isupper() for char in text or "")


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
    return _common([first, second])


@string("A -> I")
def indexOfDifference(texts: Any) -> int:
    texts = list(texts or ())
    if len(texts) <= 1 or len(set(texts)) == 1:
        return -1
    return 0 if None in texts else _common(texts)


def _common(texts: list[str]) -> int:
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
    return str(texts[0][: _common(texts)])


@string("S S -> I")
def getLevenshteinDistance(first: str | None, second: str | None) -> int:
    if first is None or second is None:
        raise ValueError("Strings must not be null")
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(first, second))


# -- Guava ------------------------------------------------------------------------------------------


@guava("S -> S!")
def nullToEmpty(text: str | None) -> str:
    return text or ""


@guava("S -> S")
def emptyToNull(text: str | None) -> str | None:
    return text or None


@guava("S -> B")
def isNullOrEmpty(text: str | None) -> bool:
    return not text


def pad_start(text: str | None, size: int, pad: str) -> str:
    return _padding(pad, size - len(_given(text))) + _given(text)


def pad_end(text: str | None, size: int, pad: str) -> str:
    return _given(text) + _padding(pad, size - len(_given(text)))


def repeated(text: str | None, count: int) -> str:
    if count < 0:
        raise ValueError(f"invalid count: {count}")
    _checked_length(len(_given(text)) * count)
    return _given(text) * count


def _given(text: str | None) -> str:
    if text is None:
        raise ValueError("a text is null")
    return text


guava("S I C -> S!", "padStart")(pad_start)
guava("S I C -> S!", "padEnd")(pad_end)
guava("S I -> S!", "repeat")(repeated)


@guava("S S -> S!")
def commonPrefix(first: str | None, second: str | None) -> str:
    return _given(first)[: _common([_given(first), _given(second)])]


@guava("S S -> S!")
def commonSuffix(first: str | None, second: str | None) -> str:
    return commonPrefix(_given(first)[::-1], _given(second)[::-1])[::-1]
