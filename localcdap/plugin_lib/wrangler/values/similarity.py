"""How alike two texts are: the metrics of SimMetrics 4 and the distances that belong to them.

Words are what whitespace separates. All results are single precision numbers, as the original's floats.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Mapping
from math import sqrt
from typing import Final

Measure = Callable[[str, str], float]
Words = Counter[str]


def single(number: float) -> float:
    """The number rounded to single precision."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def _words(text: str) -> Words:
    return Counter(text.split())


def _pairs(text: str) -> Words:
    """Pairs of neighbouring characters within words; a word of one character is its own pair."""
    found: Words = Counter()
    for word in text.split():
        found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
    return found


def _on(take: Callable[[str], Words], measure: Callable[[Words, Words], float]) -> Measure:
    """A metric over words: texts without any are alike, and unlike all others."""

    def compare(one: str, other: str) -> float:
        a, b = take(one), take(other)
        if not a or not b:
            return 1.0 if not a and not b else 0.0
        return measure(a, b)

    return compare


def _cosine(a: Words, b: Words) -> float:
    dot = sum(count * b[word] for word, count in a.items())
    return dot / (sqrt(_square(a)) * sqrt(_square(b)))


def _square(words: Words) -> int:
    return sum(count * count for count in words.values())


def _block_distance(a: Words, b: Words) -> float:
    return sum(abs(a[word] - b[word]) for word in a | b)


def _euclidean_distance(a: Words, b: Words) -> float:
    return single(sqrt(sum((a[word] - b[word]) ** 2 for word in a | b)))


def _euclidean(a: Words, b: Words) -> float:
    return 1 - _euclidean_distance(a, b) / single(sqrt(a.total() ** 2 + b.total() ** 2))


def _dice(a: Words, b: Words) -> float:
    return 2 * len(a.keys() & b.keys()) / (len(a) + len(b))


def _jaccard(a: Words, b: Words) -> float:
    return len(a.keys() & b.keys()) / len(a.keys() | b.keys())


def _overlap(a: Words, b: Words) -> float:
    return len(a.keys() & b.keys()) / min(len(a), len(b))


def _generalized_jaccard(a: Words, b: Words) -> float:
    return (a & b).total() / (a | b).total()


def _simon_white(a: Words, b: Words) -> float:
    return 2 * (a & b).total() / (a.total() + b.total())


def _jaro(one: str, other: str) -> float:
    if not one or not other:
        return 1.0 if one == other else 0.0
    window = max(0, max(len(one), len(other)) // 2 - 1)
    common_one = _common(one, other, window)
    common_other = _common(other, one, window)
    if not common_one or not common_other:
        return 0.0
    count = len(common_one)
    turned = sum(a != b for a, b in zip(common_one, common_other, strict=True)) / 2
    return (count / len(one) + count / len(other) + (count - turned) / count) / 3


def _common(one: str, other: str, window: int) -> list[str]:
    left: list[str | None] = list(other)
    found = []
    for at, character in enumerate(one):
        for place in range(max(0, at - window), min(at + window + 1, len(left))):
            if left[place] == character:
                left[place] = None
                found.append(character)
                break
    return found


def _levenshtein(one: str, other: str) -> int:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(one, other)


def _damerau(one: str, other: str) -> int:
    from rapidfuzz.distance import OSA

    return OSA.distance(one, other)


def _subsequence(one: str, other: str) -> int:
    from rapidfuzz.distance import LCSseq

    return LCSseq.similarity(one, other)


def _substring(one: str, other: str) -> int:
    best = 0
    row = [0] * (len(other) + 1)
    for a in one:
        previous = 0
        for at, b in enumerate(other, 1):
            kept = row[at]
            row[at] = previous + 1 if a == b else 0
            best = max(best, row[at])
            previous = kept
    return best


def _edited(count: Callable[[str, str], int]) -> Measure:
    def compare(one: str, other: str) -> float:
        longest = max(len(one), len(other))
        return 1.0 if longest == 0 else 1 - count(one, other) / longest

    return compare


def _shared(count: Callable[[str, str], int]) -> Measure:
    def compare(one: str, other: str) -> float:
        longest = max(len(one), len(other))
        return 1.0 if longest == 0 else count(one, other) / longest

    return compare


def _unshared(count: Callable[[str, str], int]) -> Measure:
    return lambda one, other: len(one) + len(other) - 2 * count(one, other)


def _unlike(compare: Measure) -> Measure:
    return lambda one, other: 1 - single(compare(one, other))


def _between(measure: Callable[[Words, Words], float]) -> Measure:
    return lambda one, other: measure(_words(one), _words(other))


def _identity(one: str, other: str) -> float:
    return 1.0 if one == other else 0.0


_BLOCK: Final = _on(_words, lambda a, b: 1 - _block_distance(a, b) / (a.total() + b.total()))
_METRICS: Final[dict[str, Measure]] = {
    "cosine": _on(_words, _cosine),
    "euclidean": lambda one, other: (
        _euclidean(_words(one), _words(other)) if one.split() or other.split() else 1.0
    ),
    "block": _BLOCK,
    "block-metric": _BLOCK,
    "identity": _identity,
    "dice": _on(_words, _dice),
    "longest-common-subsequence": _shared(_subsequence),
    "longest-common-substring": _shared(_substring),
    "overlap-cofficient": _on(_words, _overlap),
    "jaccard": _on(_words, _jaccard),
    "damerau-levenshtein": _edited(_damerau),
    "generalized-jaccard": _on(_words, _generalized_jaccard),
    "jaro": _jaro,
    "simon-white": _on(_pairs, _simon_white),
    "levenshtein": _edited(_levenshtein),
}
_DISTANCES: Final[dict[str, Measure]] = {
    **{name: _unlike(metric) for name, metric in _METRICS.items() if name != "block-metric"},
    "euclidean": _between(_euclidean_distance),
    "block": _between(_block_distance),
    "block-distance": _between(_block_distance),
    "longest-common-subsequence": _unshared(_subsequence),
    "longest-common-substring": _unshared(_substring),
    "damerau-levenshtein": _damerau,
    "levenshtein": _levenshtein,
}
_LONGEST: Final = {
    **dict.fromkeys(("jaro", "longest-common-substring"), 5_000),
    **dict.fromkeys(("levenshtein", "damerau-levenshtein", "longest-common-subsequence"), 50_000),
}
"""Characters that can be compared in bearable time, where it grows with their square."""


def metric(method: str) -> Measure:
    """How alike two texts are, from 0 to 1; cosine for a method that is none.

    The function raises :class:`ValueError` for texts that are too long for the method.
    """
    return _limited(method.lower(), _METRICS)


def distance(method: str) -> Measure:
    """How far two texts are from each other; cosine for a method that is none. Raises as :func:`metric`."""
    return _limited(method.lower(), _DISTANCES)


def _limited(method: str, measures: Mapping[str, Measure]) -> Measure:
    measure = measures.get(method, measures["cosine"])
    longest = _LONGEST.get(method)
    if longest is None:
        return measure

    def compare(one: str, other: str) -> float:
        if max(len(one), len(other)) > longest:
            raise ValueError(
                f"texts of more than {longest} characters are not compared by '{method}'"
            )
        return measure(one, other)

    return compare
