"""Finds the phrases in a text that are dates: the search of Natty's ``Parser.java``."""

from __future__ import annotations

import functools
from typing import Final, NamedTuple

from localcdap.plugin_lib.wrangler.natural_dates.combinators import Parse
from localcdap.plugin_lib.wrangler.natural_dates.grammar import INVALID, Phrase, parse_phrase
from localcdap.plugin_lib.wrangler.natural_dates.lexer import (
    INTEGER,
    SPACE,
    UNKNOWN,
    Token,
    may_start,
    split_tokens,
)

_TRAILING: Final = frozenset(".:,-/+'")
"""Tokens that mean nothing at the end."""

_MOST_TOKENS: Final = 64
"""No date is longer. Bounds the time and the depth of one attempt in a text of repeated words."""

_MOST_ATTEMPTS: Final = 300
"""How often one run of known words is tried, which bounds its time. People write fewer than 50 of them."""

_TIME_OPERATIONS: Final = ("hour", "minute", "second")


@functools.lru_cache(maxsize=8192)
def find_phrases(text: str) -> tuple[Phrase, ...]:
    """Return the phrases of a text in their order. They do not depend on the present time."""
    runs = _collect_runs(split_tokens(text))
    found = []
    for tokens in runs:
        attempt = _search_run(tokens, text)
        phrase = attempt.phrase
        if phrase is not None and (len(runs) == 1 or _names_date(phrase) or not attempt.is_number):
            found.append(phrase)
    return tuple(found)


def _collect_runs(tokens: list[Token]) -> list[list[Token]]:
    """Return the runs of known tokens that begin with one that may start a date."""
    runs: list[list[Token]] = []
    current: list[Token] | None = None
    for token in tokens:
        if current is None:
            if token.kind != SPACE and may_start(token):
                current = [token]
                runs.append(current)
        elif token.kind == UNKNOWN:
            current = None
        else:
            current.append(token)
    for run in runs:
        while run and run[-1].kind in _TRAILING:
            run.pop()
    return [run for run in runs if run]


class _Attempt(NamedTuple):
    phrase: Phrase | None
    furthest: int
    """The last position that the attempt has looked at."""
    end: int = 0
    """The index in the text at which the phrase ends."""
    is_number: bool = False
    """Whether the phrase has only digits, like the 5 of ``5 people``."""


def _search_run(tokens: list[Token], text: str) -> _Attempt:
    """Parse a run without more and more tokens at the end, then at the beginning, until a phrase is found."""
    limit = min(len(tokens), _MOST_TOKENS)
    attempt = _parse(tokens, limit, text)
    while attempt.phrase is None and limit > 1:
        limit = min(limit - 1, attempt.furthest)
        attempt = _parse(tokens, limit, text)
    begin = 0
    while attempt.phrase is None and begin < min(len(tokens), _MOST_ATTEMPTS):
        begin += 1
        while begin < len(tokens) and not may_start(tokens[begin]):
            begin += 1
        rest = tokens[begin : begin + _MOST_TOKENS]
        attempt = _parse(rest, len(rest), text)
        if attempt.is_number and rest[-1].end > attempt.end:
            attempt = attempt._replace(phrase=None)  # the 11 of "4711 of 1 may"
    return attempt


def _parse(tokens: list[Token], limit: int, text: str) -> _Attempt:
    run = Parse(tokens, limit)
    found = parse_phrase(run) if limit else None
    if found is None:
        return _Attempt(None, run.furthest)
    phrase, count = found
    if any(INVALID in moment for moment in phrase.moments):
        return _Attempt(None, run.furthest)
    start, end = tokens[0].start, tokens[count - 1].end
    if text[max(start - 1, 0) : start].isalpha() or text[end : end + 1].isalpha():
        return _Attempt(None, run.furthest)
    return _Attempt(phrase, run.furthest, end, all(t.kind == INTEGER for t in tokens[:count]))


def _names_date(phrase: Phrase) -> bool:
    parts = [*phrase.moments, *([phrase.until] if phrase.until else [])]
    return any(
        operation[0] != "set_time" and operation[-1] not in _TIME_OPERATIONS
        for part in parts
        for operation in part
    )
