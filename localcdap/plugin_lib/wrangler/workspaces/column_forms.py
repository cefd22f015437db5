"""Directives that need no rows: those that only name columns, and those that map the values of one column.

Both give the same columns as rows would, many times faster.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator
from typing import Any, Final

from localcdap.api.directive import Directive
from localcdap.api.directive.rows import Row
from localcdap.plugin_lib.wrangler.directives.cases import FillNullOrEmpty
from localcdap.plugin_lib.wrangler.directives.columns import (
    Copy,
    Drop,
    Keep,
    Rename,
    RenameDirective,
    SetHeaders,
    Swap,
)
from localcdap.plugin_lib.wrangler.directives.digests import Hash
from localcdap.plugin_lib.wrangler.directives.masks import FindAndReplace, MaskNumber
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap
from localcdap.plugin_lib.wrangler.recipe.batch import make_row_context
from localcdap.plugin_lib.wrangler.workspaces.tables import Column, ColumnTable

_NAMING: Final = (Copy, Drop, Keep, Rename, RenameDirective, SetHeaders, Swap)
"""The directives that look at no value. Each changes a row of columns as it changes a row of values."""

_MAPS_UNLESS_MISSING: Final = (FillNullOrEmpty, Hash, MaskNumber)
"""The directives that do something else only where the column is missing."""
_CHUNK: Final = 16
"""Values between two looks at the clock: a regular expression may take its time limit of 2 s for each."""


def run_on_columns(
    directive: Directive, table: ColumnTable
) -> Generator[int, None, ColumnTable | None]:
    """Return the rows after a directive; None when rows must be made for it.

    So it is where a row fails, or lacks one of the columns: what then happens differs from row to row.
    Yields from time to time how many rows are done.
    """
    if isinstance(directive, _NAMING):
        return _rename_columns(directive, table)
    mapped = copy.copy(directive)
    change = _find_map(mapped)
    if change is None:
        return None
    return (yield from _map_column(change[0], change[1], mapped, table))


def _rename_columns(directive: Directive, table: ColumnTable) -> ColumnTable | None:
    if not len(table) or any(column.has_missing for column in table.columns.values()):
        return None
    row = Row(table.columns)
    try:
        directive.change(row, make_row_context())
    except Exception:
        return None  # each row fails
    return ColumnTable(row, table.origins, table.variables)


def _find_map(directive: Directive) -> tuple[str, Callable[[Any], Any]] | None:
    """Return the column whose values a directive maps, and how; None when it does something else."""
    cls = type(directive)
    if isinstance(directive, ColumnMap) and (
        cls.change is ColumnMap.change or cls in _MAPS_UNLESS_MISSING
    ):
        return directive.column, directive.map
    if isinstance(directive, FindAndReplace) and len(directive.column) == 1:
        return directive.column[0], directive.map
    return None


def _map_column(
    name: str, change: Callable[[Any], Any], directive: Directive, table: ColumnTable
) -> Generator[int, None, ColumnTable | None]:
    found = Row(table.columns).find(name)
    if found is None or table.columns[found].has_missing:
        return None
    column = table.columns[found]
    directive.start(make_row_context())
    values: list[Any] = []
    try:
        for start in range(0, len(table), _CHUNK):
            values += map(change, column.values[start : start + _CHUNK])
            yield len(values)
    except Exception:
        return None  # a row fails
    directive.end()
    made = column if column.is_same(values) else Column(values, is_full=True)
    return ColumnTable({**table.columns, found: made}, table.origins, table.variables)
