"""Facets: how the rows are spread over the values of a column, several columns at once.

Each facet puts every row into one of its bins, so that the counts of its bins sum to the rows. A bin that
is chosen keeps its rows; the counts of a facet are those of the rows that all other facets keep. A bin whose
rows an expression can select has the condition, of which a directive is made.

Rows that are there several times, in all or in some of their columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.plugin_lib.wrangler.workspaces.bins import (
    KINDS,
    Bin,
    Bins,
    encode,
    find_kinds,
    get_plain_array,
    make_bins,
)
from localcdap.plugin_lib.wrangler.workspaces.tables import Column, ColumnTable
from localcdap.workspace_views import Facet, FacetBin, FacetView

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


_NAME: Final = re.compile(r"[a-zA-Z_]\w*", re.ASCII)
"""What expressions take for a name; a hyphen is a minus there."""


class FacetResult(msgspec.Struct):
    """All facets of a view, and the rows that they keep."""

    views: list[FacetView]
    rows: Sequence[int] | None
    """The indices of the rows that are kept; None for all."""


def apply_facets(table: ColumnTable, facets: Sequence[Facet]) -> FacetResult:
    """Return the counts of facets, and the rows that all of them keep."""
    import numpy as np

    if not facets:
        return FacetResult([], None)
    found = [_find_bins(table, facet) for facet in facets]
    masks = [_keep(facet, bins) for facet, bins in zip(facets, found, strict=True)]
    views = []
    for place, (facet, bins) in enumerate(zip(facets, found, strict=True)):
        others = [mask for n, mask in enumerate(masks) if n != place and mask is not None]
        views.append(_count(facet, bins, np.logical_and.reduce(others) if others else None))
    kept = [mask for mask in masks if mask is not None]
    if not kept:
        return FacetResult(views, None)
    rows: list[int] = np.flatnonzero(np.logical_and.reduce(kept)).tolist()
    return FacetResult(views, rows)


def list_facet_kinds(column: Column) -> list[str]:
    """Return the kinds of facets that fit a column, the most useful one first."""
    return [*find_kinds(column), DUPLICATES]


def _find_bins(table: ColumnTable, facet: Facet) -> Bins | str:
    """Return the bins of a facet, or why it has none."""
    if facet.kind == DUPLICATES:
        return find_duplicates(table, facet.column)
    column = table.columns.get(facet.column)
    if column is None:
        return f"there is no column {facet.column}"
    if facet.kind not in find_kinds(column):
        return f"{facet.column} has no {KINDS.get(facet.kind, facet.kind)} now"
    name = f"facet {facet.kind}"
    bins: Bins | None = column.facts.get(name)
    if bins is None:
        bins = column.facts[name] = make_bins(column, facet.kind)
    return bins


def _keep(facet: Facet, bins: Bins | str) -> np.ndarray | None:
    """Return which rows a facet keeps; None when it keeps all."""
    import numpy as np

    if isinstance(bins, str) or not facet.chosen:
        return None
    chosen = [place for place, each in enumerate(bins.bins) if each.key in facet.chosen]
    return np.isin(bins.places, chosen)


def _count(facet: Facet, bins: Bins | str, mask: np.ndarray | None) -> FacetView:
    import numpy as np

    if isinstance(bins, str):
        return FacetView(facet.column, facet.kind, problem=bins)
    places = bins.places if mask is None else bins.places[mask]
    counts = np.bincount(places, minlength=len(bins.bins))
    shown = [_show(each, int(count), facet) for each, count in zip(bins.bins, counts, strict=True)]
    return FacetView(facet.column, facet.kind, [each for each in shown if each is not None])


def _show(bin: Bin, count: int, facet: Facet) -> FacetBin | None:
    is_chosen = bin.key in facet.chosen
    if not count and not is_chosen and not bin.stays:
        return None
    condition = None
    if bin.condition is not None and _NAME.fullmatch(facet.column):
        condition = bin.condition.replace("\0", facet.column)
    return FacetBin(bin.key, bin.label, count, is_chosen, condition)
