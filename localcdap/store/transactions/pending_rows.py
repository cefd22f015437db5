"""The changes of one table that a transaction has not committed yet.

They stay in memory until the commit, which then makes all of them at once: a transaction that takes long
holds up no other writer, and the commit of a run never fails because of one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

from localcdap.api.garbage_collection import pause_collection
from localcdap.api.sql_names import quote_identifier
from localcdap.store.store import Transaction
from localcdap.store.transactions.selections import (
    CheckedSelection,
    RowSelection,
    get_key,
    sort_rows,
)
from localcdap.store.transactions.sql import SqlCondition, match_all, negate
from localcdap.store.transactions.structured_table import DatasetTable
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


class PendingRows:
    """A table as a transaction sees it: the stored rows with its own changes.

    :param reader: reads the rows in the database; None: there are none.
    :param watch: None: nobody else writes into the table.
    """

    def __init__(
        self, table: DatasetTable, reader: Reader | None, watch: Watch | None = None
    ) -> None:
        self.table: Final = table
        self.watch: Final = watch
        self._stored = None if reader is None else StoredRows(table, reader)
        self._keyed: dict[KeyValues, StoredRow] = {}
        """Written rows by key."""
        self._added: list[StoredRow] = []
        """Rows that were added to a table without a key."""
        self._removed_keys: set[KeyValues] = set()
        self._removed: list[CheckedSelection] = []
        """What removes stored rows."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing has changed."""
        return not (self._keyed or self._added or self._removed_keys or self._removed)

    def list_written(self) -> list[StoredRow]:
        """Return the rows that were written."""
        return [*self._keyed.values(), *self._added]

    def read(
        self,
        selection: CheckedSelection,
        columns: tuple[str, ...],
        order_by: Sequence[str] = (),
        descending: bool = False,
        limit: int | None = None,
    ) -> list[StoredRow]:
        """Return the values of columns of selected rows; nulls come last in the order."""
        clause = self.table.build_order(order_by, descending)
        if limit is not None:
            clause += f" LIMIT {limit:d}"
        rows = self._read_stored(selection, clause)
        written = [*self._find_written(selection)]
        if written:
            rows = sort_rows(self.table, [*rows, *written], order_by, descending)[:limit]
        return select_columns(self.table, rows, columns)

    def _read_stored(self, selection: CheckedSelection, clause: str) -> list[StoredRow]:
        if self._stored is None or self._has_all_keys(selection):
            return []
        return self._stored.read_where(self._match(selection), clause, self.table.columns)

    def _has_all_keys(self, selection: CheckedSelection) -> bool:
        """Return whether the transaction has written or removed all rows that can be selected."""
        return selection.keys is not None and all(map(self._has_changed, selection.keys))

    def _has_changed(self, key: KeyValues) -> bool:
        return key in self._keyed or key in self._removed_keys

    def count(self, selection: CheckedSelection) -> int:
        """Return the number of selected rows."""
        stored = 0
        if self._stored is not None and not self._has_all_keys(selection):
            stored = self._stored.count_where(self._match(selection))
        return stored + sum(1 for _ in self._find_written(selection))

    def write(self, batch: RowBatch) -> None:
        """Add rows, or change the columns that are given of the rows with the same keys.

        :raises BadRequestError: when a row then has no value of a column that cannot be null.
        """
        if self.table.key:
            pairs = zip(batch.keys, batch.rows, strict=True)
            self.add([self._complete(key, row) for key, row in pairs])
        else:
            self.add(tuple(map(row.get, self.table.columns)) for row in batch.rows)

    def add(self, rows: Iterable[StoredRow]) -> None:
        """Add rows, or replace those with the same keys."""
        if not self.table.key:
            self._added += rows
            return
        for row in rows:
            key = get_key(self.table, row)
            self._keyed[key] = row
            self._removed_keys.discard(key)

    def update(self, selection: CheckedSelection, values: dict[str, Any]) -> None:
        """Set columns of selected rows.

        :raises BadRequestError: when the table has no key, or a column cannot be null.
        """
        self.table.require_key()
        rows = self.read(selection, self.table.columns)
        changed = [self.table.to_record(row) | values for row in rows]
        self.write(RowBatch(self.table, self.table.check_rows(changed, whole=True)))

    def delete(self, selection: CheckedSelection) -> int:
        """Remove selected rows, and return their number."""
        number = self.count(selection)
        if not number:
            return 0
        if selection.is_by_key:
            keys = selection.keys or []
        else:
            keys = [key for key, row in self._keyed.items() if selection.matches(row)]
            self._added = [row for row in self._added if not selection.matches(row)]
            self._removed.append(selection)
        self._removed_keys.update(keys)
        for key in keys:
            self._keyed.pop(key, None)
        return number

    def count_new(self, tx: Transaction) -> int:
        """Return the number of written rows whose keys no stored row has."""
        if not self._keyed:
            return len(self._added)
        stored = StoredRows(self.table, tx)
        return len(self._keyed) - stored.count_where(self.table.build_keys(self._keyed))

    def apply(self, tx: Transaction) -> None:
        """Make the changes in a transaction of the database."""
        table, stored = self.table, StoredRows(self.table, tx)
        for selection in self._removed:
            stored.delete(selection)
        rows = self.list_written()
        if self._is_one_row:
            # It takes a third of the time of deleting and inserting the row in lists.
            stored.write(RowBatch(table, [table.to_record(rows[0])]))
            return
        if keys := [*self._keyed, *self._removed_keys]:
            stored.delete_where(table.build_keys(keys))
        if rows and table.codec is None:
            stored.append(rows)
        elif rows and table.codec is not None:
            records = map(table.to_record, rows)
            tx.insert_arrow(table.identifier, table.all_columns, table.codec.encode(records))

    @property
    def _is_one_row(self) -> bool:
        """Whether one row was written, and nothing else has changed."""
        is_only = not (self._added or self._removed or self._removed_keys)
        is_single = len(self._keyed) == 1 and len(self.table.columns) > 1
        return is_only and is_single and self.table.codec is None

    def _complete(self, key: KeyValues, row: dict[str, Any]) -> StoredRow:
        """Return the row with a key after a change."""
        if len(row) < len(self.table.columns):
            keyed = RowSelection(keys=[key]).check(self.table)
            before = self.read(keyed, self.table.columns)
            row = {**self.table.to_record(before[0]), **row} if before else row
            self.table.require_values(row)
        return tuple(map(row.get, self.table.columns))

    def _match(self, selection: CheckedSelection) -> SqlCondition:
        """Return SQL for the selected stored rows that the transaction has not changed."""
        if self.is_empty:
            return selection.sql
        if selection.keys is None:
            keys = [*self._keyed, *self._removed_keys]
        else:
            keys = [*filter(self._has_changed, selection.keys)]
        changed = self.table.build_keys(keys)
        removed = (negate(each.sql) for each in self._removed)
        return match_all([selection.sql, negate(changed), *removed])

    def _find_written(self, selection: CheckedSelection) -> Iterator[StoredRow]:
        if selection.is_by_key:
            for key in selection.keys or ():
                if key in self._keyed:
                    yield self._keyed[key]
            return
        yield from filter(selection.matches, self.list_written())
