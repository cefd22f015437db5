"""What Data Prep says of the rows of a workspace: names that columns should not have, and what cells hold.

Rules, texts and numbers are those of wrangler ``ColumnNameValidator``, ``BasicStatistics`` and
``wrangler-finder.xml``. A value counts once for each kind of which a pattern matches anywhere in it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from localcdap.decoders import decode_json
from localcdap.java.regex import Regex, compile_regex

_PLAIN_NAME: Final = re.compile(r"[a-zA-Z0-9_]*")
_LONGEST_NAME: Final = 255
_LIMIT_S: Final = 10.0
"""The time for finding kinds of values, after which the rest is not looked at."""
_LONGEST_VALUE: Final = 2_000
"""Characters of a value that are looked at: some patterns take seconds for longer texts."""


class ColumnStatistics(msgspec.Struct, omit_defaults=True):
    """What the cells of a column hold."""

    general: dict[str, float] = {}
    """Per cent of the rows whose cell is ``null``, ``non-null`` and ``empty``; without those that are 0."""
    types: dict[str, float] | None = None
    """Per cent of the rows whose text has something of a kind, such as ``Email``; None for no texts."""


class ColumnValidation(msgspec.Struct, omit_defaults=True):
    """Whether a name can be that of a column in most databases."""

    valid: bool
    message: str | None = None


class Summary(msgspec.Struct):
    """The summary of all rows of a workspace, by column."""

    validation: dict[str, ColumnValidation]
    statistics: dict[str, ColumnStatistics]


def summarize(rows: Sequence[Mapping[str, Any]]) -> Summary:
    """Return the summary of rows."""
    names = dict.fromkeys(name for row in rows for name in row)
    until = time.monotonic() + _LIMIT_S
    statistics = {
        name: _describe([row[name] for row in rows if name in row], len(rows), until)
        for name in names
    }
    return Summary({name: validate_name(name) for name in names}, statistics)


def validate_name(name: str) -> ColumnValidation:
    """Return whether a column may have a name."""
    if not _PLAIN_NAME.fullmatch(name):
        return ColumnValidation(False, f"Column '{name}' contains non-alphanumeric characters")
    if name in _load_reserved_names():
        return ColumnValidation(False, f"Column '{name}' is a reserved word.")
    if len(name) > _LONGEST_NAME:
        return ColumnValidation(False, f"Column '{name}' is greater than 255 characters.")
    return ColumnValidation(True)


def _describe(values: list[Any], total: int, until: float) -> ColumnStatistics:
    nulls = sum(value is None for value in values)
    texts = Counter(value for value in values if isinstance(value, str))
    counts = {"null": nulls, "non-null": len(values) - nulls, "empty": texts.pop("", 0)}
    kinds: Counter[str] = Counter()
    for text, number in texts.items():
        if time.monotonic() > until:
            break
        for kind in find_kinds(text):
            kinds[kind] += number
    return ColumnStatistics(
        _to_percentages(counts, total), _to_percentages(kinds, total) if kinds else None
    )


def _to_percentages(counts: Mapping[str, int], total: int) -> dict[str, float]:
    return {name: number / total * 100 for name, number in sorted(counts.items()) if number}


def find_kinds(text: str) -> list[str]:
    """Return the kinds of values of which a text has one, such as ``Email``."""
    shown = text[:_LONGEST_VALUE]
    return [kind for kind, patterns in _load_finders() if _matches_any(patterns, shown)]


def _matches_any(patterns: Iterable[Regex], text: str) -> bool:
    for pattern in patterns:
        try:
            if pattern.search(text) is not None:
                return True
        except TimeoutError:
            continue
    return False


@lru_cache(maxsize=1)
def _load_reserved_names() -> frozenset[str]:
    return frozenset(files(__package__).joinpath("reserved_names.txt").read_text().split())


@lru_cache(maxsize=1)
def _load_finders() -> list[tuple[str, list[Regex]]]:
    text = files(__package__).joinpath("finders.json").read_bytes()
    # The library of the original compiles them with these flags.
    return [
        (kind, [compile_regex(f"(?im){pattern}") for pattern in patterns])
        for kind, patterns in decode_json(text, type=dict[str, list[str]]).items()
    ]
