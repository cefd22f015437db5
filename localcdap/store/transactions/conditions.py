"""Conditions on rows: as SQL for stored rows, and as a function for rows that are not stored yet."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from localcdap.api.dataset.rows import RowComparison, RowCondition
from localcdap.store.columns import quote_identifier
from localcdap.store.transactions.dataset_table import StoredRow, TableInfo
from localcdap.store.transactions.sql import ALL, SqlCondition, match_all

_COMPARE: Final[dict[RowComparison, Callable[[Any, Any], bool]]] = {
    RowComparison.EQUAL: operator.eq,
    RowComparison.LESS: operator.lt,
    RowComparison.AT_MOST: operator.le,
    RowComparison.GREATER: operator.gt,
    RowComparison.AT_LEAST: operator.ge,
    RowComparison.ONE_OF: lambda value, among: value in among,
}


def to_sql(table: TableInfo, conditions: Sequence[RowCondition]) -> SqlCondition:
    """Return SQL that is true for rows which fulfil all conditions; it may be null for others."""
    return match_all(*(_to_sql(table, each) for each in conditions))


def to_negated_sql(table: TableInfo, conditions: Sequence[RowCondition]) -> SqlCondition:
    """Return SQL that is true for all rows which do not fulfil all conditions."""
    found = to_sql(table, conditions)
    if found == ALL:
        return SqlCondition("false")
    return SqlCondition(f"({found.sql}) IS NOT TRUE", found.params)


def exclude_keys(table: TableInfo, keys: Collection[Any]) -> SqlCondition:
    """Return SQL for the rows whose key is none of some."""
    if not keys or table.key is None:
        return ALL
    type = table.types[table.key]
    sql = f"{quote_identifier(table.key)} NOT IN (SELECT unnest(?::{type}[]))"
    return SqlCondition(sql, (list(keys),))


def fulfils(table: TableInfo, row: StoredRow, conditions: Sequence[RowCondition]) -> bool:
    """Return whether a row fulfils all conditions."""
    return all(_holds(row[table.positions[each.column]], each) for each in conditions)


def find_keys(table: TableInfo, conditions: Sequence[RowCondition]) -> list[Any] | None:
    """Return the keys that conditions restrict rows to; None when they do not."""
    for each in conditions:
        if each.column == table.key and each.comparison is RowComparison.EQUAL:
            return [] if each.value is None else [each.value]
        if each.column == table.key and each.comparison is RowComparison.ONE_OF:
            return [value for value in each.value if value is not None]
    return None


def sort_rows(
    table: TableInfo, rows: list[StoredRow], order_by: Sequence[str], descending: bool
) -> list[StoredRow]:
    """Return rows ordered by columns, nulls last."""
    for column in reversed(order_by):
        place = table.positions[column]
        known = [row for row in rows if row[place] is not None]
        known.sort(key=operator.itemgetter(place), reverse=descending)
        rows = known + [row for row in rows if row[place] is None]
    return rows


def _to_sql(table: TableInfo, condition: RowCondition) -> SqlCondition:
    column, type = quote_identifier(condition.column), table.types[condition.column]
    if condition.comparison is RowComparison.ONE_OF:
        sql = f"{column} IN (SELECT unnest(?::{type}[]))"
        return SqlCondition(sql, (list(condition.value),))
    # A FLOAT is compared after rounding; DuckDB must know the type of lists and maps.
    place = f"?::{type}" if type == "FLOAT" or not type.isalpha() else "?"
    return SqlCondition(f"{column} {condition.comparison} {place}", (condition.value,))


def _holds(value: Any, condition: RowCondition) -> bool:
    if value is None or condition.value is None:
        return False
    return _COMPARE[condition.comparison](value, condition.value)
