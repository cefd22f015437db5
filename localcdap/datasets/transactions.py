"""Transactions on structured tables and datasets from other processes.

A client begins a transaction in the host, executes operations there with the transaction's token, and
commits it. The client renews the leases of its transactions, so the host can roll back the transactions of
a client that died.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Final

from localcdap.api.app.table import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionKind, TransactionLimits
from localcdap.api.dataset.access import AccessKind
from localcdap.api.errors import TransactionConflictError
from localcdap.api.security import Permission
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import OF_INSTANCE, Target, open_to_all, requires
from localcdap.store.structured.admin import StructuredTables
from localcdap.store.transactions.dataset_session import OpenedDataset
from localcdap.store.transactions.operations import AnyOperation, Result, Rows
from localcdap.store.transactions.runner import TransactionMonitor
from localcdap.store.transactions.session import (
    LocalTransactionSession,
    decode_operation,
    encode_rows,
)
from localcdap.store.transactions.structured_table import StructuredTableInfo
from localcdap.store.transactions.table import OpenedTable, TableRef
from localcdap.transactions.calls import LEASE_S, Accessor
from localcdap.transactions.client import TransactionHost

_PAGE_BYTES: Final = 8 * 1024 * 1024
"""The approximate size of one answer with rows, far below ``rpc.frames.FRAME_LIMIT``."""

_STRUCTURED_TABLES: Final = Target(
    f"{OF_INSTANCE.text}, for a structured table",
    lambda _, given: OF_INSTANCE.find(_, given) if given["ref"].is_structured else (),
)
"""What a structured table requires; each operation on a dataset is checked by itself."""


class TransactionService(TransactionHost):
    """The transactions of clients, in the host. Threads may share it."""

    def __init__(
        self,
        tables: StructuredTables,
        lease_s: float = LEASE_S,
        limits: TransactionLimits = TransactionLimits(),  # noqa: B008  it is immutable
    ) -> None:
        self._tables = tables
        self._limits = limits
        self._lease_s = lease_s
        self._leased: dict[str, _LeasedTransaction] = {}
        self._watch = TransactionMonitor()

    @open_to_all("everybody may know the settings of transactions")
    def get_limits(self) -> TransactionLimits:
        """Return how long transactions may take."""
        return self._limits

    @open_to_all("each operation in a transaction is checked")
    def begin(
        self, kind: TransactionKind, timeout_s: float | None, accessor: Accessor | None = None
    ) -> str:
        """Begin a transaction with a time limit in seconds, and return its token.

        :param accessor: what opens datasets in it; None: a new client.
        """
        if timeout_s is not None:
            timeout_s = min(timeout_s, self._limits.limit_s)
        token = secrets.token_hex(16)
        session = self._tables.open(kind, timeout_s, accessor)
        leased = _LeasedTransaction(session, self._lease_s, lambda: self._forget(token))
        self._leased[token] = leased
        self._watch.add(leased)
        return token

    @requires(OF_INSTANCE, Permission.READ, Permission.WRITE)
    def get_specification(self, token: str, table: str) -> StructuredTableSpecification:
        """Return the specification of a table as the transaction sees it.

        :raises NotFoundError: when there is no such table.
        """
        return self._find(token).session.get_specification(table)

    @requires(_STRUCTURED_TABLES, Permission.READ, Permission.WRITE)
    @non_idempotent
    def perform(self, token: str, ref: TableRef, operation: AnyOperation) -> Result:
        """Execute an operation. If its rows do not fit into one answer, :meth:`fetch_rows` returns the
        rest.

        :raises UnauthorizedError: when the caller lacks a permission on the structured tables or the dataset.
        """
        leased = self._find(token)
        table = _open_table(leased.session, ref)
        result = leased.session.perform(table, decode_operation(table, operation))
        if isinstance(result, Rows):
            result = encode_rows(table, result)
        return leased.first_page(result)

    @open_to_all("each operation on a dataset is checked")
    def open_dataset(self, token: str, namespace: str, name: str) -> OpenedDataset:
        """Return a dataset with its tables.

        :raises NotFoundError: when there is no such dataset.
        """
        return self._find(token).session.open_dataset(namespace, name)

    @open_to_all("each access to a dataset is checked")
    def note_access(
        self, token: str, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        """Check and record an access by a method, see :class:`localcdap.api.dataset.access.AccessGuard`.

        :raises UnauthorizedError: when the caller lacks a permission on the dataset.
        """
        self._find(token).session.note_access(namespace, dataset, access, recorded)

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

    def _open_session(
        self, kind: TransactionKind, timeout_s: float | None, accessor: Accessor
    ) -> LocalTransactionSession:
        """Begin a transaction for a program in the process of the host, which commits it or rolls it back."""
        return self._tables.open(kind, timeout_s, accessor)

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


def _open_table(session: LocalTransactionSession, ref: TableRef) -> OpenedTable:
    if ref.is_structured:
        return StructuredTableInfo(session.get_specification(ref.table))
    return session.open_dataset(ref.namespace, ref.dataset).get_table(ref.table)


def _make_lease_error() -> TransactionConflictError:
    return TransactionConflictError(
        "The client did not renew the lease of the transaction in time."
    )
