"""``string:``: what texts have in common, and where they differ."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.plugin_lib.jexl.functions.strings.namespace import string


@string("S S -> S")
def difference(first: str | None, second: str | None) -> str | None:
    if first is None or second is None:
        return second if first is None else first
    at = index_of_difference(first, second)
    return "" if at < 0 else second[at:]


@string("S S -> I", "indexOfDifference")
def index_of_difference(first: str | None, second: str | None) -> int:
    if first == second:
        return -1
    if first is None or second is None:
        return 0
    return common_length([first, second])


@string("A -> I")
def indexOfDifference(texts: Any) -> int:
    texts = list(texts or ())
    if len(texts) <= 1 or len(set(texts)) == 1:
        return -1
    return 0 if None in texts else common_length(texts)


def common_length(texts: list[str]) -> int:
    shortest = min(texts, key=len)
    for at, char in enumerate(shortest):
        if any(text[at] != char for text in texts):
            return at
    return len(shortest)


@string("A -> S!")
def getCommonPrefix(texts: Any) -> str:
    texts = list(texts or ())
    if not texts or None in texts:
        return ""
    return str(texts[0][: common_length(texts)])


@string("S S -> I")
def getLevenshteinDistance(first: str | None, second: str | None) -> int:
    if first is None or second is None:
        raise ValueError("Strings must not be null")
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(first, second))
