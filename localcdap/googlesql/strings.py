"""Functions of GoogleSQL on STRINGs and BYTES (``string_functions.md`` of google/zetasql)."""

from __future__ import annotations

import unicodedata
from typing import Final

_SOUNDS: Final = {
    letter: digit
    for digit, letters in enumerate(("BFPV", "CGJKQSXZ", "DT", "L", "MN", "R"), start=1)
    for letter in letters
}


class StringError(ValueError):
    """An argument that a function on strings does not take."""


def soundex(text: str) -> str:
    """Return the SOUNDEX code: a letter, in its case, and three digits; empty when the text has no letter."""
    code, last = "", 0
    for each in text:
        letter = each.upper()
        if not (each.isascii() and "A" <= letter <= "Z"):
            continue
        digit = _SOUNDS.get(letter, 0)
        if not code:
            code = each
        elif digit and digit != last:
            code += str(digit)
        if letter not in "HW":
            last = digit
    return code[:4].ljust(4, "0") if code else ""


def normalize(text: str, form: str, *, folds_case: bool = False) -> str:
    """Return a text in a normal form of Unicode.

    :param form: NFC, NFKC, NFD or NFKD.
    """
    mode = form.upper()
    if mode not in ("NFC", "NFD", "NFKC", "NFKD"):
        raise StringError(f"Invalid normalize mode {form}")
    made = unicodedata.normalize(mode, text)  # type: ignore[arg-type]  # checked above
    return unicodedata.normalize(mode, made.casefold()) if folds_case else made  # type: ignore[arg-type]


def find_position(text: str, part: str, start: int = 1, occurrence: int = 1) -> int:
    """Return where INSTR finds a text, counted from 1; 0 when it does not.

    :param start: the position from which is searched; from the end, backwards, when negative.
    """
    if start == 0 or occurrence < 1:
        raise StringError(
            "Position must be non-zero in INSTR"
            if start == 0
            else "Occurrence must be positive in INSTR"
        )
    if abs(start) > len(text):
        return 0
    at = start - 1 if start > 0 else len(text) + start
    while True:
        found = text.find(part, at) if start > 0 else text.rfind(part, 0, at + max(len(part), 1))
        if found < 0:
            return 0
        occurrence -= 1
        if occurrence == 0:
            return found + 1
        at = found + 1 if start > 0 else found - 1
        if at < 0:
            return 0


def translate(text: str, source: str, target: str) -> str:
    """Return a text with each letter of the source replaced by that of the target, or removed.

    :raises StringError: for a letter that is twice in the source.
    """
    table: dict[int, str | None] = {}
    for at, letter in enumerate(source):
        if ord(letter) in table:
            raise StringError(f'Duplicate character "{letter}" in TRANSLATE source characters')
        table[ord(letter)] = target[at : at + 1] or None
    return text.translate(table)


def measure_distance(first: str, second: str) -> int:
    """Return the least number of characters to insert, delete or replace that makes two texts the same."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(first, second)
