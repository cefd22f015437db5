"""Running functions as transactions, with retries after conflicts.

The database may be in this process or in the host: the runner only needs a function that opens a
:class:`~localcdap.store.transactions.session.TransactionSession`.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from localcdap.api.app.table import (
    Filter,
    Key,
    QueryOption,
    Range,
    RowValues,
    SortOrder,
    StructuredRow,
    StructuredRows,
    StructuredTable,
    StructuredTableSpecification,
    create_row_class,
)
from localcdap.api.app.transactions import TransactionContext, TransactionKind, TransactionLimits
from localcdap.api.dataset.access import AccessKind
from localcdap.api.errors import (
    TableUsageError,
    TransactionConflictError,
    TransactionError,
    TransactionTimeoutError,
)
from localcdap.store.transactions import operations as op
from localcdap.store.transactions.dataset_session import OpenedDataset
from localcdap.store.transactions.opened_datasets import (
    FilesOnly,
    FindType,
    find_built_in,
    open_dataset,
)
from localcdap.store.transactions.operations import Operation, Result
from localcdap.store.transactions.selections import RowSelection
from localcdap.store.transactions.session import CommitActions, TransactionSession
from localcdap.store.transactions.structured_table import StructuredTableInfo
from localcdap.store.transactions.table import OpenedTable

_P = ParamSpec("_P")
_T = TypeVar("_T")
_CHUNK = 10_000
"""Records that one statement writes."""


class SessionContext:
    """The :class:`localcdap.api.app.TransactionContext` of one attempt of a transaction."""

    def __init__(
        self,
        session: TransactionSession,
        find_type: FindType = find_built_in,
        namespace: str = "default",
    ) -> None:
        """Create it.

        :param find_type: returns dataset types.
        :param namespace: that of datasets which are opened by name only.
        """
        self._session = session
        self._find_type = find_type
        self._namespace = namespace
        self._is_over = False
        self._rows: list[weakref.ref[StructuredRows]] = []
        self.has_conflicted = False
        """Whether an operation conflicted with another transaction, also when the body caught that error."""

    def table(self, table: str) -> StructuredTable:
        """Return the table with this id."""
        self.require_open()
        return _Table(self, StructuredTableInfo(self._session.get_specification(table)))

    def dataset(
        self, name: str, *, namespace: str | None = None, arguments: Mapping[str, str] | None = None
    ) -> Any:
        """See :meth:`localcdap.api.app.TransactionContext.dataset`."""
        owner = self._namespace if namespace is None else namespace
        return open_dataset(self, self._find_type, owner, name, arguments or {})

    def perform(self, table: OpenedTable, operation: op.Operation) -> op.Result:
        """Execute an operation on a structured table or a table of a dataset."""
        return self._call(self._session.perform, table, operation)

    def open_dataset(self, namespace: str, name: str) -> OpenedDataset:
        """See :class:`localcdap.store.transactions.session.TransactionSession`, as the next one."""
        return self._call(self._session.open_dataset, namespace, name)

    def note_access(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        self._call(self._session.note_access, namespace, dataset, access, recorded)

    def on_commit(self, action: Callable[[], None]) -> None:
        """See :meth:`localcdap.api.dataset.dataset.DatasetContext.on_commit`."""
        self._session.commit_actions.add(action)

    def _call(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        self.require_open()
        try:
            return method(*args, **kwargs)
        except TransactionConflictError:
            self.has_conflicted = True
            raise

    def require_open(self) -> None:
        """Check that the body has not ended.

        :raises TransactionError: when it has.
        """
        if self._is_over:
            raise TransactionError(
                "The transaction of this table is over.",
                "Use a table and its rows inside the body only.",
            )

    def close_with_transaction(self, rows: StructuredRows) -> None:
        """Register rows that are closed with the transaction."""
        self._rows.append(weakref.ref(rows))

    def close(self) -> None:
        """Reject further use of the tables, and close the rows that were read."""
        self._is_over = True
        for each in self._rows:
            rows = each()
            if rows is not None:
                rows.close()


class _Table(StructuredTable):
    def __init__(self, context: SessionContext, table: StructuredTableInfo) -> None:
        self._context = context
        self._table = table

    @property
    def specification(self) -> StructuredTableSpecification:
        return self._table.spec

    def upsert(self, record: RowValues) -> None:
        self._do(op.Write([dict(record)]))

    def upsert_all(self, records: Iterable[RowValues]) -> None:
        rows = [dict(record) for record in records]
        for start in range(0, len(rows), _CHUNK):
            self._do(op.Write(rows[start : start + _CHUNK]))

    def update(self, record: RowValues) -> None:
        self._context.require_open()
        key = self._table.check_row(record)
        values = {name: value for name, value in record.items() if name not in self._table.key}
        self._do(op.Update(RowSelection(keys=[key]), values))

    def read(self, key: Key, columns: Collection[str] | None = None) -> StructuredRow | None:
        names = None if columns is None else list(columns)
        return next(self._read(op.Read(RowSelection(keys=[key]), names)), None)

    def multi_read(self, keys: Iterable[Key]) -> list[StructuredRow]:
        return list(self._read(op.Read(RowSelection(keys=list(keys)))))

    def scan(
        self,
        range: Range = Range.all(),  # noqa: B008  it is immutable
        *,
        limit: int | None = None,
        filters: Collection[Filter] = (),
        order_by: str | None = None,
        order: SortOrder = SortOrder.ASC,
        options: Collection[QueryOption] = (),
    ) -> StructuredRows:
        limit = self._table.check_limit(limit)
        selection = self._select([range], filters)
        columns = [] if order_by is None else [order_by]
        self._table.check_indexes(columns)
        descending = order is SortOrder.DESC
        return self._read(op.Read(selection, None, columns, descending, limit))

    def multi_scan(self, ranges: Iterable[Range], *, limit: int | None = None) -> StructuredRows:
        limit = self._table.check_limit(limit)
        return self._read(op.Read(self._select(ranges), limit=limit))

    def compare_and_swap(self, key: Key, column: str, old: Any, new: Any) -> bool:
        return bool(self._do(op.CompareAndSwap(key, column, old, new)))

    def increment(self, key: Key, column: str, amount: int) -> None:
        self._do(op.Increment(key, {column: amount}))

    def delete(self, key: Key) -> None:
        self._do(op.Delete(RowSelection(keys=[key])))

    def delete_all(self, range: Range, *, options: Collection[QueryOption] = ()) -> None:
        self._context.require_open()
        self._table.check_prefix_range(range)
        self._do(op.Delete(RowSelection(ranges=[range])))

    def scan_delete_all(self, range: Range) -> None:
        self._do(op.Delete(RowSelection(ranges=[range])))

    def update_all(self, range: Range, values: RowValues) -> None:
        self._context.require_open()
        self._table.check_not_key(values)
        self._table.check_prefix_range(range)
        if not values:
            raise TableUsageError(f"No fields of table {self._table.id} are given to update")
        self._do(op.Update(RowSelection(ranges=[range]), dict(values)))

    def count(
        self,
        ranges: Sequence[Range] = (Range.all(),),
        *,
        filters: Collection[Filter] = (),
        options: Collection[QueryOption] = (),
    ) -> int:
        number = self._do(op.Count(self._select(ranges, filters)))
        assert isinstance(number, int)
        return number

    def _select(self, ranges: Iterable[Range], filters: Collection[Filter] = ()) -> RowSelection:
        """Return the rows in any of the ranges that match any of the filters, if there are any."""
        self._context.require_open()
        selection = RowSelection(ranges=list(ranges), filters=list(filters))
        for range in selection.ranges or ():
            self._table.check_scan_range(range)
        self._table.check_indexes(name for name, _ in filters)
        return selection

    def _do(self, operation: op.Operation) -> op.Result:
        return self._context.perform(self._table, operation)

    def _read(self, operation: op.Read) -> StructuredRows:
        result = self._do(operation)
        assert isinstance(result, op.Rows)
        rows = StructuredRows(
            create_row_class(tuple(result.columns), self._table.key), result.values
        )
        self._context.close_with_transaction(rows)
        return rows


T = TypeVar("T")
MakeContext = Callable[[TransactionSession], SessionContext]
Opener = Callable[[TransactionKind, float | None], TransactionSession]
"""Begins a transaction with a limit in seconds."""
_LONG_TRIES: Final = 5
_FIRST_WAIT_S: Final = 0.002
_LONGEST_WAIT_S: Final = 0.1
_WORKERS: Final = 4


class RetryingTransactionRunner:
    """The :class:`localcdap.api.app.TransactionRunner` of any kind of session. Threads may share it."""

    def __init__(
        self,
        open: Opener,
        find_type: FindType = find_built_in,
        namespace: str = "default",
        get_limits: Callable[[], TransactionLimits] = TransactionLimits,
    ) -> None:
        """Create it.

        :param find_type: returns dataset types.
        :param namespace: that of datasets which are opened by name only.
        :param get_limits: returns how long transactions may take.
        """
        self._open = open
        self._get_limits = get_limits
        self._find_type = find_type
        self._namespace = namespace
        self._make_context = partial(SessionContext, find_type=find_type, namespace=namespace)
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
        limits = self._get_limits()
        if timeout_s is not None:
            timeout_s = limits.check(timeout_s)
        elif kind is not TransactionKind.LONG:
            timeout_s = limits.timeout_s
        if getattr(self._local, "is_inside", False):
            raise TransactionError(
                "Attempted to start a transaction within active transaction.",
                "Use the context of the outer transaction, or run one after the other.",
            )
        self._local.is_inside = True
        try:
            if kind is TransactionKind.NONE:
                single = _SingleOperationSession(self._open, timeout_s, self._make_context)
                return _run_once(self._make_context(single), single, body)
            return _Attempts(self._open, kind, timeout_s, self._make_context).run(body)
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
            run = partial(self.run, body, kind=kind, timeout_s=timeout_s)
            # The thread acts as the principal of the caller.
            return self._workers.submit(copy_context().run, run)

    def dataset(
        self, name: str, *, namespace: str | None = None, arguments: Mapping[str, str] | None = None
    ) -> Any:
        """See :meth:`localcdap.api.app.TransactionRunner.dataset`."""
        owner = self._namespace if namespace is None else namespace
        single = _SingleOperationSession(self._open, None, self._make_context)
        files = FilesOnly(single)
        return open_dataset(files, self._find_type, owner, name, arguments or {})

    def close(self) -> None:
        """Wait for submitted transactions that have begun, and cancel the others."""
        with self._changing:
            if self._workers is not None:
                self._workers.shutdown(cancel_futures=True)


class _Attempts:
    """The attempts of one transaction."""

    def __init__(
        self,
        open: Opener,
        kind: TransactionKind,
        timeout_s: float | None,
        make_context: MakeContext,
    ) -> None:
        self._open = open
        self._kind = kind
        self._make_context = make_context
        self._timeout_s = timeout_s
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s

    def run(self, body: Callable[[SessionContext], T]) -> T:
        """Call the body in a new transaction after each conflict, until it succeeds or its time is over."""
        number = 0
        conflict: TransactionConflictError | None = None
        while True:
            number += 1
            try:
                session = self._open(self._kind, self._get_remaining_s())
                return _run_once(self._make_context(session), session, body)
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

    def __init__(self, open: Opener, timeout_s: float | None, make_context: MakeContext) -> None:
        self.commit_actions: Final = CommitActions()
        self._open = open
        self._timeout_s = timeout_s
        self._make_context = make_context

    def get_specification(self, table: str) -> StructuredTableSpecification:
        return self._run(lambda context: context.table(table).specification)

    def perform(self, table: OpenedTable, operation: Operation) -> Result:
        return self._run(lambda context: context.perform(table, operation))

    def open_dataset(self, namespace: str, name: str) -> OpenedDataset:
        return self._run(lambda context: context.open_dataset(namespace, name))

    def note_access(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        self._run(lambda context: context.note_access(namespace, dataset, access, recorded))

    def commit(self) -> None:
        """Do nothing else: every operation has been committed."""
        self.commit_actions.run()

    def rollback(self) -> None:
        """Do nothing: operations that were committed cannot be undone."""

    def _run(self, body: Callable[[SessionContext], T]) -> T:
        attempts = _Attempts(self._open, TransactionKind.NONE, self._timeout_s, self._make_context)
        return attempts.run(body)


def _run_once(
    context: SessionContext, session: TransactionSession, body: Callable[[SessionContext], T]
) -> T:
    """Call the body; commit if it returns, roll back if it raises.

    :raises TransactionConflictError: also when the body replaced such an error by another one.
    """
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


_LOG: Final = logging.getLogger(__name__)
_TICK_S: Final = 0.05
"""Seconds between two checks."""
_LINGER_S: Final = 1.0
"""Seconds without transactions after which the thread sleeps until it is woken, which costs a short
transaction more than the rest of its registration."""


class MonitoredTransaction(Protocol):
    """A transaction that must be checked from time to time."""

    def check(self, now: float) -> None:
        """End the transaction or renew its lease, if that is due.

        :param now: the value of :func:`time.monotonic`.
        """
        ...


class TransactionMonitor:
    """Checks any number of transactions in one thread, which sleeps while there are none."""

    def __init__(self) -> None:
        self._watched: set[MonitoredTransaction] = set()
        self._changed = threading.Condition()
        self._is_asleep = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, watched: MonitoredTransaction) -> None:
        """Check a transaction until it is discarded."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._check_transactions, name="watch", daemon=True
                )
                self._thread.start()
            self._watched.add(watched)
            if self._is_asleep:
                self._changed.notify()

    def discard(self, watched: MonitoredTransaction) -> None:
        """Stop checking a transaction."""
        with self._changed:
            self._watched.discard(watched)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _check_transactions(self) -> None:
        last = time.monotonic()
        while True:
            with self._changed:
                if not self._watched and time.monotonic() - last > _LINGER_S:
                    self._is_asleep = True
                    self._changed.wait_for(lambda: self._closed or self._watched)
                    self._is_asleep = False
                if self._closed:
                    return
                watched = list(self._watched)
            now = time.monotonic()
            if watched:
                last = now
            for each in watched:
                try:
                    each.check(now)
                except Exception:
                    _LOG.exception("an open transaction could not be checked")
            time.sleep(_TICK_S)
