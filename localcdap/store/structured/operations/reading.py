"""Operations that read: rows by their keys, in ranges, how many there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from localcdap.api.app.table import Key, Range, SortOrder
from localcdap.api.errors import InvalidTableFieldError
from localcdap.store.columns import quoted
from localcdap.store.structured import validation as valid
from localcdap.store.structured.operations.operation import Action, ReadOperation, Rows, Work
from localcdap.store.structured.sql import SqlCondition, TableSql, all_of, any_of


class Read(ReadOperation, frozen=True, tag=True):
    key: Key
    columns: list[str] | None = None

    def prepared(self, table: TableSql) -> Action:
        key = valid.full_key(table.spec, self.key)
        columns = table.columns if self.columns is None else _read_columns(table, self.columns)
        names = ", ".join(map(quoted, columns))

        def carry_out(work: Work) -> Rows:
            work.add_keys(table.spec.table, [key], writes=False)
            sql = f"SELECT {names} FROM {table.name} WHERE {table.has_key}"  # noqa: S608
            return Rows(columns, work.execute(sql, key))

        return carry_out


class MultiRead(ReadOperation, frozen=True, tag=True):
    keys: list[Key]

    def prepared(self, table: TableSql) -> Action:
        keys = [valid.full_key(table.spec, key) for key in self.keys]

        def carry_out(work: Work) -> Rows:
            if not keys:
                return Rows(table.columns, [])
            work.add_keys(table.spec.table, keys, writes=False)
            sql = (
                f"SELECT {table.all_columns} FROM {table.name} "  # noqa: S608
                f"WHERE ({table.key_columns}) IN (SELECT {table.lists(table.key)})"
            )
            return Rows(table.columns, work.execute(sql, _transposed(keys)))

        return carry_out


class Scan(ReadOperation, frozen=True, tag=True):
    ranges: list[Range]
    limit: int | None = None
    filters: list[tuple[str, Any]] = []
    order_by: str | None = None
    order: SortOrder = SortOrder.ASC

    def prepared(self, table: TableSql) -> Action:
        limit = valid.row_limit(self.limit)
        condition = _selection(table, self.ranges, self.filters)
        if self.order_by is not None:
            valid.check_index(table.spec, self.order_by)
        sql = (
            f"SELECT {table.all_columns} FROM {table.name} WHERE {condition.sql} "  # noqa: S608
            f"{table.order(self.order is SortOrder.DESC, self.order_by)}"
        )
        if limit is not None:
            sql += f" LIMIT {limit}"

        def carry_out(work: Work) -> Rows:
            work.add_table(table.spec.table, writes=False)
            return Rows(table.columns, work.execute(sql, condition.params))

        return carry_out


class Count(ReadOperation, frozen=True, tag=True):
    ranges: list[Range]
    filters: list[tuple[str, Any]] = []

    def prepared(self, table: TableSql) -> Action:
        condition = _selection(table, self.ranges, self.filters)

        def carry_out(work: Work) -> int:
            work.add_table(table.spec.table, writes=False)
            sql = f"SELECT count(*) FROM {table.name} WHERE {condition.sql}"  # noqa: S608
            number: int = work.execute(sql, condition.params)[0][0]
            return number

        return carry_out


def _selection(
    table: TableSql, ranges: Iterable[Range], filters: Iterable[tuple[str, Any]]
) -> SqlCondition:
    """Rows in any of the ranges that pass any of the filters, if there are any."""
    places = [table.within(each, valid.scan_points(table.spec, each)) for each in ranges]
    condition = any_of(places)
    passing = []
    for field, value in filters:
        valid.check_index(table.spec, field)
        valid.check_value(table.spec, field, value)
        passing.append(table.equals(field, value))
    return all_of(condition, any_of(passing)) if passing else condition


def _read_columns(table: TableSql, columns: list[str]) -> tuple[str, ...]:
    """The columns to read: those asked for, and the key."""
    if not columns:
        raise InvalidTableFieldError("No columns are specified to read", table=table.spec.table)
    for column in columns:
        valid.check_column(table.spec, column)
    return tuple(name for name in table.columns if name in columns or name in table.key)


def _transposed(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
