"""Rows that the admin of a dataset type of a module reads and changes, in a plugin worker.

A worker has no database. The admin works on a copy of the rows that the host has written to a file, and its
changes are written to other files as operations, which the host repeats on the table in the transaction of
the call. An admin that opens a table without a copy is interrupted, and called again with one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from localcdap.api.dataset.rows import RowTable
from localcdap.api.dataset.schema_evolution import merge_schemas
from localcdap.api.dataset.specification import StorageLayout, TableLayout
from localcdap.api.errors import NotFoundError, TransactionError
from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.sandbox.dataset_calls import MissingCopy, RowChanges, StorageChange, StorageFacts
from localcdap.store.transactions.opened_datasets import TransactionRows, Unguarded
from localcdap.store.transactions.operations import AnyOperation, Operation, Result, Rows
from localcdap.store.transactions.pending_rows import PendingRows
from localcdap.store.transactions.session import decode_rows, encode_operation
from localcdap.store.transactions.structured_table import DatasetTable, TableInfo
from localcdap.store.transactions.table import OpenedTable, StoredRow, TableRef
from localcdap.text import format_available


class AdminRows:
    """The tables of one dataset during a call of its admin."""

    def __init__(self, facts: StorageFacts) -> None:
        self._existing: Final = set(facts.tables)
        self._copies: Final = {each.table: each for each in facts.copies}
        self._folder: Final = Path(facts.rows)
        self._numbers: Final = itertools.count()
        self._wider: Final[dict[str, list[Schema]]] = {}
        """The schemas to which tables were changed before they were opened."""
        self._emptied: Final[set[str]] = set()
        """The tables that lost their rows before they were opened."""
        self._opened: Final[dict[str, _CopiedTable]] = {}

    def open(self, layout: StorageLayout, name: str) -> RowTable:
        """Return the rows of a table.

        :raises NotFoundError: when the layout has no such table, or it does not exist.
        :raises MissingCopy: when the admin has to be called again with a copy of it.
        """
        if name not in layout.tables:
            known = format_available(name, layout.tables)
            raise NotFoundError(f"The layout has no table '{name}'; available: {known}.")
        opened = self._opened.get(name)
        if opened is None:
            opened = self._opened[name] = self._open(name)
        return TransactionRows(self, opened.table, Unguarded())

    def note(self, change: StorageChange) -> None:
        """Note a change of the dataset's tables, which follows the changes of rows until now."""
        old = change.layout.tables
        if change.method == "create":
            self._note_creation(old)
        elif change.method == "truncate":
            self._note_truncation(old)
        elif change.method == "drop":
            self._note_removal(old)
        elif change.new is not None:
            new = change.new.tables
            self._note_removal(old.keys() - new.keys())
            self._note_creation({name: new[name] for name in new.keys() - old.keys()})
            for name in old.keys() & new.keys():
                self._note_change(name, new[name].schema)

    def _note_creation(self, tables: Mapping[str, TableLayout]) -> None:
        for name, table in tables.items():
            self._opened[name] = _CopiedTable(_open_table(name, str(table.schema), table.key), [])

    def _note_change(self, name: str, schema: Schema) -> None:
        if name in self._opened:
            self._opened[name] = self._opened[name].widen(schema)
        else:
            self._wider.setdefault(name, []).append(schema)

    def _note_truncation(self, tables: Iterable[str]) -> None:
        for name in tables:
            if name in self._opened:
                self._opened[name] = _CopiedTable(self._opened[name].table, [])
            else:
                self._emptied.add(name)

    def _note_removal(self, tables: Iterable[str]) -> None:
        for name in tables:
            self._opened.pop(name, None)
            self._existing.discard(name)

    def perform(self, table: OpenedTable, operation: Operation) -> Result:
        """Perform an operation on the copy, and note it when it changes rows."""
        opened = self._opened.get(table.ref.table)
        if opened is None or opened.table is not table:
            raise TransactionError(
                f"Table '{table.ref.table}' has been changed or dropped since its rows were opened.",
                "Open them again.",
            )
        return opened.perform(operation)

    def take_changes(self) -> list[RowChanges]:
        """Write the changes since the last call of this method to files."""
        changes = []
        for opened in self._opened.values():
            operations = opened.take_operations()
            if operations:
                file = self._folder / f"changes-{next(self._numbers)}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(pack(operations))
                changes.append(RowChanges(opened.table.ref.table, str(file)))
        return changes

    def _open(self, name: str) -> _CopiedTable:
        if name not in self._existing:
            raise NotFoundError(f"The table '{name}' does not exist.", "Create it before.")
        copy = self._copies.get(name)
        if copy is None:
            raise MissingCopy(name)
        table = _open_table(name, copy.document, copy.key)
        chunks: list[Rows] = []
        if name not in self._emptied:
            chunks = unpack(Path(copy.file).read_bytes(), list[Rows])
        rows = (tuple(row) for chunk in chunks for row in decode_rows(table, chunk).values)
        opened = _CopiedTable(table, rows)
        for schema in self._wider.get(name, ()):
            opened = opened.widen(schema)
        return opened


class _CopiedTable:
    """A table with all rows in memory, and the operations that have changed them."""

    def __init__(self, table: DatasetTable, rows: Iterable[StoredRow]) -> None:
        self.table: Final = table
        self._operations: list[AnyOperation] = []
        self._rows: Final = PendingRows(table, None)
        self._rows.add(rows)

    def perform(self, operation: Operation) -> Result:
        result = operation.prepare(self.table)(self._rows)
        if operation.writes:
            self._operations.append(encode_operation(self.table, operation))  # type: ignore[arg-type]
        return result

    def take_operations(self) -> list[AnyOperation]:
        taken, self._operations = self._operations, []
        return taken

    def widen(self, schema: Schema) -> _CopiedTable:
        """Return the table after its schema has become a wider one."""
        old = self.table
        merged = merge_schemas(old.schema, schema)
        rows = [encode_json_record(old.to_record(row)) for row in self._rows.list_written()]
        table = _open_table(old.ref.table, str(merged), old.key[0] if old.key else None)
        wider = decode_json_records(merged, rows)
        return _CopiedTable(table, (tuple(map(row.get, table.columns)) for row in wider))


def _open_table(name: str, document: str, key: str | None) -> DatasetTable:
    return TableInfo(TableRef("", name, name), document, key).table
