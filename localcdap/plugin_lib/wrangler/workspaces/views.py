"""A part of the rows of a workspace as a screen asks for it and shows it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from localcdap.api import Schema
from localcdap.plugin_lib.wrangler.workspaces.profiles import (
    describe_type,
    find_summary,
    format_shown_value,
    summarize_column,
)
from localcdap.plugin_lib.wrangler.workspaces.tables import ColumnTable
from localcdap.workspace_views import ColumnView, ValueSummary, ViewRequest


def describe_columns(
    table: ColumnTable, schema: Schema | None, request: ViewRequest
) -> list[ColumnView]:
    """Return the columns that are shown, those with profiles for which the time suffices."""
    shown = list(schema or ())[choose_columns(request)]
    seconds = request.profile_seconds
    until = math.inf if seconds is None else time.monotonic() + seconds
    found: dict[str, ValueSummary | None] = {}
    is_first = True
    for field in [*shown[request.nearest :], *shown[: request.nearest]]:
        if request.profiles is not None and field.name not in request.profiles:
            continue
        column = table.columns[field.name]
        summary = find_summary(column, field.name)
        if summary is None and (is_first or time.monotonic() < until):
            summary = summarize_column(column, field.name)
            is_first = False
        found[field.name] = summary
    return [
        ColumnView(each.name, describe_type(each.schema), found.get(each.name)) for each in shown
    ]


def choose_columns(request: ViewRequest) -> slice:
    """Return which columns are shown."""
    first = max(0, request.first_column)
    return slice(first, first + max(0, request.most_columns))


def show_rows(
    table: ColumnTable, request: ViewRequest, kept: Sequence[int] | None
) -> list[list[str | None]]:
    """Return the cells of the rows that are shown.

    :param kept: the indices of the rows that facets keep; None for all.
    """
    order: Sequence[int] = range(len(table)) if kept is None else kept
    if request.sort in table.columns:
        order = _sort(table, request.sort, is_descending=request.is_descending)
        if kept is not None:
            wanted = set(kept)
            order = [each for each in order if each in wanted]
    shown = order[max(0, request.offset) :][: max(0, request.limit)]
    columns = [column.values for column in list(table.columns.values())[choose_columns(request)]]
    return [[format_shown_value(values[index]) for values in columns] for index in shown]


def _sort(table: ColumnTable, name: str, *, is_descending: bool) -> list[int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = table.columns[name].array
    if pa.types.is_nested(array.type):
        array = pa.array(
            [format_shown_value(each) for each in table.columns[name].values], pa.string()
        )
    order = "descending" if is_descending else "ascending"
    found: list[int] = pc.sort_indices(array, sort_keys=[("", order)]).to_pylist()
    return found
