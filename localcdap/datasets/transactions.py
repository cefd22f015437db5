"""Transactions on structured tables from other processes.

A client begins a transaction in the host, executes operations there with the transaction's token, and
commits it. The client renews the leases of its transactions, so the host can roll back the transactions of
a client that died.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionKind
from localcdap.api.errors import HostError, HostLostError, LocalcdapError, TransactionConflictError
from localcdap.api.security import Permission
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import OF_INSTANCE, open_to_all, requires
from localcdap.store.structured.monitor import TransactionMonitor
from localcdap.store.structured.operations import AnyOperation, Operation, Result, Rows
from localcdap.store.structured.runner import RetryingTransactionRunner
from localcdap.store.structured.session import LocalTransactionSession, TransactionSession
from localcdap.store.structured.sql import TableSql
from localcdap.store.structured.tables import StructuredTables

LEASE_S: Final = 5.0
"""Seconds that the host keeps a transaction without a call from its client."""
_PAGE_BYTES: Final = 8 * 1024 * 1024
"""The approximate size of one answer with rows, far below ``rpc.frames.FRAME_LIMIT``."""


class TransactionService:
    """The transactions of clients, in the host. Threads may share it."""

    def __init__(self, tables: StructuredTables, lease_s: float = LEASE_S) -> None:
        self._tables = tables
        self._lease_s = lease_s
        self._leased: dict[str, _LeasedTransaction] = {}
        self._watch = TransactionMonitor()

    @requires(OF_INSTANCE, Permission.READ, Permission.WRITE)
    def begin(self, kind: TransactionKind, timeout_s: float | None) -> str:
        """Begin a transaction with a time limit in seconds, and return its token."""
        token = secrets.token_hex(16)
        session = self._tables.open(kind, timeout_s)
        leased = _LeasedTransaction(session, self._lease_s, lambda: self._forget(token))
        self._leased[token] = leased
        self._watch.add(leased)
        return token

    @open_to_all("only its opener has the token of a transaction")
    def get_specification(self, token: str, table: str) -> StructuredTableSpecification:
        """Return the specification of a table as the transaction sees it.

        :raises NotFoundError: when there is no such table.
        """
        return self._find(token).session.get_specification(table)

    @open_to_all("only its opener has the token of a transaction")
    @non_idempotent
    def perform(self, token: str, table: str, operation: AnyOperation) -> Result:
        """Execute an operation. If its rows do not fit into one answer, :meth:`fetch_rows` returns the
        rest.
        """
        leased = self._find(token)
        sql = TableSql(leased.session.get_specification(table))
        return leased.first_page(leased.session.perform(sql, operation))

    @open_to_all("only its opener has the token of a transaction")
    @non_idempotent
    def fetch_rows(self, token: str, rest: int) -> Rows:
        """Return further rows of an answer that has a rest; each rest can be fetched once."""
        return self._find(token).page(rest)

    @open_to_all("only its opener has the token of a transaction")
    @non_idempotent
    def commit(self, token: str) -> None:
        """Commit the transaction.

        :raises TransactionConflictError: when it conflicts with another transaction.
        """
        leased = self._find(token)
        self._forget(token)
        leased.session.commit()

    @open_to_all("only its opener has the token of a transaction")
    def rollback(self, token: str) -> None:
        """Roll back the transaction, if it is not over."""
        leased = self._leased.get(token)
        self._forget(token)
        if leased is not None:
            leased.session.rollback()

    @open_to_all("only its opener has the token of a transaction")
    def renew(self, token: str) -> None:
        """Renew the lease of the transaction, if it is not over."""
        leased = self._leased.get(token)
        if leased is not None:
            leased.renew()

    def close(self) -> None:
        """Roll back all open transactions."""
        for token in list(self._leased):
            self.rollback(token)
        self._watch.close()

    def _find(self, token: str) -> _LeasedTransaction:
        leased = self._leased.get(token)
        if leased is None:
            raise TransactionConflictError(
                "The host does not know this transaction any more, because the host was restarted or the "
                "client did not renew its lease. The transaction was rolled back."
            )
        leased.renew()
        return leased

    def _forget(self, token: str) -> None:
        leased = self._leased.pop(token, None)
        if leased is not None:
            self._watch.discard(leased)


class _LeasedTransaction:
    """A transaction of a client, with its lease and the rows that were not fetched yet."""

    def __init__(
        self, session: LocalTransactionSession, lease_s: float, on_lapse: Callable[[], None]
    ) -> None:
        self.session: Final = session
        self._lease_s = lease_s
        self._on_lapse = on_lapse
        self._until = time.monotonic() + lease_s
        self._rests: dict[int, Rows] = {}

    def renew(self) -> None:
        """Renew the lease."""
        self._until = time.monotonic() + self._lease_s

    def check(self, now: float) -> None:
        """End the transaction when its lease has expired."""
        if now > self._until and self.session.expire(_make_lease_error):
            self._on_lapse()

    def first_page(self, result: Result) -> Result:
        """Return a result, or its first page when it has too many rows for one answer."""
        return self._split_page(result) if isinstance(result, Rows) else result

    def page(self, rest: int) -> Rows:
        """Return the first page of the rows that are kept under a number."""
        return self._split_page(self._rests.pop(rest))

    def _split_page(self, rows: Rows) -> Rows:
        room = _PAGE_BYTES
        for end, values in enumerate(rows.values):
            if room <= 0:
                rest = len(self._rests)
                self._rests[rest] = Rows(rows.columns, rows.values[end:])
                return Rows(rows.columns, rows.values[:end], rest)
            room -= sum(len(v) if isinstance(v, str | bytes) else 9 for v in values)
        return rows


def _make_lease_error() -> TransactionConflictError:
    return TransactionConflictError(
        "The client did not renew the lease of the transaction in time."
    )


class RemoteTransactionSession:
    """A transaction in the host, for the runner of a client."""

    def __init__(
        self,
        service: TransactionService,
        kind: TransactionKind,
        timeout_s: float | None,
        watch: TransactionMonitor,
    ) -> None:
        self._service = service
        self._token = service.begin(kind, timeout_s)
        self._watch = watch
        self._heard = time.monotonic()
        watch.add(self)

    def get_specification(self, table: str) -> StructuredTableSpecification:
        with self._translate_lost_host():
            return self._service.get_specification(self._token, table)

    def perform(self, table: TableSql, operation: Operation) -> Result:
        operation.prepare(table)  # raises errors before the operation is sent
        with self._translate_lost_host():
            result = self._service.perform(self._token, table.spec.table, cast(Any, operation))
            if not isinstance(result, Rows):
                return result
            rest = result.rest
            while rest is not None:
                page = self._service.fetch_rows(self._token, rest)
                result.values += page.values
                rest = page.rest
            return result

    def commit(self) -> None:
        """Commit the transaction.

        :raises HostLostError: when the host ended; whether the transaction was committed is then unknown.
        """
        self._watch.discard(self)
        self._service.commit(self._token)

    def rollback(self) -> None:
        self._watch.discard(self)
        with contextlib.suppress(HostError):
            self._service.rollback(self._token)

    def check(self, now: float) -> None:
        """Renew the lease while the body is busy with something else."""
        if now - self._heard > LEASE_S / 4:
            self._heard = now
            with contextlib.suppress(LocalcdapError):  # the next operation raises the error
                self._service.renew(self._token)

    @contextlib.contextmanager
    def _translate_lost_host(self) -> Iterator[None]:
        """Turn a lost host into a conflict: it has rolled back, so a retry with the next host is safe."""
        try:
            yield
        except HostLostError as error:
            raise TransactionConflictError(error.message, error.corrective_action) from error
        self._heard = time.monotonic()


class HostTransactionRunner(RetryingTransactionRunner):
    """The TransactionRunner of a front end: it uses the transactions of the host.

    :param service: returns the current host's service: the object itself in the host, else a proxy.
    """

    def __init__(self, service: Callable[[], TransactionService]) -> None:
        super().__init__(self._begin)
        self._service = service
        self._watch = TransactionMonitor()

    def _begin(self, kind: TransactionKind, timeout_s: float | None) -> TransactionSession:
        service = self._service()
        if isinstance(service, TransactionService):
            return service._tables.open(kind, timeout_s)
        return RemoteTransactionSession(service, kind, timeout_s, self._watch)

    def close(self) -> None:
        """Wait for submitted transactions that have begun, and cancel the others."""
        super().close()
        self._watch.close()
