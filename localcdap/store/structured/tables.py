"""The entry point to the structured tables of an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionKind
from localcdap.store.store import Store, Transaction
from localcdap.store.structured.admin import TableAdmin, TableRegistry
from localcdap.store.transactions.commits import Commits
from localcdap.store.transactions.dataset_session import DatasetAccesses, KnownDatasets
from localcdap.store.transactions.runner import RetryingTransactionRunner, TransactionMonitor
from localcdap.store.transactions.session import (
    LocalTransactionSession,
    NamespaceCheck,
    accept_namespace,
)

AccessesOf = Callable[[object], DatasetAccesses | None]


class StructuredTables:
    """The administration and the transactions of structured tables; a store must have exactly one.

    :param check_namespace: raises an error unless a namespace exists in a generation; see
        :class:`~localcdap.store.transactions.session.LocalTransactionSession`.
    :param find_accesses: returns what checks and records the accesses of a program to datasets; None: no
        datasets can be opened.
    """

    def __init__(
        self,
        store: Store,
        check_namespace: NamespaceCheck = accept_namespace,
        find_accesses: AccessesOf = lambda _: None,
    ) -> None:
        self._store = store
        self._check_namespace = check_namespace
        self._find_accesses = find_accesses
        self._datasets = KnownDatasets()
        self._registry = TableRegistry(store)
        self._commits = Commits()
        self._watch = TransactionMonitor()
        self.admin: Final = TableAdmin(store, self._registry)
        self.transactions: Final = RetryingTransactionRunner(self.open)
        store.observe_commits(self._note_commit)

    def open(
        self, kind: TransactionKind, timeout_s: float | None, accessor: object = None
    ) -> _WatchedSession:
        """Begin a transaction, which the caller must commit or roll back.

        :param accessor: what opens datasets, as ``find_accesses`` knows it.
        """
        return _WatchedSession(
            self._store,
            self._registry.get_all(),
            self._commits,
            kind,
            timeout_s,
            self._watch,
            self._check_namespace,
            self._find_accesses(accessor),
            self._datasets,
        )

    def _note_commit(self, tx: Transaction) -> None:
        """Let transactions that have used the tables which another one has changed see the conflict."""
        if tx.changed_tables or tx.changed_datasets:
            self._datasets.forget()
        changed = tx.written_tables | tx.changed_tables.keys()
        self._commits.note_tables([f"{namespace}.{name}" for namespace, name in changed])

    def wait_for_commit(self) -> None:
        """Wait until the commit that is being made, if any, has ended.

        A deletion calls this after it has marked a namespace as deleted: the transactions that have not
        noticed it are over then, and the rows that they added can be deleted.
        """
        self._commits.wait()

    def close(self) -> None:
        """Wait for submitted transactions that have begun, and cancel the others."""
        self.transactions.close()
        self._watch.close()


class _WatchedSession(LocalTransactionSession):
    """A session that the monitor ends when its time is over, even if its owner does nothing."""

    def __init__(
        self,
        store: Store,
        specifications: Mapping[str, StructuredTableSpecification],
        commits: Commits,
        kind: TransactionKind,
        timeout_s: float | None,
        watch: TransactionMonitor,
        check_namespace: NamespaceCheck,
        accesses: DatasetAccesses | None,
        datasets: KnownDatasets,
    ) -> None:
        super().__init__(
            store, specifications, commits, kind, timeout_s, check_namespace, accesses, datasets
        )
        self._watch = watch
        if timeout_s is not None:
            watch.add(self)

    def check(self, now: float) -> None:
        """See :class:`localcdap.store.transactions.runner.MonitoredTransaction`."""
        if (
            self.deadline is not None
            and now > self.deadline
            and self.expire(self.make_timeout_error)
        ):
            self._watch.discard(self)

    def commit(self) -> None:
        self._watch.discard(self)
        super().commit()

    def rollback(self) -> None:
        self._watch.discard(self)
        super().rollback()
