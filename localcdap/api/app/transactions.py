"""How system applications get at their tables."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from enum import StrEnum
from typing import Protocol, TypeVar

from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.app.table import StructuredTable

T = TypeVar("T")


class TransactionKind(StrEnum):
    """What holds the operations of a body together."""

    DEFAULT = "DEFAULT"
    """All take effect or none, as if nobody else were there (serializable), within a time limit."""
    LONG = "LONG"
    """All or none, without a time limit. What it only reads may be changed by others meanwhile."""
    READ_ONLY = "READ_ONLY"
    """All see the same state; those that write are refused. It never conflicts."""
    NONE = "NONE"
    """Nothing: each operation is a transaction of its own, and stays done if the body fails later."""


class TransactionContext(Protocol):
    """The tables, inside a transaction. It must not be used in other threads or after the body."""

    def table(self, table: str) -> StructuredTable:
        """The table with this id.

        :raises NotFoundError: when there is none; lists those that are.
        """
        ...


class TransactionRunner(Protocol):
    """Runs bodies of code as transactions. Threads may share it."""

    def run(
        self,
        body: Callable[[TransactionContext], T],
        *,
        kind: TransactionKind = TransactionKind.DEFAULT,
        timeout_s: float | None = None,
    ) -> T:
        """Call the body, make permanent what it did, and return what it returned.

        When the body raises, nothing it did is kept, and its exception comes out as it is. When somebody
        else's transaction got in its way, it is called again after a short wait, until its time is over:
        so it must be such that it can be repeated.

        :param timeout_s: seconds for all tries together, without a transaction for each operation; 30 by
            default, no end for a LONG one. An operation under way is broken off then; other code of the
            body cannot be.
        :raises TransactionConflictError: when others got in its way each time.
        :raises TransactionTimeoutError: when the time is over.
        :raises TransactionError: inside the body of another transaction.
        """
        ...

    def submit(
        self,
        body: Callable[[TransactionContext], T],
        *,
        kind: TransactionKind = TransactionKind.DEFAULT,
        timeout_s: float | None = None,
    ) -> Future[T]:
        """:meth:`run`, in another thread. The time begins when the body is first called."""
        ...


class StructuredTableAdmin(Protocol):
    """Makes, changes and removes tables. Each call is a transaction of its own."""

    def create_or_update(self, specification: StructuredTableSpecification) -> None:
        """Make the table, or add to it the fields and indexes that it lacks; new fields are null.

        :raises IncompatibleTableError: when a field or index it has would go away, a field would get
            another type, or the primary key would change; names every one.
        """
        ...

    def exists(self, table: str) -> bool: ...

    def get_schema(self, table: str) -> StructuredTableSpecification:
        """:raises NotFoundError: when there is no such table; lists those that are."""
        ...

    def drop(self, table: str) -> None:
        """Remove the table with its rows; nothing happens when there is none."""
        ...
