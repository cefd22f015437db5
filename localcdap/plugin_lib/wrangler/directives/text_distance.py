"""Directives that measure how similar the texts of two columns are.

The similarity of texts: the metrics of SimMetrics 4 and their distances.

Words are what whitespace separates, and characters are UTF-16 units. All results are single precision
numbers, as the original's floats.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from math import sqrt
from typing import Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.strings import round_to_float
from localcdap.java.text_units import to_units

Measure = Callable[[str, str], float]
Words = Counter[str]


def round_to_single(number: float) -> float:
    """Round a number to single precision."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def _count_words(text: str) -> Words:
    return Counter(text.split())


def _count_pairs(text: str) -> Words:
    """Count the pairs of adjacent characters in words; a single character counts as a pair."""
    found: Words = Counter()
    for word in text.split():
        found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
    return found


def _measure_words(
    take: Callable[[str], Words], measure: Callable[[Words, Words], float]
) -> Measure:
    """Make a metric over words: texts without words are equal, and different from all others."""

    def compare(one: str, other: str) -> float:
        a, b = take(one), take(other)
        if not a or not b:
            return 1.0 if not a and not b else 0.0
        return measure(a, b)

    return compare


def _measure_cosine(a: Words, b: Words) -> float:
    dot = sum(count * b[word] for word, count in a.items())
    return dot / (sqrt(_sum_squares(a)) * sqrt(_sum_squares(b)))


def _sum_squares(words: Words) -> int:
    return sum(count * count for count in words.values())


def _block_distance(a: Words, b: Words) -> float:
    return sum(abs(a[word] - b[word]) for word in a | b)


def _measure_euclidean_distance(a: Words, b: Words) -> float:
    return round_to_single(sqrt(sum((a[word] - b[word]) ** 2 for word in a | b)))


def _measure_euclidean(a: Words, b: Words) -> float:
    return 1 - _measure_euclidean_distance(a, b) / round_to_single(
        sqrt(a.total() ** 2 + b.total() ** 2)
    )


def _measure_dice(a: Words, b: Words) -> float:
    return 2 * len(a.keys() & b.keys()) / (len(a) + len(b))


def _measure_jaccard(a: Words, b: Words) -> float:
    return len(a.keys() & b.keys()) / len(a.keys() | b.keys())


def _overlap(a: Words, b: Words) -> float:
    return len(a.keys() & b.keys()) / min(len(a), len(b))


def _measure_generalized_jaccard(a: Words, b: Words) -> float:
    return (a & b).total() / (a | b).total()


def _measure_simon_white(a: Words, b: Words) -> float:
    return 2 * (a & b).total() / (a.total() + b.total())


def _measure_jaro(one: str, other: str) -> float:
    if not one or not other:
        return 1.0 if one == other else 0.0
    window = max(0, max(len(one), len(other)) // 2 - 1)
    common_one = _find_common(one, other, window)
    common_other = _find_common(other, one, window)
    if not common_one or not common_other:
        return 0.0
    count = len(common_one)
    turned = sum(a != b for a, b in zip(common_one, common_other, strict=True)) / 2
    return (count / len(one) + count / len(other) + (count - turned) / count) / 3


def _find_common(one: str, other: str, window: int) -> list[str]:
    left: list[str | None] = list(other)
    found = []
    for at, character in enumerate(one):
        for place in range(max(0, at - window), min(at + window + 1, len(left))):
            if left[place] == character:
                left[place] = None
                found.append(character)
                break
    return found


def _measure_levenshtein(one: str, other: str) -> int:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(one, other)


def _measure_damerau(one: str, other: str) -> int:
    from rapidfuzz.distance import OSA

    return OSA.distance(one, other)


def _measure_subsequence(one: str, other: str) -> int:
    from rapidfuzz.distance import LCSseq

    return LCSseq.similarity(one, other)


def _measure_substring(one: str, other: str) -> int:
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


def _normalize_edits(count: Callable[[str, str], int]) -> Measure:
    def compare(one: str, other: str) -> float:
        longest = max(len(one), len(other))
        return 1.0 if longest == 0 else 1 - count(one, other) / longest

    return compare


def _normalize_shared(count: Callable[[str, str], int]) -> Measure:
    def compare(one: str, other: str) -> float:
        longest = max(len(one), len(other))
        return 1.0 if longest == 0 else count(one, other) / longest

    return compare


def _count_unshared(count: Callable[[str, str], int]) -> Measure:
    return lambda one, other: len(one) + len(other) - 2 * count(one, other)


def _invert(compare: Measure) -> Measure:
    return lambda one, other: 1 - round_to_single(compare(one, other))


def _measure_difference(measure: Callable[[Words, Words], float]) -> Measure:
    return lambda one, other: measure(_count_words(one), _count_words(other))


def _measure_identity(one: str, other: str) -> float:
    return 1.0 if one == other else 0.0


_BLOCK: Final = _measure_words(
    _count_words, lambda a, b: 1 - _block_distance(a, b) / (a.total() + b.total())
)
_METRICS: Final[dict[str, Measure]] = {
    "cosine": _measure_words(_count_words, _measure_cosine),
    "euclidean": lambda one, other: (
        _measure_euclidean(_count_words(one), _count_words(other))
        if one.split() or other.split()
        else 1.0
    ),
    "block": _BLOCK,
    "block-metric": _BLOCK,
    "identity": _measure_identity,
    "dice": _measure_words(_count_words, _measure_dice),
    "longest-common-subsequence": _normalize_shared(_measure_subsequence),
    "longest-common-substring": _normalize_shared(_measure_substring),
    "overlap-cofficient": _measure_words(_count_words, _overlap),
    "jaccard": _measure_words(_count_words, _measure_jaccard),
    "damerau-levenshtein": _normalize_edits(_measure_damerau),
    "generalized-jaccard": _measure_words(_count_words, _measure_generalized_jaccard),
    "jaro": _measure_jaro,
    "simon-white": _measure_words(_count_pairs, _measure_simon_white),
    "levenshtein": _normalize_edits(_measure_levenshtein),
}
_DISTANCES: Final[dict[str, Measure]] = {
    **{name: _invert(metric) for name, metric in _METRICS.items() if name != "block-metric"},
    "euclidean": _measure_difference(_measure_euclidean_distance),
    "block": _measure_difference(_block_distance),
    "block-distance": _measure_difference(_block_distance),
    "longest-common-subsequence": _count_unshared(_measure_subsequence),
    "longest-common-substring": _count_unshared(_measure_substring),
    "damerau-levenshtein": _measure_damerau,
    "levenshtein": _measure_levenshtein,
}
_LONGEST: Final = {
    **dict.fromkeys(("jaro", "longest-common-substring"), 5_000),
    **dict.fromkeys(("levenshtein", "damerau-levenshtein", "longest-common-subsequence"), 50_000),
}
"""Characters of texts that are compared by a method whose time grows with the square of the length."""


def find_metric(method: str) -> Measure:
    """Return the similarity of a method, from 0 to 1; cosine for an unknown method.

    The function raises :class:`ValueError` for texts that are too long for the method.
    """
    return _limit_length(method.lower(), _METRICS)


def find_distance(method: str) -> Measure:
    """Return the distance of a method; cosine for an unknown method. Raises as :func:`find_metric`."""
    return _limit_length(method.lower(), _DISTANCES)


def _limit_length(method: str, measures: Mapping[str, Measure]) -> Measure:
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


class _Comparison(Directive):
    makes = ("destination",)
    method: str = argument.text(
        "euclidean, block, identity, dice, jaccard, jaro, levenshtein, damerau-levenshtein, simon-white, "
        "overlap-cofficient, generalized-jaccard, longest-common-subsequence, longest-common-substring; "
        "cosine for any other word."
    )
    column1: str = argument.column("One column.")
    column2: str = argument.column("The other one.")
    destination: str = argument.column("The new column; 0 unless both values are texts.")

    @cached_property
    def _function(self) -> Measure:
        return self.find_measure()

    def find_measure(self) -> Measure:
        raise NotImplementedError

    def propagate(self, columns: Columns) -> None:
        columns.add(self.destination, Schema.FLOAT)

    def change(self, row: Row, context: RowContext) -> None:
        one, other = row.value(self.column1), row.value(self.column2)
        measured = 0.0
        if isinstance(one, str) and isinstance(other, str) and one and other:
            try:
                measured = round_to_float(self._function(to_units(one), to_units(other)))
            except ValueError as error:
                raise DirectiveError(str(error)) from None
        row.add(self.destination, measured)


@plugin(name="text-distance", description="Measures the distance of two texts.")
class TextDistance(_Comparison):
    categories = ("transform",)
    examples = ("text-distance block :name :other_name :distance",)

    def find_measure(self) -> Measure:
        return find_distance(self.method)


@plugin(name="text-metric", description="Measures the similarity of two texts, 0 to 1.")
class TextMetric(_Comparison):
    categories = ("transform",)
    examples = ("text-metric jaro :name :other_name :likeness",)

    def find_measure(self) -> Measure:
        return find_metric(self.method)
