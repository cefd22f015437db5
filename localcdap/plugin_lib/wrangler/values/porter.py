"""The stems of English words (Porter, "An algorithm for suffix stripping", 1980, as published in code)."""

from __future__ import annotations

import itertools
import re
from typing import Final

_MOST: Final = 500
"""Characters of a word that count."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_DOUBLED: Final = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
    ("logi", "log"),
)  # fmt: skip
_DERIVED: Final = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
)  # fmt: skip
_LAST: Final = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def stems(words: list[str]) -> list[str]:
    """The stems of words, small. Of a word only its runs of letters count, each one a word.

    Letters beyond ASCII are taken byte by byte, as the original does.
    """
    found = []
    for word in words:
        bytes_as_letters = word.encode("utf-8", "replace").decode("latin-1").lower()
        found += [stem(run[0][:_MOST]) for run in _LETTERS.finditer(bytes_as_letters)]
    return found


def stem(word: str) -> str:
    """The stem of a word in small letters; words of two letters are stems."""
    if len(word) < 3:
        return word
    word = _without_y(_without_ending(_without_plural(word)))
    word = _shortened(_shortened(word, _DOUBLED), _DERIVED)
    return _without_e(_without_suffix(word))


def _consonants(word: str) -> list[bool]:
    """For each letter whether it is a consonant; a ``y`` is one unless it follows one."""
    kinds: list[bool] = []
    for letter in word:
        kinds.append((not kinds or not kinds[-1]) if letter == "y" else letter not in "aeiou")
    return kinds


def _measure(part: str) -> int:
    """How many times vowels are followed by consonants."""
    kinds = _consonants(part)
    return sum(not before and behind for before, behind in itertools.pairwise(kinds))


def _has_vowel(part: str) -> bool:
    return not all(_consonants(part))


def _is_doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonants(word)[-1]


def _is_short(word: str) -> bool:
    """Whether it ends with consonant, vowel, consonant, the last one not w, x or y."""
    return word[-1:] not in ("w", "x", "y") and _consonants(word)[-3:] == [True, False, True]


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _without_ending(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _has_vowel(word[: -len(ending)]):
            return _repaired(word[: -len(ending)])
    return word


def _repaired(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _is_doubled(word):
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _without_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _shortened(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, shorter in endings:
        if word.endswith(ending):
            part = word[: -len(ending)]
            return part + shorter if _measure(part) > 0 else word
    return word


def _without_suffix(word: str) -> str:
    for ending in _LAST:
        if not word.endswith(ending):
            continue
        part = word[: -len(ending)]
        if ending == "ion" and not part.endswith(("s", "t")):
            continue
        return part if _measure(part) > 1 else word
    return word


def _without_e(word: str) -> str:
    if word.endswith("e"):
        part = word[:-1]
        measure = _measure(part)
        if measure > 1 or (measure == 1 and not _is_short(part)):
            word = part
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
