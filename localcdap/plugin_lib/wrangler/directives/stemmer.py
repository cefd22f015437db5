"""The directive that finds the stems of words.

The stems of English words: Porter's "An algorithm for suffix stripping" (1980), as in his own code.

That code, which wrangler uses, differs from the paper in two rules (``bli`` and ``logi``): the stem of
*possibly* is *possibl*, of *archaeology* it is *archaeolog*. snowballstemmer implements the paper, and takes
six times as long.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, Final

from localcdap.api.directive import Columns, Directive, Row, RowContext, argument, plugin
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.recipe.base_directives import make_type_error

_MAX_WORD: Final = 500
"""Characters of a word that are used."""
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


def list_stems(words: list[str]) -> list[str]:
    """Return the stems of words, in lower case. Each run of letters counts as a word.

    Non-ASCII letters are read byte by byte, as in the original.
    """
    found = []
    for word in words:
        bytes_as_letters = word.encode("utf-8", "replace").decode("latin-1").lower()
        found += [stem(run[0][:_MAX_WORD]) for run in _LETTERS.finditer(bytes_as_letters)]
    return found


def stem(word: str) -> str:
    """Return the stem of a word in lower case; a word of two letters is its stem."""
    if len(word) < 3:
        return word
    word = _replace_y(_remove_ending(_remove_plural(word)))
    word = _replace_suffix(_replace_suffix(word, _DOUBLED), _DERIVED)
    return _remove_e(_remove_suffix(word))


def _find_consonants(word: str) -> list[bool]:
    """Return for each letter whether it is a consonant; a ``y`` after a consonant is not a consonant."""
    kinds: list[bool] = []
    for letter in word:
        kinds.append((not kinds or not kinds[-1]) if letter == "y" else letter not in "aeiou")
    return kinds


def _measure(part: str) -> int:
    """Count how many times a consonant follows a vowel."""
    kinds = _find_consonants(part)
    return sum(not before and after for before, after in itertools.pairwise(kinds))


def _has_vowel(part: str) -> bool:
    return not all(_find_consonants(part))


def _is_doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _find_consonants(word)[-1]


def _is_short(word: str) -> bool:
    """Whether a word ends with consonant, vowel, consonant, and the last is not w, x or y."""
    return word[-1:] not in ("w", "x", "y") and _find_consonants(word)[-3:] == [True, False, True]


def _remove_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _remove_ending(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _has_vowel(word[: -len(ending)]):
            return _repair(word[: -len(ending)])
    return word


def _repair(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _is_doubled(word):
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _replace_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _replace_suffix(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, shorter in endings:
        if word.endswith(ending):
            part = word[: -len(ending)]
            return part + shorter if _measure(part) > 0 else word
    return word


def _remove_suffix(word: str) -> str:
    for ending in _LAST:
        if not word.endswith(ending):
            continue
        part = word[: -len(ending)]
        if ending == "ion" and not part.endswith(("s", "t")):
            continue
        return part if _measure(part) > 1 else word
    return word


def _remove_e(word: str) -> str:
    if word.endswith("e"):
        part = word[:-1]
        measure = _measure(part)
        if measure > 1 or (measure == 1 and not _is_short(part)):
            word = part
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


_WORD_SEPARATOR: Final = re.compile(r"\W+", re.ASCII)


@plugin(
    name="stemming",
    description="Puts the stems of English words into the column <column>_porter, as an array.",
)
class Stemming(Directive):
    categories = ("nlp",)
    examples = ("stemming :words",)
    keeps_values = True
    column: str = argument.column("The column with words: a text, or an array of texts.")

    def propagate(self, columns: Columns) -> None:
        columns.add(f"{self.column}_porter", Schema.array(Schema.STRING))

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        words = [] if found is None else self._split_words(row[found])
        row.add(f"{self.column}_porter", list_stems(words))

    def _split_words(self, value: Any) -> list[str]:
        if isinstance(value, str):
            return _WORD_SEPARATOR.split(value)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return value
        raise make_type_error(self.column, value, "a text or texts are needed")
