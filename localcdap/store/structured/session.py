"""One try of a transaction."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, Protocol

from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionKind
from localcdap.api.errors import (
    ConflictError,
    StoreError,
    TransactionConflictError,
    TransactionError,
    TransactionTimeoutError,
)
from localcdap.store.store import Store, Transaction
from localcdap.store.structured.admin import TableRegistry, find_specification
from localcdap.store.structured.commits import Commits
from localcdap.store.structured.operations import Operation, Result
from localcdap.store.structured.sql import TableSql


class TransactionSession(Protocol):
    """What a runner and its tables need of a transaction, wherever that is."""

    def specification(self, table: str) -> StructuredTableSpecification:
        """:raises NotFoundError: when there is no such table."""
        ...

    def perform(self, table: TableSql, operation: Operation) -> Result:
        """Carry out an operation; Rows hold all of their values then."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Never raises; nothing happens when the transaction is over."""
        ...


class LocalTransactionSession:
    """A transaction in the process that has the database open. Threads may share it; they take turns.

    :param timeout_s: seconds after which it is rolled back; None for never.
    """

    def __init__(
        self,
        store: Store,
        registry: TableRegistry,
        commits: Commits,
        kind: TransactionKind,
        timeout_s: float | None,
    ) -> None:
        # Tables that are made or changed later are not those of its snapshot.
        self._known = registry.known()
        self._commits = commits
        self._kind = kind
        self._timeout_s = timeout_s
        self.deadline: Final = None if timeout_s is None else time.monotonic() + timeout_s
        self._turn = threading.Lock()
        self._ending = threading.Lock()
        """Held while it is said to be over, so that nobody interrupts the next user of its cursor."""
        self._over: Callable[[], TransactionError] | None = None
        """Set when it is over: what later use raises."""
        self._expired: Callable[[], TransactionError] | None = None
        """Set when the statement under way is broken off: why."""
        self._footprint = commits.begin()
        read_only = kind is TransactionKind.READ_ONLY
        self._block = store.snapshot() if read_only else store.concurrent_transaction()
        try:
            self._transaction: Transaction = self._block.__enter__()
        except BaseException:
            commits.end(self._footprint)
            raise

    def specification(self, table: str) -> StructuredTableSpecification:
        return find_specification(self._known, table)

    def perform(self, table: TableSql, operation: Operation) -> Result:
        """:raises TransactionError: when it is over, or read-only and the operation writes."""
        action = operation.prepare(table)
        if operation.writes and self._kind is TransactionKind.READ_ONLY:
            raise TransactionError(
                f"Table {table.spec.table} cannot be changed in a read-only transaction.",
                "Run it as another kind of transaction.",
            )
        with self._turn:
            self._require_open()
            return action(self)

    def commit(self) -> None:
        """:raises TransactionConflictError: when another transaction got in its way; then it is over."""
        with self._turn:
            self._require_open()
            self._say_over(_over)
            only_written = self._kind is TransactionKind.LONG
            try:
                with (
                    _conflicts(),
                    self._commits.committing(self._footprint, only_written=only_written),
                ):
                    self._block.__exit__(None, None, None)
            except BaseException as error:
                self._undo(error)
                raise
            finally:
                self._commits.end(self._footprint)

    def rollback(self) -> None:
        with self._turn:
            if self._over is None:
                self._end(_over)

    def expire(self, reason: Callable[[], TransactionError]) -> bool:
        """Roll back, from any thread, with what every later use raises; break off a statement under way.

        :returns: whether it is over now; else call it again, since a statement that is about to start
            notices nothing.
        """
        if self._turn.acquire(blocking=False):
            try:
                if self._over is None:
                    self._end(reason)
            finally:
                self._turn.release()
            return True
        with self._ending:
            if self._over is None:
                self._expired = reason
                self._transaction.interrupt()
        return False

    def make_timeout_error(self) -> TransactionTimeoutError:
        """Return what it fails with when it took longer than it may."""
        took_s = round(self._timeout_s or 0, 2)
        return TransactionTimeoutError(
            f"The transaction took longer than {took_s:g} seconds; nothing of it was kept.",
            "Give it more time, or let it do less.",
        )

    def execute(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]:
        """Run a statement of an operation."""
        try:
            with _conflicts():
                return self._transaction.execute(sql, params)
        except StoreError as error:
            if self._expired is not None:
                self._end(self._expired)
                raise self._expired() from error
            raise

    def add_keys(self, table: str, keys: Collection[tuple[Any, ...]], *, writes: bool) -> None:
        self._footprint.add_keys(table, keys, writes=writes)

    def add_table(self, table: str, *, writes: bool) -> None:
        self._footprint.add_table(table, writes=writes)

    def _require_open(self) -> None:
        if self._over is None and self.deadline is not None and time.monotonic() > self.deadline:
            self._end(self.make_timeout_error)
        if self._over is not None:
            raise self._over()

    def _end(self, reason: Callable[[], TransactionError]) -> None:
        self._say_over(reason)
        self._undo(reason())
        self._commits.end(self._footprint)

    def _say_over(self, reason: Callable[[], TransactionError]) -> None:
        with self._ending:
            self._over = reason

    def _undo(self, error: BaseException) -> None:
        with contextlib.suppress(
            BaseException
        ):  # it raises what it is given, or has ended by itself
            self._block.__exit__(type(error), error, error.__traceback__)


def _over() -> TransactionError:
    return TransactionError(
        "The transaction of this table is over.", "Use a table and its rows inside the body only."
    )


@contextlib.contextmanager
def _conflicts() -> Iterator[None]:
    """A violated primary key is a conflict: operations insert only rows that they do not see."""
    try:
        yield
    except ConflictError as error:
        raise TransactionConflictError(error.message) from error
