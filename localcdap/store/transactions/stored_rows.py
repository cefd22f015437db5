"""The rows of a table in the database, which operations read and change at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, Protocol

from localcdap.api.garbage_collection import pause_collection
from localcdap.api.sql_names import quote_identifier
from localcdap.store.transactions.selections import CheckedSelection
from localcdap.store.transactions.sql import SqlCondition
from localcdap.store.transactions.table import (
    KeyValues,
    OpenedTable,
    StoredRow,
    quote_all,
    transpose,
)


class Reader(Protocol):
    """A transaction in which statements are run."""

    def execute(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def read_arrow(self, sql: str, params: Sequence[Any] = ()) -> Any: ...


class Watch(Protocol):
    """Notes what operations read and write, for the detection of conflicts."""

    def add_keys(self, table: str, keys: Collection[KeyValues], *, writes: bool) -> None: ...

    def add_table(self, table: str, *, writes: bool) -> None: ...

    def add_appends(self, table: str) -> None: ...


class Work(Reader, Watch, Protocol):
    """A transaction whose conflicts are detected."""


class RowBatch:
    """Rows to write, one for each key: merged as if they were written one after the other."""

    def __init__(self, table: OpenedTable, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.keys: list[KeyValues] = []
        """The key of each row; empty for a table without a key."""
        if table.key:
            merged: dict[KeyValues, dict[str, Any]] = {}
            columns = [[row[name] for row in rows] for name in table.key]
            for key, row in zip(zip(*columns, strict=True), rows, strict=True):
                merged[key] = merged[key] | row if key in merged else row
            self.keys, self.rows = [*merged], [*merged.values()]


class StoredRows:
    """The rows of a table in the database.

    :param watch: None: nobody else writes into the table.
    """

    def __init__(self, table: OpenedTable, reader: Reader, watch: Watch | None = None) -> None:
        self.table: Final = table
        self.watch: Final = watch
        self._execute: Final = reader.execute
        self._reader = reader

    def read(
        self,
        selection: CheckedSelection,
        columns: tuple[str, ...],
        order_by: Sequence[str] = (),
        descending: bool = False,
        limit: int | None = None,
    ) -> list[StoredRow]:
        """Return the values of columns of selected rows; nulls come last in the order."""
        clause = ""
        if selection.keys is None or len(selection.keys) > 1:
            clause = self.table.build_order(order_by, descending)
        if limit is not None:
            clause += f" LIMIT {limit:d}"
        return self.read_where(selection.sql, clause, columns)

    def read_where(
        self, condition: SqlCondition, clause: str, columns: tuple[str, ...]
    ) -> list[StoredRow]:
        """Return rows by SQL."""
        table, codec = self.table, self.table.codec
        is_part = codec is None and columns != table.columns
        names = quote_all(columns) if is_part else table.all_columns
        sql = f"SELECT {names} FROM {table.identifier} WHERE {condition.sql}{clause}"  # noqa: S608
        if codec is None:
            return self._execute(sql, condition.params)
        batches = self._reader.read_arrow(sql, condition.params).to_batches()
        with pause_collection():
            rows = [row for batch in batches for row in codec.decode_values(batch)]
        return select_columns(table, rows, columns)

    def count(self, selection: CheckedSelection) -> int:
        """Return the number of selected rows."""
        return self.count_where(selection.sql)

    def count_where(self, condition: SqlCondition) -> int:
        """Return a number of rows by SQL."""
        sql = f"SELECT count(*) FROM {self.table.identifier} WHERE {condition.sql}"  # noqa: S608
        number: int = self._execute(sql, condition.params)[0][0]
        return number

    def write(self, batch: RowBatch) -> None:
        """Add rows, or change the columns that are given of the rows with the same keys."""
        if len(batch.rows) == 1:
            self._write_one(batch.rows[0])
            return
        groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in batch.rows:
            groups.setdefault(tuple(row), []).append(row)
        table = self.table
        for columns, rows in groups.items():
            self._execute(
                f"INSERT INTO {table.identifier} ({quote_all(columns)}) "
                f"SELECT {table.build_unnest(columns)} "
                f"ON CONFLICT ({table.key_columns}) {self._build_merge(columns)}",
                [[row[name] for row in rows] for name in columns],
            )

    def _write_one(self, row: dict[str, Any]) -> None:
        table = self.table
        others = [name for name in row if name not in table.key]
        if others:
            # INSERT … ON CONFLICT DO UPDATE takes DuckDB more than twice as long as this UPDATE.
            key = tuple(map(row.__getitem__, table.key))
            values = (*(row[name] for name in others), *key)
            sql = f"UPDATE {table.identifier} SET {table.build_assignments(others)} WHERE {table.has_key}"  # noqa: S608
            if self._execute(sql, values)[0][0]:
                return
        placeholders = ", ".join(map(table.build_placeholder, row))
        sql = f"INSERT INTO {table.identifier} ({quote_all(row)}) VALUES ({placeholders})"  # noqa: S608
        if not others:
            sql += " ON CONFLICT DO NOTHING"
        self._execute(sql, tuple(row.values()))

    def _build_merge(self, columns: Iterable[str]) -> str:
        """Return the action of INSERT … ON CONFLICT for a row that exists."""
        names = [quote_identifier(name) for name in columns if name not in self.table.key]
        if not names:
            return "DO NOTHING"
        return "DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in names)

    def update(self, selection: CheckedSelection, values: dict[str, Any]) -> None:
        """Set columns of selected rows."""
        table, condition = self.table, selection.sql
        sql = (
            f"UPDATE {table.identifier} SET {table.build_assignments(values)} "  # noqa: S608
            f"WHERE {condition.sql}"
        )
        self._execute(sql, (*values.values(), *condition.params))

    def delete(self, selection: CheckedSelection) -> int:
        """Remove selected rows, and return their number."""
        return self.delete_where(selection.sql)

    def delete_where(self, condition: SqlCondition) -> int:
        """Remove rows by SQL, and return their number."""
        sql = f"DELETE FROM {self.table.identifier} WHERE {condition.sql}"  # noqa: S608
        number: int = self._execute(sql, condition.params)[0][0]
        return number

    def append(self, rows: Sequence[StoredRow]) -> None:
        """Add rows of whose keys no row exists."""
        table = self.table
        sql = (
            f"INSERT INTO {table.identifier} ({table.all_columns}) "
            f"SELECT {table.build_unnest(table.columns)}"
        )
        self._execute(sql, transpose(rows))


def select_columns(
    table: OpenedTable, rows: list[StoredRow], columns: tuple[str, ...]
) -> list[StoredRow]:
    """Return the values of columns of whole rows."""
    if columns == table.columns:
        return rows
    positions = [table.positions[name] for name in columns]
    return list(zip(*([row[position] for row in rows] for position in positions), strict=True))
