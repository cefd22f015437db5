"""Operations that write: whole records, one or many at once, and columns of all rows in a range."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from localcdap.api.app.table import Range
from localcdap.api.errors import TableUsageError
from localcdap.store.columns import quoted
from localcdap.store.structured import validation as valid
from localcdap.store.structured.operations.operation import Action, Operation, Work
from localcdap.store.structured.operations.statements import changed, insert, merge, update_of
from localcdap.store.structured.sql import TableSql


class Upsert(Operation, frozen=True, tag=True):
    record: dict[str, Any]

    def prepared(self, table: TableSql) -> Action:
        key = valid.check_record(table.spec, self.record)
        others = [name for name in self.record if name not in table.key]

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, [key], writes=True)
            # DuckDB takes more than twice as long for INSERT … ON CONFLICT DO UPDATE.
            if others and changed(work, update_of(table, others, self.record, key)):
                return
            fields = (*table.key, *others)
            insert(work, table, fields, [self.record[name] for name in fields], ignore=not others)

        return carry_out


class UpsertAll(Operation, frozen=True, tag=True):
    records: list[dict[str, Any]]

    def prepared(self, table: TableSql) -> Action:
        merged = _merged(table, self.records)
        groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for record in merged.values():
            groups.setdefault(tuple(record), []).append(record)
        lists = {fields: _lists(table, fields, group) for fields, group in groups.items()}

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, merged, writes=True)
            for fields, values in lists.items():
                names = ", ".join(map(quoted, fields))
                work.execute(
                    f"INSERT INTO {table.name} ({names}) SELECT {table.lists(fields)} "
                    f"ON CONFLICT ({table.key_columns}) {merge(table, fields)}",
                    values,
                )

        return carry_out


class Update(Operation, frozen=True, tag=True):
    record: dict[str, Any]

    def prepared(self, table: TableSql) -> Action:
        key = valid.check_record(table.spec, self.record)
        others = [name for name in self.record if name not in table.key]

        def carry_out(work: Work) -> None:
            work.add_keys(table.spec.table, [key], writes=True)
            if others:
                changed(work, update_of(table, others, self.record, key))

        return carry_out


class UpdateRange(Operation, frozen=True, tag=True):
    range: Range
    values: dict[str, Any]

    def prepared(self, table: TableSql) -> Action:
        valid.check_not_key(table.spec, self.values)
        for field, value in self.values.items():
            valid.check_value(table.spec, field, value)
        condition = table.within(self.range, valid.prefix_points(table.spec, self.range))
        if not self.values:
            raise TableUsageError(f"No fields of table {table.spec.table} are given to update")

        def carry_out(work: Work) -> None:
            work.add_table(table.spec.table, writes=True)
            sql = (
                f"UPDATE {table.name} SET {table.assignments(self.values)} "  # noqa: S608
                f"WHERE {condition.sql}"
            )
            work.execute(sql, (*self.values.values(), *condition.params))

        return carry_out


def _merged(
    table: TableSql, records: Iterable[dict[str, Any]]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """One record for each key, as upserting them one after the other would leave it."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    key_of = _key_of(table)
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


def _key_of(table: TableSql) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Takes the key from a record; raises KeyError when a part is missing."""
    if len(table.key) > 1:
        return itemgetter(*table.key)
    (name,) = table.key
    return lambda record: (record[name],)


def _lists(
    table: TableSql, fields: tuple[str, ...], records: list[dict[str, Any]]
) -> list[list[Any]]:
    """The values of each field."""
    found = [[record[name] for record in records] for name in fields]
    for name, values in zip(fields, found, strict=True):
        valid.check_values(table.spec, name, values)
    return found
