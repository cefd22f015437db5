"""The entry point to the structured tables of an instance."""

from __future__ import annotations

from typing import Final

from localcdap.api.app.transactions import TransactionKind
from localcdap.store.store import Store
from localcdap.store.structured.admin import TableAdmin, TableRegistry
from localcdap.store.structured.commits import Commits
from localcdap.store.structured.monitor import TransactionMonitor
from localcdap.store.structured.runner import RetryingTransactionRunner
from localcdap.store.structured.session import LocalTransactionSession


class StructuredTables:
    """The administration and the transactions of structured tables; a store must have exactly one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._registry = TableRegistry(store)
        self._commits = Commits()
        self._watch = TransactionMonitor()
        self.admin: Final = TableAdmin(store, self._registry)
        self.transactions: Final = RetryingTransactionRunner(self.open)

    def open(self, kind: TransactionKind, timeout_s: float | None) -> _WatchedSession:
        """Begin a transaction, which the caller must commit or roll back."""
        return _WatchedSession(
            self._store, self._registry, self._commits, kind, timeout_s, self._watch
        )

    def close(self) -> None:
        """Wait for submitted transactions that have begun, and cancel the others."""
        self.transactions.close()
        self._watch.close()


class _WatchedSession(LocalTransactionSession):
    """A session that the monitor ends when its time is over, even if its owner does nothing."""

    def __init__(
        self,
        store: Store,
        registry: TableRegistry,
        commits: Commits,
        kind: TransactionKind,
        timeout_s: float | None,
        watch: TransactionMonitor,
    ) -> None:
        super().__init__(store, registry, commits, kind, timeout_s)
        self._watch = watch
        if timeout_s is not None:
            watch.add(self)

    def check(self, now: float) -> None:
        """See :class:`localcdap.store.structured.monitor.MonitoredTransaction`."""
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
