"""Finds data about persons inside of texts, with the tests of single values.

The types have the names of Google Cloud's info types. Names, ages, ethnic groups and places cannot be found
by their form alone: for them there is no detector.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from localcdap.plugin_lib.wrangler.semantic_types.national_ids import list_countries
from localcdap.plugin_lib.wrangler.semantic_types.values import (
    is_address,
    is_card,
    is_email,
    is_iban,
    is_phone,
)

EMAIL: Final = "EMAIL_ADDRESS"
CARD: Final = "CREDIT_CARD_NUMBER"
IBAN: Final = "IBAN_CODE"
NATIONAL_ID: Final = "NATIONAL_ID"
PHONE: Final = "PHONE_NUMBER"
MAC: Final = "MAC_ADDRESS"
ADDRESS: Final = "STREET_ADDRESS"
ALL: Final = (EMAIL, CARD, IBAN, NATIONAL_ID, PHONE, MAC, ADDRESS)
"""The types of findings, those that prove most first."""

_WORD: Final = re.compile(r"[^\s,;<>\"'()\[\]{}|]+")
_DIGITS: Final = re.compile(r"[+(]?\d[\d\s().,/-]{5,40}\d")
_CODE: Final = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){10,30}\b", re.IGNORECASE)
_MAC: Final = re.compile(r"\b[0-9A-F]{2}(?:[:-][0-9A-F]{2}){5}\b", re.IGNORECASE)
_TRAILING: Final = ".:!?"
_SHORTEST: Final = 7


class TextFinding(NamedTuple):
    """A part of a text that is about a person."""

    start: int
    end: int
    type: str


def find_in_text(text: str, types: Collection[str] = ALL) -> list[TextFinding]:
    """Return the findings in a text from left to right; none overlaps another.

    A number that several types may have counts as the first of :data:`ALL`.
    """
    found: list[TextFinding] = []
    for type in ALL:
        if type not in types:
            continue
        for start, end in _SEARCHES[type](text):
            if all(end <= each.start or start >= each.end for each in found):
                found.append(TextFinding(start, end, type))
    return sorted(found)


def _find_words(holds: Callable[[str], bool]) -> Callable[[str], Iterator[tuple[int, int]]]:
    def search(text: str) -> Iterator[tuple[int, int]]:
        for match in _WORD.finditer(text):
            word = match[0].rstrip(_TRAILING)
            if holds(word):
                yield match.start(), match.start() + len(word)

    return search


def _find_numbers(
    form: re.Pattern[str], holds: Callable[[str], bool]
) -> Callable[[str], Iterator[tuple[int, int]]]:
    """Return a search for numbers, which may be written with blanks and be beside others."""

    def search(text: str) -> Iterator[tuple[int, int]]:
        for match in form.finditer(text):
            yield from _find_inside(match[0], match.start(), holds)

    return search


def _find_inside(text: str, offset: int, holds: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """Yield the longest parts between blanks that pass a test."""
    begins = [0, *(match.end() for match in re.finditer(r"\s+", text))]
    ends = [*(match.start() for match in re.finditer(r"\s+", text)), len(text)]
    position = 0
    for begin in begins:
        if begin < position:
            continue
        for end in reversed([each for each in ends if each > begin]):
            part = text[begin:end].rstrip(".,/-( ")
            if len(part) >= _SHORTEST and holds(part):
                yield offset + begin, offset + begin + len(part)
                position = begin + len(part)
                break


def _find_codes(text: str) -> Iterator[tuple[int, int]]:
    """Yield national ids, which are words or numbers."""
    yield from _find_words(_is_national_id)(text)
    yield from _find_numbers(_DIGITS, _is_national_id)(text)


def _is_national_id(text: str) -> bool:
    return any(each.isdigit() for each in text) and bool(list_countries(text))


def _find_addresses(text: str) -> Iterator[tuple[int, int]]:
    """Yield the whole text, or a line of it: an address has no certain end."""
    start = 0
    for line in text.splitlines(keepends=True):
        shown = line.strip()
        if is_address(shown):
            begin = start + line.index(shown)
            yield begin, begin + len(shown)
        start += len(line)


_SEARCHES: Final[dict[str, Callable[[str], Iterator[tuple[int, int]]]]] = {
    EMAIL: _find_words(is_email),
    CARD: _find_numbers(_DIGITS, is_card),
    IBAN: _find_numbers(_CODE, is_iban),
    NATIONAL_ID: _find_codes,
    PHONE: _find_numbers(_DIGITS, is_phone),
    MAC: lambda text: (match.span() for match in _MAC.finditer(text)),
    ADDRESS: _find_addresses,
}
