"""Values that are probably meant to be the same, found by keys and by distance.

The keys are those of OpenRefine (``FingerprintKeyer``, ``NGramFingerprintKeyer``, ``ColognePhoneticKeyer`` by
Apache Commons Codec ``ColognePhonetic``); distances are those of rapidfuzz.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import regex

_FOLDED: Final = {
    "ß": "ss",
    "æ": "ae",
    "ø": "oe",
    "å": "aa",
    "©": "c",
    "œ": "oe",
    "ð": "d",
    "đ": "d",
    "ɖ": "d",
    "þ": "th",
    "ƿ": "w",
    "ħ": "h",
    "ı": "i",
    "ĸ": "k",
    "ł": "l",
    "ŋ": "n",
    "ſ": "s",
    "ŧ": "t",
    "ẜ": "s",
    "ẝ": "s",
}
"""Letters that have no decomposition."""
_MARKS: Final = regex.compile(r"[\p{InCombiningDiacriticalMarks}\p{Lm}\p{Sk}]+")
_PUNCTUATION: Final = regex.compile(r"[\p{P}\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_BLANKS: Final = regex.compile(r"[\s\x85\p{Z}]+")
_MOST_COMPARED: Final = 3000
"""Values whose distances are computed: 9 million take about a second."""
_ALIKE: Final = 85.0
"""The least similarity of two values of a cluster, in per cent."""


def make_fingerprint(text: str) -> str:
    """Return the words of a text, each once and sorted, without case, accents and punctuation.

    >>> make_fingerprint(" école ÉCole  Été!")
    'ecole ete'
    """
    return " ".join(sorted(set(_BLANKS.split(_normalize(text).strip()))))


def make_ngram_fingerprint(text: str, size: int = 2) -> str:
    """Return the groups of so many letters of a text, each once and sorted.

    >>> make_ngram_fingerprint("a b c")
    'abbc'
    """
    plain = _BLANKS.sub("", _normalize(text))
    groups = {plain[start : start + size] for start in range(len(plain) - size + 1)}
    return "".join(sorted(groups))


def _normalize(text: str) -> str:
    stripped = _BLANKS.sub(" ", text).strip()
    folded = _MARKS.sub("", unicodedata.normalize("NFKD", stripped.lower()))
    plain: str = _PUNCTUATION.sub("", "".join(_FOLDED.get(each, each) for each in folded))
    return plain


def make_cologne_code(text: str) -> str:
    """Return how a text sounds in German, as digits.

    >>> make_cologne_code("Müller-Lüdenscheidt"), make_cologne_code("Meyer")
    ('65752682', '67')
    """
    letters = text.upper().translate({0xC4: "A", 0xD6: "O", 0xDC: "U"})
    code, last_code, last = "", "", "-"
    for index, letter in enumerate(letters):
        if not "A" <= letter <= "Z":
            continue
        following = letters[index + 1 : index + 2] or "-"
        for digit in _code_letter(letter, last, following, is_first=not code):
            if digit != last_code and (digit != "0" or not code):
                code += digit
            if digit != "0":
                last_code = digit
        last = letter
    return code


_PLAIN_CODES: Final = {
    **dict.fromkeys("AEIJOUY", "0"),
    **dict.fromkeys("B", "1"),
    **dict.fromkeys("FVW", "3"),
    **dict.fromkeys("GKQ", "4"),
    **dict.fromkeys("SZ", "8"),
    "R": "7",
    "L": "5",
    "M": "6",
    "N": "6",
    "H": "",
}


def _code_letter(letter: str, last: str, following: str, *, is_first: bool) -> str:
    match letter:
        case "P":
            return "3" if following == "H" else "1"
        case "D" | "T":
            return "8" if following in "CSZ" else "2"
        case "X":
            return "8" if last in "CKQ" else "48"
        case "C" if is_first:
            return "4" if following in "AHKLOQRUX" else "8"
        case "C":
            return "8" if last in "SZ" or following not in "AHKOQUX" else "4"
    return _PLAIN_CODES[letter]


KEYS: Final[Mapping[str, Callable[[str], str]]] = {
    "fingerprint": make_fingerprint,
    "ngram-fingerprint": make_ngram_fingerprint,
    "cologne-phonetic": make_cologne_code,
}
"""The keys by the names of their methods."""
DISTANCE: Final = "distance"
METHODS: Final = (*KEYS, DISTANCE)


def find_clusters(counts: Mapping[str, int], method: str) -> list[list[str]]:
    """Return the clusters of values, those of most rows first; in each, the most frequent value is first.

    Of values that are there equally often, the one that ``counts`` has first comes first.

    :param counts: how often each value is there.
    :param method: one of :data:`METHODS`.
    """
    values = sorted(counts, key=lambda value: -counts[value])
    if method == DISTANCE:
        groups = _group_by_distance(values[:_MOST_COMPARED])
    else:
        by_key: dict[str, list[str]] = {}
        for value in values:
            key = KEYS[method](value)
            if key:
                by_key.setdefault(key, []).append(value)
        groups = list(by_key.values())
    found = [group for group in groups if len(group) > 1]
    return sorted(found, key=lambda group: -sum(counts[value] for value in group))


def _group_by_distance(values: Sequence[str]) -> list[list[str]]:
    """Return groups in which each value is like the first, the most frequent one."""
    from rapidfuzz import fuzz, process

    folded = [value.strip().lower() for value in values]
    groups: list[list[str]] = []
    free = dict.fromkeys(range(len(values)))
    while free:
        first = next(iter(free))
        rest = {index: folded[index] for index in free}
        alike = process.extract(
            folded[first], rest, scorer=fuzz.ratio, score_cutoff=_ALIKE, limit=None
        )
        members = sorted({first, *(index for _, _, index in alike)})
        groups.append([values[index] for index in members])
        for index in members:
            del free[index]
    return groups
