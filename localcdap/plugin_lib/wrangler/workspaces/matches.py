"""Columns of two workspaces whose values meet, so that their rows can be joined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from localcdap.plugin_lib.wrangler.workspaces.profiles import format_shown_value
from localcdap.plugin_lib.wrangler.workspaces.tables import Column
from localcdap.workspace_views import ColumnMatch

_COLUMNS: Final = 100
"""The first columns of each side that are compared."""
_MOST: Final = 12


def find_matches(left: Mapping[str, Column], right: Mapping[str, Column]) -> list[ColumnMatch]:
    """Return the pairs of columns that share values, those of most rows first; of equal ones those of a name.

    Values are compared as the texts that cells show, so that 1 and '1' are equal.
    """
    ours = {name: _count(column) for name, column in list(left.items())[:_COLUMNS]}
    theirs = {name: _count(column) for name, column in list(right.items())[:_COLUMNS]}
    found = []
    for name, counts in ours.items():
        for other, others in theirs.items():
            rows = sum(counts[value] for value in counts.keys() & others.keys())
            if rows:
                is_unique = max(others.values()) == 1
                total = len(left[name].values)
                found.append(ColumnMatch(name, other, rows, total, is_unique))
    found.sort(key=lambda each: (-each.rows, not each.is_unique, each.left != each.right))
    return found[:_MOST]


def _count(column: Column) -> Counter[str]:
    texts = map(format_shown_value, column.values)
    return Counter(each for each in texts if each)
