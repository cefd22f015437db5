"""Fuzzy matching of what a user types with what there is to choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from textual.fuzzy import FuzzySearch

_T = TypeVar("_T")

_SEARCH = FuzzySearch()


def match_query(query: str, text: str) -> tuple[float, list[int]] | None:
    """How well a text answers a query, and the places of its letters; None when it does not.

    Every word of the query must be found, in any order, its letters in theirs.
    """
    score = 0.0
    places: set[int] = set()
    for word in query.split():
        found, letters = _SEARCH.match(word, text)
        if not found:
            return None
        score += found
        places.update(letters)
    return score, sorted(places)


def rank_matches(query: str, items: Iterable[tuple[str, _T]]) -> list[tuple[_T, Sequence[int]]]:
    """The items whose text answers the query, best first; all, in their order, for an empty one."""
    found = [
        (result[0], result[1], item)
        for text, item in items
        if (result := match_query(query, text)) is not None
    ]
    if query.strip():
        found.sort(key=lambda each: -each[0])
    return [(item, places) for _, places, item in found]
