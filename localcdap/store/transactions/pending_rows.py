"""The changes of one table that a transaction has not committed yet.

They stay in memory until the commit, which then makes all of them at once: a transaction that takes long
holds up no other writer, and the commit of a run never fails because of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from localcdap.store.store import Transaction
from localcdap.store.transactions.dataset_table import DatasetTable
from localcdap.store.transactions.selections import (
    CheckedSelection,
    RowSelection,
    get_key,
    sort_rows,
)
from localcdap.store.transactions.sql import SqlCondition, match_all, negate
from localcdap.store.transactions.stored_rows import (
    Reader,
    RowBatch,
    StoredRows,
    Watch,
    select_columns,
)
from localcdap.store.transactions.table import KeyValues, StoredRow


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
