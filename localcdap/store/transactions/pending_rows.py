"""The changes of one table that a transaction has not committed yet.

They stay in memory until the commit, which then makes all of them at once: a transaction that takes long
holds up no other writer, and the commit of a run never fails because of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from localcdap.api.dataset.rows import RowCondition
from localcdap.api.garbage_collection import pause_collection
from localcdap.store.columns import quote_identifier
from localcdap.store.store import Transaction
from localcdap.store.transactions.conditions import (
    exclude_keys,
    fulfils,
    sort_rows,
    to_negated_sql,
    to_sql,
)
from localcdap.store.transactions.dataset_table import StoredRow, TableInfo
from localcdap.store.transactions.sql import SqlCondition, match_all


class Reader(Protocol):
    """The transaction in which stored rows are read."""

    def execute(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def read_arrow(self, sql: str, params: Sequence[Any] = ()) -> Any: ...


class PendingRows:
    """A table as a transaction sees it: the stored rows with its own changes."""

    def __init__(self, table: TableInfo) -> None:
        self._table = table
        self._keyed: dict[Any, StoredRow] = {}
        """Written rows by key."""
        self._added: list[StoredRow] = []
        """Rows that were added to a table without a key."""
        self._removed_keys: set[Any] = set()
        self._removed: list[Sequence[RowCondition]] = []
        """What removes stored rows."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing has changed."""
        return not (self._keyed or self._added or self._removed_keys or self._removed)

    def read(self, reader: Reader, key: Any) -> StoredRow | None:
        """Return the row with a key."""
        if key in self._keyed:
            return self._keyed[key]
        if key in self._removed_keys:
            return None
        condition = SqlCondition(self._table.key_condition, (key,))
        if self._removed:
            condition = match_all(condition, *self._exclude_removed())
        found = self._read(reader, condition, "")
        return found[0] if found else None

    def select(
        self,
        reader: Reader,
        conditions: Sequence[RowCondition],
        order_by: Sequence[str] = (),
        descending: bool = False,
        limit: int | None = None,
    ) -> list[StoredRow]:
        """Return the rows that fulfil conditions."""
        clause = ""
        if order_by:
            direction = " DESC" if descending else ""
            names = (f"{quote_identifier(each)}{direction} NULLS LAST" for each in order_by)
            clause = f" ORDER BY {', '.join(names)}"
        if limit is not None:
            clause += f" LIMIT {limit:d}"
        found = self._read(reader, self._match(conditions), clause)
        own = list(self._find_own(conditions))
        if own:
            found = sort_rows(self._table, [*found, *own], order_by, descending)
        return found if limit is None else found[:limit]

    def count(self, reader: Reader, conditions: Sequence[RowCondition]) -> int:
        """Return the number of rows that fulfil conditions."""
        condition = self._match(conditions)
        sql = f"SELECT count(*) FROM {self._table.identifier} WHERE {condition.sql}"  # noqa: S608
        stored: int = reader.execute(sql, condition.params)[0][0]
        return stored + sum(1 for _ in self._find_own(conditions))

    def write(self, rows: Iterable[StoredRow]) -> None:
        """Add rows, or replace those with the same keys."""
        key = self._table.key
        if key is None:
            self._added += rows
            return
        place = self._table.positions[key]
        for row in rows:
            self._keyed[row[place]] = row
            self._removed_keys.discard(row[place])

    def remove(self, conditions: Sequence[RowCondition], keys: Sequence[Any] | None) -> None:
        """Remove rows.

        :param keys: the only keys that the conditions allow, when nothing but the key is compared.
        """
        self._added = [row for row in self._added if not fulfils(self._table, row, conditions)]
        gone = {k for k, row in self._keyed.items() if fulfils(self._table, row, conditions)}
        self._removed_keys |= gone
        self._keyed = {k: row for k, row in self._keyed.items() if k not in gone}
        if keys is None:
            self._removed.append(tuple(conditions))
        else:
            self._removed_keys.update(keys)

    def count_new(self, reader: Reader) -> int:
        """Return the number of written rows whose keys no stored row has."""
        if self._table.key is None or not self._keyed:
            return len(self._added)
        column, type = quote_identifier(self._table.key), self._table.types[self._table.key]
        sql = (
            f"SELECT count(*) FROM {self._table.identifier} "  # noqa: S608
            f"WHERE {column} IN (SELECT unnest(?::{type}[]))"
        )
        stored: int = reader.execute(sql, ([*self._keyed],))[0][0]
        return len(self._keyed) - stored

    def apply(self, tx: Transaction) -> None:
        """Make the changes in a transaction of the database."""
        table = self._table
        for conditions in self._removed:
            found = to_sql(table, conditions)
            tx.execute(f"DELETE FROM {table.identifier} WHERE {found.sql}", found.params)  # noqa: S608
        rows = [*self._keyed.values(), *self._added]
        if self._is_one_row:
            self._write_one(tx, rows[0])
            return
        if table.key is not None and (keys := [*self._keyed, *self._removed_keys]):
            column, type = quote_identifier(table.key), table.types[table.key]
            tx.execute(
                f"DELETE FROM {table.identifier} WHERE {column} IN (SELECT unnest(?::{type}[]))",  # noqa: S608
                (keys,),
            )
        if rows and table.is_plain:
            values = ", ".join(f"unnest(?::{table.types[each]}[])" for each in table.columns)
            tx.execute(
                f"INSERT INTO {table.identifier} ({table.all_columns}) SELECT {values}",
                [list(column) for column in zip(*rows, strict=True)],
            )
        elif rows:
            tx.insert_arrow(
                table.identifier, table.all_columns, table.codec.encode(map(table.to_record, rows))
            )

    @property
    def _is_one_row(self) -> bool:
        """Whether one row was written, and nothing else has changed."""
        is_only = not (self._added or self._removed or self._removed_keys)
        is_single = len(self._keyed) == 1 and len(self._table.columns) > 1
        return is_only and is_single and self._table.is_plain

    def _write_one(self, tx: Transaction, row: StoredRow) -> None:
        """Update a row or insert it: a third of the time of deleting and inserting it in lists."""
        table = self._table
        key, place = table.require_key(), table.positions[table.require_key()]
        others = [each for each in table.columns if each != key]
        if others:
            changes = ", ".join(f"{quote_identifier(each)} = ?" for each in others)
            values = [row[table.positions[each]] for each in others]
            sql = f"UPDATE {table.identifier} SET {changes} WHERE {quote_identifier(key)} = ?"  # noqa: S608
            if tx.execute(sql, [*values, row[place]])[0][0]:
                return
        places = ", ".join("?" for _ in table.columns)
        sql = f"INSERT INTO {table.identifier} ({table.all_columns}) VALUES ({places})"  # noqa: S608
        tx.execute(sql, row)

    def _match(self, conditions: Sequence[RowCondition]) -> SqlCondition:
        """Return SQL for the stored rows that fulfil conditions and that the transaction has not changed."""
        condition = to_sql(self._table, conditions)
        if self.is_empty:
            return condition
        own = exclude_keys(self._table, [*self._keyed, *self._removed_keys])
        return match_all(condition, own, *self._exclude_removed())

    def _exclude_removed(self) -> Iterator[SqlCondition]:
        return (to_negated_sql(self._table, each) for each in self._removed)

    def _find_own(self, conditions: Sequence[RowCondition]) -> Iterator[StoredRow]:
        for row in (*self._keyed.values(), *self._added):
            if fulfils(self._table, row, conditions):
                yield row

    def _read(self, reader: Reader, condition: SqlCondition, clause: str) -> list[StoredRow]:
        table = self._table
        sql = f"{table.selection} WHERE {condition.sql}{clause}"
        if table.is_plain:
            return reader.execute(sql, condition.params)
        found = reader.read_arrow(sql, condition.params)
        with pause_collection():
            return [row for batch in found.to_batches() for row in table.codec.decode_values(batch)]


class UnstoredRows(PendingRows):
    """A table that has no rows but those that were written to this object; no database is read."""

    def list_rows(self) -> list[StoredRow]:
        """Return all rows."""
        return [*self._keyed.values(), *self._added]

    def read(self, reader: Reader, key: Any) -> StoredRow | None:
        self._table.require_key()
        return self._keyed.get(key)

    def select(
        self,
        reader: Reader,
        conditions: Sequence[RowCondition],
        order_by: Sequence[str] = (),
        descending: bool = False,
        limit: int | None = None,
    ) -> list[StoredRow]:
        return sort_rows(self._table, list(self._find_own(conditions)), order_by, descending)[
            :limit
        ]

    def count(self, reader: Reader, conditions: Sequence[RowCondition]) -> int:
        return sum(1 for _ in self._find_own(conditions))
