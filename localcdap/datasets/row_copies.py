"""Rows for the admins of custom dataset types: copies for their plugin worker, and what they change there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from localcdap.api.serialization.structs import pack, unpack
from localcdap.sandbox.dataset_calls import RowChanges, TableCopy
from localcdap.store import table_catalog as catalog
from localcdap.store.store import Transaction
from localcdap.store.transactions.dataset_table import TableInfo, TableRef
from localcdap.store.transactions.messages import decode_operation, encode_rows
from localcdap.store.transactions.operations import Result, Rows
from localcdap.store.transactions.pending_rows import PendingRows
from localcdap.store.transactions.row_operations import AnyRowOperation, RowOperation, UnwatchedWork

_CHUNK: Final = 10_000
"""Rows that are converted at a time."""


def copy_rows(tx: Transaction, namespace: str, dataset: str, table: str, folder: Path) -> TableCopy:
    """Write the rows of a table to a file in a folder.

    :raises NotFoundError: when there is no such table.
    """
    info = _describe(tx, namespace, dataset, table)
    rows = PendingRows(info).select(tx, [])
    chunks = [
        encode_rows(info, Rows(info.columns, rows[start : start + _CHUNK]))
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

    def describe(self, table: str) -> TableInfo:
        """Return a table as it is now.

        :raises NotFoundError: when there is none of that name.
        """
        return _describe(self._tx, self._namespace, self._dataset, table)

    def perform_on_rows(self, table: TableInfo, operation: RowOperation) -> Result:
        """Perform one operation.

        :raises BadRequestError: when it does not fit the table.
        """
        pending = PendingRows(table)
        result = self._perform(table, pending, operation)
        self._apply(table, pending)
        return result

    def repeat(self, changes: RowChanges) -> None:
        """Repeat the operations of an admin in a worker.

        :raises BadRequestError: when one does not fit the table.
        """
        table = self.describe(changes.table)
        pending = PendingRows(table)
        found: list[Any] = unpack(Path(changes.file).read_bytes(), list[AnyRowOperation])
        for each in found:
            self._perform(table, pending, decode_operation(table, each))
        self._apply(table, pending)

    def _perform(self, table: TableInfo, pending: PendingRows, operation: RowOperation) -> Result:
        operation.check(table)
        return operation.perform(table, pending, UnwatchedWork(self._tx))

    def _apply(self, table: TableInfo, pending: PendingRows) -> None:
        if not pending.is_empty:
            pending.apply(self._tx)
            self._tx.note_rows(table.ref.namespace, table.ref.table)


def _describe(tx: Transaction, namespace: str, dataset: str, table: str) -> TableInfo:
    schema, key = catalog.read_schema_and_key(tx, namespace, table)
    return TableInfo(TableRef(namespace, dataset, table), str(schema), key)
