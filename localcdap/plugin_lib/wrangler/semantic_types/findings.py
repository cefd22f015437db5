"""Finds data about persons inside of texts, with the tests of single values.

The types have the names of Google Cloud's info types. Names, ages, ethnic groups and places cannot be found
by their form alone: for them there is no detector.

The field lineage knows the results of these directives to be masked, so that tags do not go on with them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple

from localcdap.plugin_lib.wrangler.semantic_types.detection import detect_semantic_type
from localcdap.plugin_lib.wrangler.semantic_types.values import (
    is_address,
    is_card,
    is_email,
    is_iban,
    is_phone,
    list_countries,
)
from localcdap.workspace_views import ColumnMeaning, PrivacyHint

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


PII: Final = "pii"
"""The tag of every field with data about persons."""
_MASKED: Final = ("card", "iban", "phone", "national-id")
"""The types of which the last characters may show."""
_SHOWN: Final = 4
_MOST_OTHER: Final = 0.1
"""The share of values of another form, which a mask would cut."""


def find_meaning(name: str, values: Sequence[str]) -> ColumnMeaning | None:
    """Return what texts of a column mean; None when that is not known."""
    found = detect_semantic_type(name, values)
    if found is None:
        return None
    hints = list_privacy_hints(found.type, "{c}", values)
    return ColumnMeaning(found.type, found.label, found.share, hints, list_tags(found.type))


def list_privacy_hints(type: str, column: str, values: Sequence[str]) -> list[PrivacyHint]:
    """Return the directives for a column of a semantic type, the most useful one first.

    :param type: see :class:`.detection.SemanticMatch`.
    :param column: a name that directives can write without quotes.
    :param values: a sample of the column, from which the mask gets its form.
    """
    hints = [
        PrivacyHint("Hash", f"hash :{column} 'SHA-256' true"),
        PrivacyHint("Shuffle the characters", f"mask-shuffle :{column}"),
    ]
    mask = build_mask(values) if type in _MASKED else None
    if mask is not None:
        masked = PrivacyHint(
            f"Mask all but the last {_SHOWN} characters", f"mask-number :{column} '{mask}'"
        )
        hints.insert(0, masked)
    return hints


def list_tags(type: str) -> list[str]:
    """Return the tags for a field of a semantic type."""
    return [PII, type]


def build_mask(values: Sequence[str]) -> str | None:
    """Return the mask of the directive ``mask-number`` for values of one form; None when forms differ.

    >>> build_mask(["4111-1111-1111-1111"])
    'xxxx-xxxx-xxxx-####'
    """
    if not values:
        return None
    form, count = Counter(map(_mask, values)).most_common(1)[0]
    is_safe = form.isprintable() and not set(form) & {"'", "\\"}
    return form if is_safe and count >= (1 - _MOST_OTHER) * len(values) else None


def _mask(value: str) -> str:
    hidden = sum(map(str.isalnum, value)) - _SHOWN
    signs = []
    for character in value:
        if character.isalnum():
            signs.append("x" if hidden > 0 else "#")
            hidden -= 1
        else:
            signs.append(character)
    return "".join(signs)
