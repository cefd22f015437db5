"""Running functions as transactions, with retries after conflicts.

The database may be in this process or in the host: the runner only needs a function that opens a
:class:`~localcdap.store.structured.session.TransactionSession`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionContext, TransactionKind
from localcdap.api.errors import (
    BadRequestError,
    TransactionConflictError,
    TransactionError,
    TransactionTimeoutError,
)
from localcdap.store.structured.operations import Operation, Result
from localcdap.store.structured.session import TransactionSession
from localcdap.store.structured.sql import TableSql
from localcdap.store.structured.table import SessionContext

T = TypeVar("T")
Opener = Callable[[TransactionKind, float | None], TransactionSession]
"""Begins a transaction with a limit in seconds."""
TIMEOUT_S: Final = 30.0
_LONG_TRIES: Final = 5
_FIRST_WAIT_S: Final = 0.002
_LONGEST_WAIT_S: Final = 0.1
_WORKERS: Final = 4


class RetryingTransactionRunner:
    """The :class:`localcdap.api.app.TransactionRunner` of any kind of session. Threads may share it."""

    def __init__(self, open: Opener) -> None:
        self._open = open
        self._local = threading.local()
        self._changing = threading.Lock()
        self._workers: ThreadPoolExecutor | None = None

    def run(
        self,
        body: Callable[[TransactionContext], T],
        *,
        kind: TransactionKind = TransactionKind.DEFAULT,
        timeout_s: float | None = None,
    ) -> T:
        """See :meth:`localcdap.api.app.TransactionRunner.run`."""
        if timeout_s is not None and not timeout_s > 0:
            raise BadRequestError(
                f"The timeout of a transaction must be above 0 s, not {timeout_s}."
            )
        if getattr(self._local, "is_inside", False):
            raise TransactionError(
                "A transaction cannot be run inside the body of another one.",
                "Use the context of the outer transaction, or run one after the other.",
            )
        self._local.is_inside = True
        try:
            if kind is TransactionKind.NONE:
                return _run_once(_SingleOperationSession(self._open, timeout_s), body)
            return _Attempts(self._open, kind, timeout_s).run(body)
        finally:
            self._local.is_inside = False

    def submit(
        self,
        body: Callable[[TransactionContext], T],
        *,
        kind: TransactionKind = TransactionKind.DEFAULT,
        timeout_s: float | None = None,
    ) -> Future[T]:
        """See :meth:`localcdap.api.app.TransactionRunner.submit`."""
        with self._changing:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(_WORKERS, "transaction")
            return self._workers.submit(self.run, body, kind=kind, timeout_s=timeout_s)

    def close(self) -> None:
        """Wait for submitted transactions that have begun, and cancel the others."""
        with self._changing:
            if self._workers is not None:
                self._workers.shutdown(cancel_futures=True)


class _Attempts:
    """The attempts of one transaction."""

    def __init__(self, open: Opener, kind: TransactionKind, timeout_s: float | None) -> None:
        self._open = open
        self._kind = kind
        if timeout_s is None and kind is not TransactionKind.LONG:
            timeout_s = TIMEOUT_S
        self._timeout_s = timeout_s
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s

    def run(self, body: Callable[[TransactionContext], T]) -> T:
        """Call the body in a new transaction after each conflict, until it succeeds or its time is over."""
        number = 0
        conflict: TransactionConflictError | None = None
        while True:
            number += 1
            try:
                return _run_once(self._open(self._kind, self._get_remaining_s()), body)
            except TransactionConflictError as error:
                conflict = error
            except TransactionTimeoutError:
                if conflict is None:
                    raise
            wait_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** min(number, 10)) * random.random()  # noqa: S311
            if not self._can_retry(number, wait_s):
                raise TransactionConflictError(
                    f"The transaction conflicted with others in all {number} attempts: {conflict}",
                    "Try again later, or let it use fewer rows.",
                ) from conflict
            time.sleep(wait_s)

    def _get_remaining_s(self) -> float | None:
        if self._deadline is None:
            return None
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TransactionTimeoutError(
                f"The transaction took longer than {self._timeout_s:g} seconds."
            )
        return left_s

    def _can_retry(self, number: int, wait_s: float) -> bool:
        if self._deadline is None:
            return number < _LONG_TRIES
        return time.monotonic() + wait_s < self._deadline


class _SingleOperationSession:
    """A session in which every operation is a separate transaction."""

    def __init__(self, open: Opener, timeout_s: float | None) -> None:
        self._open = open
        self._timeout_s = timeout_s

    def get_specification(self, table: str) -> StructuredTableSpecification:
        return self._run(lambda context: context.table(table).specification)

    def perform(self, table: TableSql, operation: Operation) -> Result:
        def body(context: TransactionContext) -> Result:
            assert isinstance(context, SessionContext)
            return context.perform(table, operation)

        return self._run(body)

    def commit(self) -> None:
        """Do nothing: every operation has been committed."""

    def rollback(self) -> None:
        """Do nothing: operations that were committed cannot be undone."""

    def _run(self, body: Callable[[TransactionContext], T]) -> T:
        return _Attempts(self._open, TransactionKind.NONE, self._timeout_s).run(body)


def _run_once(session: TransactionSession, body: Callable[[TransactionContext], T]) -> T:
    """Call the body; commit if it returns, roll back if it raises.

    :raises TransactionConflictError: also when the body replaced such an error by another one.
    """
    context = SessionContext(session)
    try:
        result = body(context)
        if context.has_conflicted:
            raise TransactionConflictError("Another transaction changed the same rows.")
        session.commit()
    except BaseException as error:
        session.rollback()
        if context.has_conflicted and isinstance(error, Exception):
            raise TransactionConflictError(str(error)) from error
        raise
    finally:
        context.close()
    return result
