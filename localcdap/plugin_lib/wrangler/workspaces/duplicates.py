"""Rows that are there several times, in all or in some of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.plugin_lib.wrangler.workspaces.bins import Bin, Bins, encode, get_plain_array
from localcdap.plugin_lib.wrangler.workspaces.tables import Column, ColumnTable

if TYPE_CHECKING:
    import numpy as np

DUPLICATES: Final = "duplicates"
"""The kind of the facet. Recipes have no directive that drops duplicates, so its bins have no conditions."""


def find_duplicates(table: ColumnTable, names: str) -> Bins | str:
    """Return which rows are there once, first of several, or again; or why that cannot be said.

    :param names: of the columns that are compared, separated by commas; "" for all.
    """
    import numpy as np

    chosen = names.split(",") if names else list(table.columns)
    missing = [name for name in chosen if name not in table.columns]
    if missing:
        return f"there is no column {missing[0]}"
    groups = np.zeros(len(table), np.int64)
    for name in chosen:
        codes = _code(table.columns[name])
        _, groups = np.unique(groups * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    _, first, counts = np.unique(groups, return_index=True, return_counts=True)
    places = np.where(counts[groups] > 1, 2, 0)
    places[first[counts > 1]] = 1
    bins = [
        Bin("once", "once", stays=True),
        Bin("first", "first of several", stays=True),
        Bin("again", "again", stays=True),
    ]
    return Bins(bins, places)


def _code(column: Column) -> np.ndarray:
    """Return a whole number from 0 for each value; null is a value too."""
    codes, _ = encode(get_plain_array(column))
    return codes.astype("int64") + 1
