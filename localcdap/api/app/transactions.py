"""Transactions on structured tables."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from enum import StrEnum
from typing import Protocol, TypeVar

from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.app.table import StructuredTable

T = TypeVar("T")


class TransactionKind(StrEnum):
    """The isolation of the operations of a function."""

    DEFAULT = "DEFAULT"
    """One serializable transaction with a time limit."""
    LONG = "LONG"
    """One transaction without a time limit. Other transactions may change what it only reads."""
    READ_ONLY = "READ_ONLY"
    """One snapshot. Writes are rejected, and there are no conflicts."""
    NONE = "NONE"
    """Each operation is a separate transaction, and is kept when the function fails later."""


class TransactionContext(Protocol):
    """The tables inside a transaction. Do not use it in other threads or after the transaction."""

    def table(self, table: str) -> StructuredTable:
        """Return a table by its id.

        :raises NotFoundError: when there is none; the message lists the existing tables.
        """
        ...


class TransactionRunner(Protocol):
    """Runs functions as transactions. Threads may share it."""

    def run(
        self,
        body: Callable[[TransactionContext], T],
        *,
        kind: TransactionKind = TransactionKind.DEFAULT,
        timeout_s: float | None = None,
    ) -> T:
        """Call a function in a transaction, commit, and return its result.

        When the function raises, the transaction is rolled back and the exception is raised. On a conflict
        with another transaction the function is called again after a short wait, until its time is over, so
        it must be repeatable.

        :param timeout_s: the seconds for all attempts together, not for kind NONE; 30 by default, unlimited
            for LONG. A running operation is then interrupted; other code of the function is not.
        :raises TransactionConflictError: when every attempt has a conflict.
        :raises TransactionTimeoutError: when the time is over.
        :raises TransactionError: inside of another transaction.
        """
        ...

    def submit(
        self,
        body: Callable[[TransactionContext], T],
        *,
        kind: TransactionKind = TransactionKind.DEFAULT,
        timeout_s: float | None = None,
    ) -> Future[T]:
        """Call :meth:`run` in another thread. The time starts with the first call of the function."""
        ...


class StructuredTableAdmin(Protocol):
    """Creates, changes and drops tables. Each call is a separate transaction."""

    def create_or_update(self, specification: StructuredTableSpecification) -> None:
        """Create a table, or add the fields and indexes that it lacks; new fields are null.

        :raises IncompatibleTableError: when a field or index would be removed, the type of a field or the
            primary key would change; the message lists all.
        """
        ...

    def exists(self, table: str) -> bool:
        """Return whether there is a table with this id."""
        ...

    def get_schema(self, table: str) -> StructuredTableSpecification:
        """Return the specification of a table.

        :raises NotFoundError: when there is none; the message lists the existing tables.
        """
        ...

    def drop(self, table: str) -> None:
        """Drop a table with its rows; nothing happens when there is none."""
        ...
