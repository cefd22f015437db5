"""The rows before and after a step side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from localcdap.plugin_lib.wrangler.workspaces.profiles import format_shown_value
from localcdap.plugin_lib.wrangler.workspaces.tables import Column, ColumnTable
from localcdap.plugin_lib.wrangler.workspaces.views import choose_columns
from localcdap.workspace_views import RowChange, ViewRequest


def compare_rows(
    before: ColumnTable, after: ColumnTable, request: ViewRequest
) -> tuple[list[list[str | None]], list[RowChange]]:
    """Return the rows after a step, with those that it dropped in their places, and what became of each.

    Rows of the same record of the sample belong together, in order. A dropped row has its values as far as
    the columns are there after the step. At most as many rows are returned as the request asks for.
    """
    names = list(after.columns)[choose_columns(request)]
    old = [before.columns.get(name) for name in names]
    new = [after.columns[name] for name in names]
    rows: list[list[str | None]] = []
    changes: list[RowChange] = []
    for left, right in _pair(before.origins, after.origins):
        if len(rows) >= request.limit:
            break
        if right is None:
            assert left is not None
            rows.append([None if c is None else format_shown_value(c.values[left]) for c in old])
            changes.append(RowChange("dropped"))
            continue
        rows.append([format_shown_value(c.values[right]) for c in new])
        changes.append(RowChange("new") if left is None else _compare(old, new, left, right))
    return rows, changes


def _pair(before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[int | None, int | None]]:
    """Yield the indices of the rows that belong together; None where there is none."""
    old, new = _group(before), _group(after)
    for record in sorted(old.keys() | new.keys()):
        yield from zip_longest(old.get(record, ()), new.get(record, ()))


def _group(origins: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for index, record in enumerate(origins):
        found.setdefault(record, []).append(index)
    return found


def _compare(
    old: Sequence[Column | None], new: Sequence[Column], left: int, right: int
) -> RowChange:
    before: list[tuple[int, str | None]] = []
    for place, (one, other) in enumerate(zip(old, new, strict=True)):
        if one is None or one is other:
            continue
        was, now = one.values[left], other.values[right]
        if was is not now and (type(was) is not type(now) or was != now):
            before.append((place, format_shown_value(was)))
    return RowChange("changed" if before else "same", before)
