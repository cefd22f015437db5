"""Fuzzy matching of typed text with choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from textual.fuzzy import FuzzySearch

_T = TypeVar("_T")

_SEARCH = FuzzySearch()
_GOOD_SHARE: Final = 0.67
"""Of the best score. Five letters in a row score 15, in two places 9.8."""


def match_query(query: str, text: str) -> tuple[float, list[int]] | None:
    """Return the score of a text for a query and the indexes of the matched letters, or None.

    Every word of the query must match, in any order; the letters of a word must match in order.
    """
    score = 0.0
    indexes: set[int] = set()
    for word in query.split():
        found, letters = _SEARCH.match(word, text)
        if not found:
            return None
        score += found
        indexes.update(letters)
    return score, sorted(indexes)


def rank_matches(query: str, items: Iterable[tuple[str, _T]]) -> list[tuple[_T, Sequence[int]]]:
    """Return the items whose text matches the query, best first; all in their order for an empty query.

    A text that has only scattered letters of the query is left out when others match much better:
    'parse' finds "CSVParser", not "Time partitioned fileset".
    """
    found = [
        (result[0], result[1], item, text)
        for text, item in items
        if (result := match_query(query, text)) is not None
    ]
    if query.strip():
        found.sort(key=lambda each: -each[0])
        least = _GOOD_SHARE * max((score for score, *_ in found), default=0)
        words = query.lower().split()
        found = [
            each for each in found if each[0] >= least or all(w in each[3].lower() for w in words)
        ]
    return [(item, indexes) for _, indexes, item, _ in found]
