"""More functions of the namespace ``string`` (see :mod:`.string_search`): trimming, padding, case,
abbreviation and substrings.
"""

from __future__ import annotations

from typing import Any

from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.jexl.functions.string_replacement import split_characters
from localcdap.plugin_lib.jexl.functions.string_search import is_space, string

# ruff: noqa: N802 - functions have the names that expressions call them by


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


LONGEST = 10_000_000
"""The most characters that padding and repeating may produce."""


@string("S I -> S")
def repeat(text: str | None, count: int) -> str | None:
    return None if text is None else text * (check_length(len(text) * max(count, 0)) and count)


@string("S S I -> S", "repeat")
def repeat_separated(text: str | None, separator: str | None, count: int) -> str | None:
    if text is None or separator is None:
        return repeat(text, count)
    check_length((len(text) + len(separator)) * max(count, 0))
    return separator.join([text] * max(count, 0))


@string("S I -> S", "rightPad")
def right_pad_spaces(text: str | None, size: int) -> str | None:
    return rightPad(text, size, " ")


@string("S I S -> S")
def rightPad(text: str | None, size: int, pad: str | None) -> str | None:
    return None if text is None else text + padding(pad, size - len(text))


@string("S I -> S", "leftPad")
def left_pad_spaces(text: str | None, size: int) -> str | None:
    return leftPad(text, size, " ")


@string("S I S -> S")
def leftPad(text: str | None, size: int, pad: str | None) -> str | None:
    return None if text is None else padding(pad, size - len(text)) + text


@string("S I -> S", "center")
def center_spaces(text: str | None, size: int) -> str | None:
    return center(text, size, " ")


@string("S I S -> S")
def center(text: str | None, size: int, pad: str | None) -> str | None:
    if text is None or size <= len(text):
        return text
    return rightPad(leftPad(text, len(text) + (size - len(text)) // 2, pad), size, pad)


def padding(pad: str | None, count: int) -> str:
    pad = pad or " "
    check_length(count)
    return (pad * (count // len(pad) + 1))[: max(count, 0)]


def check_length(length: int) -> int:
    if length > LONGEST:
        raise ValueError(f"a text of {length} characters would be too long; {LONGEST} are allowed")
    return length


@string("S -> S")
def upperCase(text: str | None) -> str | None:
    return None if text is None else text.upper()


@string("S -> S")
def lowerCase(text: str | None) -> str | None:
    return None if text is None else text.lower()


@string("S -> S", "capitalize", "capitalise")
def capitalize(text: str | None) -> str | None:
    return _to_title_case(text[0]) + text[1:] if text else text


@string("S -> S", "uncapitalize", "uncapitalise")
def uncapitalize(text: str | None) -> str | None:
    return text[0].lower()[0] + text[1:] if text else text


@string("S -> S")
def capitaliseAllWords(text: str | None) -> str | None:
    if not text:
        return text
    chars = [
        _to_title_case(char) if at == 0 or is_space(text[at - 1]) else char
        for at, char in enumerate(text)
    ]
    return "".join(chars)


@string("S -> S")
def swapCase(text: str | None) -> str | None:
    return None if text is None else "".join(map(_swap_case, text))


@string("S -> S")
def reverse(text: str | None) -> str | None:
    return None if text is None else text[::-1]


@string("S S -> S")
def reverseDelimitedString(text: str | None, separators: str | None) -> str | None:
    """Reverse the parts between any of the characters, or spaces for null; a space is put between them if the
    separators are null, else the separators.
    """
    if text is None:
        return None
    parts = split_characters(text, separators, 0, keep=False) or []
    return (" " if separators is None else separators).join(reversed(parts))


@string("S C -> S")
def reverseDelimited(text: str | None, separator: str) -> str | None:
    if text is None:
        return None
    return separator.join(reversed(split_characters(text, separator, 0, keep=False) or []))


def _to_title_case(char: str) -> str:
    """Convert a character like ``Character.toTitleCase``; a title form of several characters is not used."""
    title = char.title()
    return title if len(title) == 1 else char


def _swap_case(char: str) -> str:
    other = char.swapcase()
    return other if len(other) == 1 else other[0] if char.isupper() else char


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
