"""Expectations that the values of a column suggest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from localcdap.expectations.rules import Expectation, read_rules
from localcdap.workspace_views import ColumnView, ValueSummary

_MOST_VALUES: Final = 20
"""Different values that a rule lists."""
_WHOLE: Final = ("int", "long")
_NUMBERS: Final = (*_WHOLE, "float", "double", "decimal")


def propose_rules(column: ColumnView) -> list[Expectation]:
    """Return the rules that all values of a sample fulfil, the simplest first."""
    if column.profile is None or not column.profile.rows:
        return []
    rules, _ = read_rules(list(_propose(column, column.profile)))
    return rules


def _propose(column: ColumnView, profile: ValueSummary) -> Iterator[dict[str, Any]]:
    name = column.name
    values = profile.rows - profile.nulls
    if not profile.nulls:
        yield {"rule": "not-null", "column": name}
    if values and profile.distinct == values:
        yield {"rule": "unique", "columns": [name]}
    low, high = (_read_bound(column.type, text) for text in (profile.lowest, profile.highest))
    if low is not None and high is not None:
        yield {"rule": "range", "column": name, "min": low, "max": high}
    is_listed = len(profile.top) == profile.distinct <= _MOST_VALUES
    if column.type == "string" and is_listed and profile.distinct < values:
        yield {"rule": "in-set", "column": name, "values": [each.value for each in profile.top]}


def _read_bound(type: str, text: str | None) -> int | float | str | None:
    """Return the lowest or the highest value as a rule has it; None for a type without a range."""
    if text is None or type not in (*_NUMBERS, "date"):
        return None
    if type == "date":
        return text
    try:
        return int(text) if type in _WHOLE else float(text)
    except ValueError:
        return None
