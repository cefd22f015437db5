"""The datasets of one transaction: their tables, what was read and written, and the commit of the changes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Protocol

import msgspec

from localcdap.api.dataset.access import AccessKind, AnnotationRules
from localcdap.api.dataset.specification import DatasetSpecification
from localcdap.api.errors import NotFoundError, TransactionError
from localcdap.api.security import Permission
from localcdap.store import dataset_catalog, table_catalog
from localcdap.store.store import Transaction
from localcdap.store.transactions.pending_rows import PendingRows, Work
from localcdap.store.transactions.structured_table import DatasetTable, TableInfo
from localcdap.store.transactions.table import TableRef
from localcdap.text import format_available


class OpenedDataset(msgspec.Struct, frozen=True):
    """What a program gets to know of a dataset that it opens."""

    namespace: str
    specification: DatasetSpecification
    folder: str
    """The folder of the file sets of the namespace."""
    rules: AnnotationRules
    tables: list[TableInfo]
    """Its tables, also those of embedded datasets."""

    def get_table(self, name: str) -> DatasetTable:
        """Return a table of the dataset.

        :raises NotFoundError: when there is none of that name.
        """
        for each in self.tables:
            if each.ref.table == name:
                return each.table
        known = [each.ref.table for each in self.tables]
        raise NotFoundError(
            f"Dataset '{self.specification.name}' in namespace '{self.namespace}' has no table '{name}'; "
            f"available: {format_available(name, known)}."
        )


_PARTITIONS: Final = ".partitions"
"""The end of the name of a table whose rows are partitions."""


class DatasetAccesses(Protocol):
    """Checks and records the accesses of one program to datasets."""

    rules: AnnotationRules

    def get_folder(self, namespace: str) -> str:
        """Return the folder of the file sets of a namespace."""

    def check(self, namespace: str, dataset: str, permissions: Collection[Permission]) -> None:
        """Check that the principal has permissions on a dataset.

        :raises UnauthorizedError: when one is missing.
        """

    def record(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        """Record an access that has happened, once for each kind; for arguments see :class:`AccessGuard`."""

    def record_at_commit(
        self, tx: Transaction, found: Collection[tuple[str, str, AccessKind, AccessKind]]
    ) -> None:
        """Record accesses as part of a transaction."""

    def note_partitions(self, tx: Transaction, namespace: str, dataset: str, count: int) -> None:
        """Publish that a dataset gets partitions, as part of a transaction."""


class KnownDatasets:
    """The datasets that transactions have opened, until one of them changes."""

    def __init__(self) -> None:
        self.current: dict[tuple[str, str], OpenedDataset] = {}
        """By namespace and name. Transactions that began before a change keep the dict that they had."""

    def forget(self) -> None:
        """Start again, after a change of a dataset or a table."""
        self.current = {}


class DatasetSession:
    """The datasets of one transaction, as it sees them. One thread uses it at a time.

    :param work: the transaction itself.
    :param catalog: what other transactions have opened; None: nothing.
    """

    def __init__(
        self, work: Work, accesses: DatasetAccesses, catalog: KnownDatasets | None = None
    ) -> None:
        self._work = work
        self._accesses: Final = accesses
        # The transaction must not see datasets that are created or changed later.
        self._known: Final = {} if catalog is None else catalog.current
        self._pending: dict[TableRef, PendingRows] = {}
        self._writes: dict[tuple[str, str, AccessKind, AccessKind], None] = {}
        """The accesses to be recorded with the commit."""

    @property
    def has_changes(self) -> bool:
        """Whether there is anything to commit."""
        return any(not each.is_empty for each in self._pending.values())

    @property
    def has_writes(self) -> bool:
        """Whether an access must be recorded with the commit."""
        return bool(self._writes)

    def open(self, tx: Transaction, namespace: str, name: str) -> OpenedDataset:
        """Return a dataset.

        :raises NotFoundError: when there is no such dataset; the message lists them.
        :raises UnauthorizedError: when the principal has no permission on it.
        """
        self._accesses.check(namespace, name, ())
        return self._find(tx, namespace, name)

    def _find(self, tx: Transaction, namespace: str, name: str) -> OpenedDataset:
        found = self._known.get((namespace, name))
        if found is None:
            stored = dataset_catalog.require_dataset(tx, namespace, name)
            found = self._known[namespace, name] = OpenedDataset(
                namespace,
                stored.specification,
                self._accesses.get_folder(namespace),
                self._accesses.rules,
                _list_tables(tx, namespace, name),
            )
        return found

    def open_rows(self, tx: Transaction, ref: TableRef, access: AccessKind) -> PendingRows:
        """Return the rows of a table for an operation.

        :raises UnauthorizedError: when the principal lacks a permission on the dataset.
        """
        self._accesses.check(ref.namespace, ref.dataset, access.permissions)
        rows = self._pending.get(ref)
        if rows is None:
            table = self._find(tx, ref.namespace, ref.dataset).get_table(ref.table)
            rows = self._pending[ref] = PendingRows(table, self._work, self._work)
        return rows

    def note_access(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        """Check an access by a method, and record it: at once if it only reads, else with the commit.

        :raises UnauthorizedError: when the principal lacks a permission on the dataset.
        """
        self._accesses.check(namespace, dataset, access.permissions)
        if Permission.WRITE in access.permissions or Permission.WRITE in recorded.permissions:
            self._writes[namespace, dataset, access, recorded] = None
        else:
            self._accesses.record(namespace, dataset, access, recorded)

    def apply(self, tx: Transaction) -> None:
        """Make all changes in a transaction of the database."""
        for ref, each in self._pending.items():
            if each.is_empty:
                continue
            added = each.count_new(tx) if ref.table == f"{ref.dataset}{_PARTITIONS}" else 0
            each.apply(tx)
            if added:
                self._accesses.note_partitions(tx, ref.namespace, ref.dataset, added)

    def record_writes(self, tx: Transaction) -> None:
        """Record what the transaction has written."""
        self._accesses.record_at_commit(tx, self._writes)


class UnopenedDatasets:
    """The accesses of a transaction in which no dataset can be opened."""

    rules: AnnotationRules = AnnotationRules.STRICT

    def get_folder(self, namespace: str) -> str:
        raise NotImplementedError

    def check(self, namespace: str, dataset: str, permissions: Collection[Permission]) -> None:
        raise TransactionError(f"Dataset '{dataset}' cannot be opened here: there are only tables.")

    def record(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        """Do nothing: nothing is opened."""

    def record_at_commit(
        self, tx: Transaction, found: Collection[tuple[str, str, AccessKind, AccessKind]]
    ) -> None:
        """Do nothing: nothing is opened."""

    def note_partitions(self, tx: Transaction, namespace: str, dataset: str, count: int) -> None:
        """Do nothing: nothing is opened."""


def _list_tables(tx: Transaction, namespace: str, dataset: str) -> list[TableInfo]:
    """Return the tables of a dataset: those whose names begin with its name, without other datasets."""
    return [
        TableInfo(TableRef(namespace, dataset, each.name), each.document, each.key)
        for each in table_catalog.list_entries(tx, namespace, dataset)
        if each.query is None
        and (each.name == dataset or not dataset_catalog.has_dataset(tx, namespace, each.name))
    ]
