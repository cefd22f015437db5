"""Rows for the admins of custom dataset types: copies for their plugin worker, and what they change there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from localcdap.api.serialization.structs import pack, unpack
from localcdap.sandbox.dataset_calls import RowChanges, TableCopy
from localcdap.store import table_catalog as catalog
from localcdap.store.store import Transaction
from localcdap.store.transactions.dataset_table import DatasetTable, TableInfo
from localcdap.store.transactions.messages import decode_operation, encode_rows
from localcdap.store.transactions.operations import (
    ALL_ROWS,
    AnyOperation,
    Operation,
    Result,
    Rows,
)
from localcdap.store.transactions.pending_rows import PendingRows
from localcdap.store.transactions.stored_rows import StoredRows
from localcdap.store.transactions.table import OpenedTable, TableRef

_CHUNK: Final = 10_000
"""Rows that are converted at a time."""


def copy_rows(tx: Transaction, namespace: str, dataset: str, table: str, folder: Path) -> TableCopy:
    """Write the rows of a table to a file in a folder.

    :raises NotFoundError: when there is no such table.
    """
    info = _describe(tx, namespace, dataset, table)
    opened = info.table
    stored = StoredRows(opened, tx)
    rows = stored.read(ALL_ROWS.check(opened), opened.columns)
    chunks = [
        encode_rows(opened, Rows(opened.columns, rows[start : start + _CHUNK]))
        for start in range(0, len(rows), _CHUNK)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"rows-{len(list(folder.iterdir()))}"
    file.write_bytes(pack(chunks))
    fingerprint = fingerprint_rows(tx, namespace, table)
    return TableCopy(table, info.document, info.key, str(file), fingerprint)


def fingerprint_rows(tx: Transaction, namespace: str, table: str) -> str:
    """Return the number of rows and the sum of their hashes; empty when there is no such table."""
    if table not in catalog.list_names(tx, namespace):
        return ""
    identifier = catalog.to_identifier(namespace, table)
    sql = f"SELECT count(*), sum(hash(r)::HUGEINT) FROM (SELECT t AS r FROM {identifier} AS t)"  # noqa: S608
    return repr(tx.execute(sql)[0])


class AppliedRows:
    """Performs operations on the tables of a dataset in a transaction of the host, one after another."""

    def __init__(self, tx: Transaction, namespace: str, dataset: str) -> None:
        self._tx: Final = tx
        self._namespace: Final = namespace
        self._dataset: Final = dataset

    def open(self, table: str) -> DatasetTable:
        """Return a table as it is now.

        :raises NotFoundError: when there is none of that name.
        """
        return _describe(self._tx, self._namespace, self._dataset, table).table

    def perform(self, table: OpenedTable, operation: Operation) -> Result:
        """Perform one operation.

        :raises BadRequestError: when it does not fit the table.
        """
        assert isinstance(table, DatasetTable)
        rows = PendingRows(table, self._tx)
        result = operation.prepare(table)(rows)
        self._apply(rows)
        return result

    def repeat(self, changes: RowChanges) -> None:
        """Repeat the operations of an admin in a worker.

        :raises BadRequestError: when one does not fit the table.
        """
        table = self.open(changes.table)
        rows = PendingRows(table, self._tx)
        operations: list[Any] = unpack(Path(changes.file).read_bytes(), list[AnyOperation])
        for operation in operations:
            decode_operation(table, operation).prepare(table)(rows)
        self._apply(rows)

    def _apply(self, rows: PendingRows) -> None:
        if not rows.is_empty:
            rows.apply(self._tx)
            self._tx.note_rows(rows.table.ref.namespace, rows.table.ref.table)


def _describe(tx: Transaction, namespace: str, dataset: str, table: str) -> TableInfo:
    schema, key = catalog.read_schema_and_key(tx, namespace, table)
    return TableInfo(TableRef(namespace, dataset, table), str(schema), key)
