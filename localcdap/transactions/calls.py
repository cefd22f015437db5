"""The calls of the host with which other processes run transactions.

The class has only signatures: :class:`localcdap.datasets.transactions.TransactionService` is the service.
"""

from __future__ import annotations

import uuid
from typing import Final

import msgspec

from localcdap.api.app.table import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionKind, TransactionLimits
from localcdap.api.dataset.access import AccessKind
from localcdap.rpc.methods import non_idempotent
from localcdap.store.transactions.dataset_session import OpenedDataset
from localcdap.store.transactions.operations import AnyOperation, Result, Rows
from localcdap.store.transactions.table import TableRef

LEASE_S: Final = 5.0
"""Seconds that the host keeps a transaction without a call from its client."""


class Accessor(msgspec.Struct, frozen=True):
    """What opens datasets: a run of a program, or another client of the instance."""

    context: str
    """Accesses are recorded once for each context: the id of a run, or any unique text."""
    namespace: str = ""
    application: str = ""
    """Empty for a client that is not a program; its accesses are in the audit log only."""
    type: str = ""
    """Workflow, Worker, Service or Spark."""
    program: str = ""

    @classmethod
    def of_client(cls) -> Accessor:
        """Return a new accessor for a client that is not a program."""
        return cls(uuid.uuid4().hex)


class TransactionCalls:
    """The transactions of clients in the host."""

    def get_limits(self) -> TransactionLimits:
        """Return how long transactions may take."""
        raise NotImplementedError

    def begin(
        self, kind: TransactionKind, timeout_s: float | None, accessor: Accessor | None = None
    ) -> str:
        """Begin a transaction with a time limit in seconds, and return its token.

        :param accessor: what opens datasets in it; None: a new client.
        """
        raise NotImplementedError

    def get_specification(self, token: str, table: str) -> StructuredTableSpecification:
        """Return the specification of a structured table as the transaction sees it.

        :raises NotFoundError: when there is no such table.
        """
        raise NotImplementedError

    @non_idempotent
    def perform(self, token: str, ref: TableRef, operation: AnyOperation) -> Result:
        """Execute an operation. If its rows do not fit into one answer, :meth:`fetch_rows` returns the
        rest.

        :raises UnauthorizedError: when the caller lacks a permission on the structured tables or the dataset.
        """
        raise NotImplementedError

    def open_dataset(self, token: str, namespace: str, name: str) -> OpenedDataset:
        """Return a dataset with its tables.

        :raises NotFoundError: when there is no such dataset.
        """
        raise NotImplementedError

    def note_access(
        self, token: str, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        """Check and record an access by a method, see :class:`localcdap.api.dataset.access.AccessGuard`.

        :raises UnauthorizedError: when the caller lacks a permission on the dataset.
        """
        raise NotImplementedError

    @non_idempotent
    def fetch_rows(self, token: str, rest: int) -> Rows:
        """Return further rows of an answer that has a rest; each rest can be fetched once."""
        raise NotImplementedError

    @non_idempotent
    def commit(self, token: str) -> None:
        """Commit the transaction.

        :raises TransactionConflictError: when it conflicts with another transaction.
        """
        raise NotImplementedError

    def rollback(self, token: str) -> None:
        """Roll back the transaction, if it is not over."""
        raise NotImplementedError

    def renew(self, token: str) -> None:
        """Renew the lease of the transaction, if it is not over."""
        raise NotImplementedError


TRANSACTIONS: Final = "transactions"
"""The name of ``TransactionService``."""
ADMIN: Final = "structured-tables"
"""The name of ``TableAdmin``."""
