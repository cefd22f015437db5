"""Which rows an operation concerns: as SQL for stored rows, and as a function for rows in memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from localcdap.api.app.table import Bound, Filter, Key, Range
from localcdap.api.dataset.rows import RowComparison, RowCondition
from localcdap.store.transactions.sql import ALL, SqlCondition, match_all, match_any
from localcdap.store.transactions.table import KeyValues, OpenedTable, Point, StoredRow

Convert = Callable[[str, Any], Any]
"""Converts a value of a column."""
Predicate = Callable[[StoredRow], bool]
_COMPARE: Final[dict[RowComparison, Callable[[Any, Any], bool]]] = {
    RowComparison.EQUAL: operator.eq,
    RowComparison.LESS: operator.lt,
    RowComparison.AT_MOST: operator.le,
    RowComparison.GREATER: operator.gt,
    RowComparison.AT_LEAST: operator.ge,
    RowComparison.ONE_OF: lambda value, among: value in among,
}


class RowSelection(msgspec.Struct, frozen=True):
    """The rows that meet all of these parts; without any part, all rows of the table."""

    keys: list[Key] | None = None
    """The keys of the rows, each whole; None: any key."""
    ranges: list[Range] | None = None
    """Ranges of a structured table, of which a row is in one at least; None: any row."""
    filters: list[Filter] = []
    """Fields of a structured table with values, one of which a row has; empty: any. None matches a null."""
    conditions: list[RowCondition] = []
    """Conditions, all of which a row fulfils; a null fulfils none."""

    def check(self, table: OpenedTable) -> CheckedSelection:
        """Check the columns and values.

        :raises BadRequestError: when they do not fit the table.
        """
        return CheckedSelection(table, self)

    def convert(self, table: OpenedTable, convert: Convert) -> RowSelection:
        """Return the selection with all values of keys and conditions converted."""
        keys = self.keys
        if keys is not None:
            keys = [convert_key(table, key, convert) for key in keys]
        conditions = [_convert_condition(each, convert) for each in self.conditions]
        return msgspec.structs.replace(self, keys=keys, conditions=conditions)


class CheckedSelection:
    """A selection whose values are those that the columns of a table hold."""

    def __init__(self, table: OpenedTable, selection: RowSelection) -> None:
        self._table = table
        if not table.is_ordered_by_key and (selection.ranges is not None or selection.filters):
            raise table.make_error(
                f"Table '{table.ref.table}' has no order: its rows are selected by keys and conditions."
            )
        self._given_keys = None
        if selection.keys is not None:
            self._given_keys = list(dict.fromkeys(map(table.check_key, selection.keys)))
        self._ranges = None
        if selection.ranges is not None:
            self._ranges = [(each, table.check_range(each)) for each in selection.ranges]
        self._filters = [
            (name, table.check_value(name, value)) for name, value in selection.filters
        ]
        self._conditions = [table.check_condition(each) for each in selection.conditions]
        others = len(self._conditions) + len(self._filters) + (self._ranges is not None)
        self.keys: Final = self._find_keys()
        """The keys that rows are restricted to; None when they are not."""
        self.is_by_key: Final = self.keys is not None and others == (self._given_keys is None)
        """Whether nothing but the key matters."""

    def _find_keys(self) -> list[KeyValues] | None:
        if self._given_keys is not None:
            return self._given_keys
        for each in self._conditions:
            if (each.column,) == self._table.key:
                if each.comparison is RowComparison.EQUAL:
                    return [] if each.value is None else [(each.value,)]
                if each.comparison is RowComparison.ONE_OF:
                    return [(value,) for value in each.value if value is not None]
        return None

    @cached_property
    def sql(self) -> SqlCondition:
        """SQL that is true for the rows; it may be null for others."""
        return match_all(self._build_parts())

    def _build_parts(self) -> Iterator[SqlCondition]:
        table = self._table
        if self._given_keys is not None:
            yield table.build_keys(self._given_keys)
        if self._ranges is not None:
            yield match_any(_build_range(table, each, points) for each, points in self._ranges)
        if self._filters:
            yield match_any(table.build_equality(*each) for each in self._filters)
        yield from map(table.build_condition, self._conditions)

    def matches(self, row: StoredRow) -> bool:
        """Return whether a row of a dataset in memory is one of the rows: the answer of :attr:`sql`."""
        return all(predicate(row) for predicate in self._predicates)

    @cached_property
    def _predicates(self) -> list[Predicate]:
        return [*self._make_predicates()]

    def _make_predicates(self) -> Iterator[Predicate]:
        table = self._table
        if (given := self._given_keys) is not None:
            keys = set(given)
            yield lambda row: get_key(table, row) in keys
        for condition in self._conditions:
            yield _make_predicate(table, condition)


def get_key(table: OpenedTable, row: StoredRow) -> KeyValues:
    """Return the values of the key of a row."""
    return tuple(row[table.positions[name]] for name in table.key)


def convert_key(table: OpenedTable, key: Key, convert: Convert) -> Key:
    """Return a key with all values converted."""
    if isinstance(key, dict):
        return {name: convert(name, value) for name, value in key.items()}
    return [convert(name, value) for name, value in zip(table.key, key, strict=False)]


def to_comparable(value: Any) -> Any:
    """Return a value as DuckDB compares it: NaN equals itself and is the largest number."""
    if isinstance(value, float):
        return (True, 0.0) if value != value else (False, value)
    return value


def sort_rows(
    table: OpenedTable, rows: list[StoredRow], order_by: Sequence[str], descending: bool
) -> list[StoredRow]:
    """Return rows ordered by columns, nulls last."""
    for column in reversed(order_by):
        position = table.positions[column]
        with_value = [row for row in rows if row[position] is not None]
        with_value.sort(key=lambda row, at=position: to_comparable(row[at]), reverse=descending)  # type: ignore[misc]
        rows = with_value + [row for row in rows if row[position] is None]
    return rows


def _build_range(table: OpenedTable, range: Range, points: tuple[Point, Point]) -> SqlCondition:
    begin, end = points
    inclusive = range.begin_bound is range.end_bound is Bound.INCLUSIVE
    if begin == end and begin[0] and inclusive:
        return table.build_tuple_comparison(begin, "=", inclusive=True)
    bounds = ((begin, ">", range.begin_bound), (end, "<", range.end_bound))
    return match_all(
        table.build_tuple_comparison(point, sign, inclusive=bound is Bound.INCLUSIVE)
        if point[0]
        else ALL
        for point, sign, bound in bounds
    )


def _make_predicate(table: OpenedTable, condition: RowCondition) -> Predicate:
    position, compare = table.positions[condition.column], _COMPARE[condition.comparison]
    limit = condition.value
    if condition.comparison is RowComparison.ONE_OF:
        limit = [to_comparable(value) for value in limit if value is not None]
    elif limit is None:
        return lambda _: False
    else:
        limit = to_comparable(limit)
    return lambda row: row[position] is not None and compare(to_comparable(row[position]), limit)


def _convert_condition(condition: RowCondition, convert: Convert) -> RowCondition:
    column, value = condition.column, condition.value
    if condition.comparison is RowComparison.ONE_OF:
        value = [convert(column, each) for each in value]
    else:
        value = convert(column, value)
    return RowCondition(column, condition.comparison, value)
