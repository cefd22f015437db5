"""The operations on structured tables, as values that can be sent to another process.

An operation is first checked against its table (:meth:`Operation.prepare`). That needs no database and
raises what is wrong with the arguments. The action that it returns is then executed in a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from operator import itemgetter
from typing import Any, Protocol

import msgspec

from localcdap.api.app.specification import FieldType
from localcdap.api.app.table import Key, Range, SortOrder
from localcdap.api.errors import InvalidTableFieldError, TableUsageError
from localcdap.store.columns import quote_identifier
from localcdap.store.transactions import validation as valid
from localcdap.store.transactions.sql import SqlCondition, TableSql, match_all, match_any


class Work(Protocol):
    """The part of a transaction that operations need."""

    def execute(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]: ...

    def add_keys(self, table: str, keys: Collection[tuple[Any, ...]], *, writes: bool) -> None: ...

    def add_table(self, table: str, *, writes: bool) -> None: ...


class Rows(msgspec.Struct, array_like=True):
    """Rows that were read."""

    columns: tuple[str, ...]
    values: list[Any]
    """The rows: for each a sequence with one value per column, a tuple, or a list after decoding."""
    rest: int | None = None
    """The number under which the host keeps further rows; None when ``values`` holds all rows."""


Result = Rows | bool | int | None
Action = Callable[[Work], Result]


class Operation(msgspec.Struct, frozen=True, tag=True):
    """One method call on a table."""

    @property
    def writes(self) -> bool:
        return True

    @property
    def adds(self) -> bool:
        """Whether it can add a row."""
        return False

    def prepare(self, table: TableSql) -> Action:
        """Check the operation, and return the action that executes it.

        :raises TableUsageError: when the operation does not fit the table.
        """
        raise NotImplementedError


class ReadOperation(Operation, frozen=True):
    @property
    def writes(self) -> bool:
        return False


class AddingOperation(Operation, frozen=True):
    @property
    def adds(self) -> bool:
        return True


def update_of(
    table: TableSql, fields: list[str], record: dict[str, Any], key: tuple[Any, ...]
) -> SqlCondition:
    return SqlCondition(
        f"UPDATE {table.name} SET {table.build_assignments(fields)} WHERE {table.has_key}",  # noqa: S608
        (*(record[name] for name in fields), *key),
    )


def insert(
    work: Work, table: TableSql, fields: tuple[str, ...], values: list[Any], *, ignore: bool
) -> bool:
    """Insert a row; return whether it was inserted.

    :param ignore: whether a row with the same key may exist.
    """
    names = ", ".join(map(quote_identifier, fields))
    parameters = ", ".join(map(table.build_placeholder, fields))
    sql = f"INSERT INTO {table.name} ({names}) VALUES ({parameters})"  # noqa: S608
    if ignore:
        sql += " ON CONFLICT DO NOTHING"
    return run_and_check(work, SqlCondition(sql, tuple(values)))


def run_and_check(work: Work, statement: SqlCondition) -> bool:
    """Run a statement; return whether it changed any row."""
    return bool(work.execute(statement.sql, statement.params)[0][0])


def merge(table: TableSql, fields: Iterable[str]) -> str:
    """Return the action of INSERT … ON CONFLICT for a row that exists."""
    names = [quote_identifier(name) for name in fields if name not in table.key]
    if not names:
        return "DO NOTHING"
    return "DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in names)


class Read(ReadOperation, frozen=True, tag=True):
    key: Key
    columns: list[str] | None = None

    def prepare(self, table: TableSql) -> Action:
        key = valid.check_full_key(table.spec, self.key)
        columns = table.columns if self.columns is None else _read_columns(table, self.columns)
        names = ", ".join(map(quote_identifier, columns))

        def carry_out(work: Work) -> Rows:
            work.add_keys(table.spec.table, [key], writes=False)
            sql = f"SELECT {names} FROM {table.name} WHERE {table.has_key}"  # noqa: S608
            return Rows(columns, work.execute(sql, key))

        return carry_out


class MultiRead(ReadOperation, frozen=True, tag=True):
    keys: list[Key]

    def prepare(self, table: TableSql) -> Action:
        keys = [valid.check_full_key(table.spec, key) for key in self.keys]

        def carry_out(work: Work) -> Rows:
            if not keys:
                return Rows(table.columns, [])
            work.add_keys(table.spec.table, keys, writes=False)
            sql = (
                f"SELECT {table.all_columns} FROM {table.name} "  # noqa: S608
                f"WHERE ({table.key_columns}) IN (SELECT {table.build_unnest(table.key)})"
            )
            return Rows(table.columns, work.execute(sql, _transpose(keys)))

        return carry_out


class Scan(ReadOperation, frozen=True, tag=True):
    ranges: list[Range]
    limit: int | None = None
    filters: list[tuple[str, Any]] = []
    order_by: str | None = None
    order: SortOrder = SortOrder.ASC

    def prepare(self, table: TableSql) -> Action:
        limit = valid.check_limit(self.limit)
        condition = _build_selection_condition(table, self.ranges, self.filters)
        if self.order_by is not None:
            valid.check_index(table.spec, self.order_by)
        sql = (
            f"SELECT {table.all_columns} FROM {table.name} WHERE {condition.sql} "  # noqa: S608
            f"{table.build_order_by(self.order is SortOrder.DESC, self.order_by)}"
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

    def prepare(self, table: TableSql) -> Action:
        condition = _build_selection_condition(table, self.ranges, self.filters)

        def carry_out(work: Work) -> int:
            work.add_table(table.spec.table, writes=False)
            sql = f"SELECT count(*) FROM {table.name} WHERE {condition.sql}"  # noqa: S608
            number: int = work.execute(sql, condition.params)[0][0]
            return number

        return carry_out


def _build_selection_condition(
    table: TableSql, ranges: Iterable[Range], filters: Iterable[tuple[str, Any]]
) -> SqlCondition:
    """Return the condition for rows in any of the ranges that match any of the filters, if there are any."""
    places = [table.build_range(each, valid.check_scan_range(table.spec, each)) for each in ranges]
    condition = match_any(places)
    passing = []
    for field, value in filters:
        valid.check_index(table.spec, field)
        valid.check_value(table.spec, field, value)
        passing.append(table.build_equality(field, value))
    return match_all(condition, match_any(passing)) if passing else condition


def _read_columns(table: TableSql, columns: list[str]) -> tuple[str, ...]:
    """Return the columns to read: the requested ones and the key."""
    if not columns:
        raise InvalidTableFieldError("No columns are specified to read", table=table.spec.table)
    for column in columns:
        valid.check_column(table.spec, column)
    return tuple(name for name in table.columns if name in columns or name in table.key)


def _transpose(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


class Upsert(AddingOperation, frozen=True, tag=True):
    record: dict[str, Any]

    def prepare(self, table: TableSql) -> Action:
        key = valid.check_record(table.spec, self.record)
        others = [name for name in self.record if name not in table.key]

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, [key], writes=True)
            # INSERT … ON CONFLICT DO UPDATE takes DuckDB more than twice as long as this UPDATE.
            if others and run_and_check(work, update_of(table, others, self.record, key)):
                return
            fields = (*table.key, *others)
            insert(work, table, fields, [self.record[name] for name in fields], ignore=not others)

        return carry_out


class UpsertAll(AddingOperation, frozen=True, tag=True):
    records: list[dict[str, Any]]

    def prepare(self, table: TableSql) -> Action:
        merged = _merge_records(table, self.records)
        groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for record in merged.values():
            groups.setdefault(tuple(record), []).append(record)
        lists = {fields: _collect_columns(table, fields, group) for fields, group in groups.items()}

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, merged, writes=True)
            for fields, values in lists.items():
                names = ", ".join(map(quote_identifier, fields))
                work.execute(
                    f"INSERT INTO {table.name} ({names}) SELECT {table.build_unnest(fields)} "
                    f"ON CONFLICT ({table.key_columns}) {merge(table, fields)}",
                    values,
                )

        return carry_out


class Update(Operation, frozen=True, tag=True):
    record: dict[str, Any]

    def prepare(self, table: TableSql) -> Action:
        key = valid.check_record(table.spec, self.record)
        others = [name for name in self.record if name not in table.key]

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, [key], writes=True)
            if others:
                run_and_check(work, update_of(table, others, self.record, key))

        return carry_out


class UpdateRange(Operation, frozen=True, tag=True):
    range: Range
    values: dict[str, Any]

    def prepare(self, table: TableSql) -> Action:
        valid.check_not_key(table.spec, self.values)
        for field, value in self.values.items():
            valid.check_value(table.spec, field, value)
        condition = table.build_range(self.range, valid.check_prefix_range(table.spec, self.range))
        if not self.values:
            raise TableUsageError(f"No fields of table {table.spec.table} are given to update")

        def carry_out(work: Work) -> None:
            work.add_table(table.spec.table, writes=True)
            sql = (
                f"UPDATE {table.name} SET {table.build_assignments(self.values)} "  # noqa: S608
                f"WHERE {condition.sql}"
            )
            work.execute(sql, (*self.values.values(), *condition.params))

        return carry_out


def _merge_records(
    table: TableSql, records: Iterable[dict[str, Any]]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return one record for each key, merged as upserts one after the other would do."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    key_of = _make_key_reader(table)
    for record in records:
        try:
            values = key_of(record)
            before = merged.get(values)
        except (KeyError, TypeError):
            valid.check_record(table.spec, record)  # says what is wrong
            raise
        if before is None:
            merged[values] = record
        else:
            valid.check_record(table.spec, record)
            merged[values] = before | record
    return merged


def _make_key_reader(table: TableSql) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Return a function that takes the key from a record; it raises KeyError when a part is missing."""
    if len(table.key) > 1:
        return itemgetter(*table.key)
    (name,) = table.key
    return lambda record: (record[name],)


def _collect_columns(
    table: TableSql, fields: tuple[str, ...], records: list[dict[str, Any]]
) -> list[list[Any]]:
    """Return the values of each field."""
    found = [[record[name] for record in records] for name in fields]
    for name, values in zip(fields, found, strict=True):
        valid.check_values(table.spec, name, values)
    return found


_LARGEST_LONG = 2**63 - 1


class CompareAndSwap(AddingOperation, frozen=True, tag=True):
    key: Key
    column: str
    old: Any
    new: Any

    def prepare(self, table: TableSql) -> Action:
        key = valid.check_full_key(table.spec, self.key)
        if self.column in table.key:
            raise TableUsageError(
                f"Field {self.column} of table {table.spec.table} is a primary key, which cannot be "
                "swapped"
            )
        for value in (self.old, self.new):
            valid.check_value(table.spec, self.column, value)

        def carry_out(work: Work) -> bool:
            work.add_keys(table.spec.table, [key], writes=True)
            as_before = table.build_equality(self.column, self.old)
            condition = match_all(SqlCondition(table.has_key, key), as_before)
            update = SqlCondition(
                f"UPDATE {table.name} SET {table.build_assignments([self.column])} "  # noqa: S608
                f"WHERE {condition.sql}",
                (self.new, *condition.params),
            )
            if run_and_check(work, update):
                return True
            if self.old is not None:
                return False
            fields = (*table.key, self.column)
            return insert(work, table, fields, [*key, self.new], ignore=True)

        return carry_out


class Increment(AddingOperation, frozen=True, tag=True):
    key: Key
    column: str
    amount: int

    def prepare(self, table: TableSql) -> Action:
        key = valid.check_full_key(table.spec, self.key)
        type = valid.check_column(table.spec, self.column)
        if type is not FieldType.LONG or self.column in table.key:
            raise TableUsageError(
                f"Field {self.column} of table {table.spec.table} cannot be incremented: it must be a "
                f"LONG that is not a primary key, and is a {type}"
                + (" of the key" if self.column in table.key else "")
            )
        if self.amount is None:
            raise TableUsageError(f"Field {self.column} cannot be incremented by None")
        valid.check_value(table.spec, self.column, self.amount)

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, [key], writes=True)
            column = quote_identifier(self.column)
            total = f"coalesce({column}, 0)::HUGEINT + ?"
            update = SqlCondition(
                f"UPDATE {table.name} SET {column} = {total} WHERE {table.has_key} "  # noqa: S608
                f"AND {total} BETWEEN {-_LARGEST_LONG - 1} AND {_LARGEST_LONG}",
                (self.amount, *key, self.amount),
            )
            fields = (*table.key, self.column)
            if run_and_check(work, update) or insert(
                work, table, fields, [*key, self.amount], ignore=True
            ):
                return
            raise TableUsageError(
                f"Field {self.column} of table {table.spec.table} cannot be incremented by "
                f"{self.amount}: the sum has more than 64 bits"
            )

        return carry_out


class Delete(Operation, frozen=True, tag=True):
    key: Key

    def prepare(self, table: TableSql) -> Action:
        key = valid.check_full_key(table.spec, self.key)

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, [key], writes=True)
            work.execute(f"DELETE FROM {table.name} WHERE {table.has_key}", key)  # noqa: S608

        return carry_out


class DeleteRange(Operation, frozen=True, tag=True):
    range: Range
    any_fields: bool = False
    """Whether the range may use other fields than the first ones of the key."""

    def prepare(self, table: TableSql) -> Action:
        check = valid.to_points if self.any_fields else valid.check_prefix_range
        condition = table.build_range(self.range, check(table.spec, self.range))

        def carry_out(work: Work) -> None:
            work.add_table(table.spec.table, writes=True)
            sql = f"DELETE FROM {table.name} WHERE {condition.sql}"  # noqa: S608
            work.execute(sql, condition.params)

        return carry_out


AnyOperation = (
    Upsert
    | UpsertAll
    | Update
    | Read
    | MultiRead
    | Scan
    | Count
    | CompareAndSwap
    | Increment
    | Delete
    | DeleteRange
    | UpdateRange
)
"""The union of all operations, which :mod:`msgspec` needs to decode one."""

__all__ = [
    "Action",
    "AnyOperation",
    "CompareAndSwap",
    "Count",
    "Delete",
    "DeleteRange",
    "Increment",
    "MultiRead",
    "Operation",
    "Read",
    "Result",
    "Rows",
    "Scan",
    "Update",
    "UpdateRange",
    "Upsert",
    "UpsertAll",
    "Work",
]
