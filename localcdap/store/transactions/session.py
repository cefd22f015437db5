"""One attempt of a transaction on structured tables and datasets."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Protocol

from localcdap.api.app.namespaces import is_namespaced
from localcdap.api.app.table import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionKind
from localcdap.api.dataset.access import AccessKind
from localcdap.api.errors import (
    ConflictError,
    LocalcdapError,
    StoreError,
    TransactionConflictError,
    TransactionError,
    TransactionTimeoutError,
)
from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.api.schema import Schema
from localcdap.store.store import Store, Transaction
from localcdap.store.transactions.commits import Commits
from localcdap.store.transactions.dataset_session import (
    DatasetAccesses,
    DatasetSession,
    KnownDatasets,
    OpenedDataset,
    UnopenedDatasets,
)
from localcdap.store.transactions.operations import Operation, Result, Rows, TableRows
from localcdap.store.transactions.pending_rows import StoredRows
from localcdap.store.transactions.structured_table import (
    DatasetTable,
    StructuredTableInfo,
    find_specification,
)
from localcdap.store.transactions.table import OpenedTable

_LOG: Final = logging.getLogger(__name__)


class CommitActions:
    """Functions that are called in their order when a transaction has been committed."""

    def __init__(self) -> None:
        self._actions: list[Callable[[], None]] = []

    def add(self, action: Callable[[], None]) -> None:
        """Register a function."""
        self._actions.append(action)

    def run(self) -> None:
        """Call the functions. The commit cannot be undone, so their errors are only logged."""
        for action in self._actions:
            try:
                action()
            except Exception:
                _LOG.exception("what follows the commit of a transaction has failed")


NamespaceCheck = Callable[[str, int], None]
"""Raises an error unless there is a namespace of this name and generation."""


def accept_namespace(_namespace: str, _generation: int) -> None:
    """Accept any namespace: for tables that are used without a service of namespaces."""


class TransactionSession(Protocol):
    """A transaction in this process or in the host, as the runner and its tables use it."""

    @property
    def commit_actions(self) -> CommitActions:
        """What is done after the commit."""
        ...

    def get_specification(self, table: str) -> StructuredTableSpecification:
        """Return the specification of a table.

        :raises NotFoundError: when there is no such table.
        """
        ...

    def perform(self, table: OpenedTable, operation: Operation) -> Result:
        """Execute an operation on a structured table or a table of a dataset.

        Rows in the result are complete.
        """
        ...

    def open_dataset(self, namespace: str, name: str) -> OpenedDataset:
        """Return a dataset with its tables.

        :raises NotFoundError: when there is no such dataset.
        """
        ...

    def note_access(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        """Check and record an access by a method, see :class:`localcdap.api.dataset.access.AccessGuard`."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Roll back the transaction, if it is not over; never raises."""
        ...


class LocalTransactionSession:
    """A transaction in the process that has the database open. Threads may share it; they take turns.

    :param specifications: the structured tables; the mapping must not change later.
    :param timeout_s: seconds after which the transaction is rolled back; None for no limit.
    :param check_namespace: raises an error unless the namespace exists in this generation; called at commit
        for each that the transaction has added rows to (:func:`localcdap.api.app.namespaced_table`).
    :param accesses: checks and records the accesses to datasets; None: there are none.
    :param datasets: the datasets that transactions have opened.
    """

    def __init__(
        self,
        store: Store,
        specifications: Mapping[str, StructuredTableSpecification],
        commits: Commits,
        kind: TransactionKind,
        timeout_s: float | None,
        check_namespace: NamespaceCheck = accept_namespace,
        accesses: DatasetAccesses | None = None,
        datasets: KnownDatasets | None = None,
    ) -> None:
        self.commit_actions: Final = CommitActions()
        self._specifications = specifications
        self._commits = commits
        self._kind = kind
        self._timeout_s = timeout_s
        self.deadline: Final = None if timeout_s is None else time.monotonic() + timeout_s
        self._turn = threading.Lock()
        self._ending = threading.Lock()
        """Held while the transaction is marked as over, so that the next user of its cursor is not
        interrupted.
        """
        self._over: Callable[[], TransactionError] | None = None
        """Set when the transaction is over: makes the error that later use raises."""
        self._expired: Callable[[], TransactionError] | None = None
        """Set when the running statement is interrupted: makes the error that says why."""
        self._store = store
        self._datasets = DatasetSession(self, accesses or UnopenedDatasets(), datasets)
        self._has_written = False
        """Whether structured tables were changed."""
        self._check_namespace = check_namespace
        self._is_adding = False
        self._namespaces: set[tuple[str, int]] = set()
        """The namespaces, with their generations, that rows were added to."""
        self._footprint = commits.begin()
        read_only = kind is TransactionKind.READ_ONLY
        self._block = store.snapshot() if read_only else store.concurrent_transaction()
        try:
            self._transaction: Transaction = self._block.__enter__()
        except BaseException:
            commits.end(self._footprint)
            raise

    def get_specification(self, table: str) -> StructuredTableSpecification:
        return find_specification(self._specifications, table)

    def perform(self, table: OpenedTable, operation: Operation) -> Result:
        """Execute an operation on a structured table or a table of a dataset.

        :raises BadRequestError: when its arguments do not fit the table.
        :raises TransactionError: when the transaction is over, or is read-only and the operation writes.
        :raises UnauthorizedError: when the principal lacks a permission on the dataset.
        """
        action = operation.prepare(table)
        if operation.writes:
            self._require_writable(table.ref.table)
        with self._turn:
            self._require_open()
            self._is_adding = operation.adds
            rows = self._open_rows(table, operation)
            if rows.table is not table:  # the dataset was changed since the caller opened it
                action = operation.prepare(rows.table)
            return action(rows)

    def _open_rows(self, table: OpenedTable, operation: Operation) -> TableRows:
        if isinstance(table, StructuredTableInfo):
            self._has_written |= operation.writes
            return StoredRows(table, self, self)
        return self._datasets.open_rows(self._transaction, table.ref, operation.access)

    def open_dataset(self, namespace: str, name: str) -> OpenedDataset:
        with self._turn:
            self._require_open()
            return self._datasets.open(self._transaction, namespace, name)

    def note_access(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        with self._turn:
            self._require_open()
            self._datasets.note_access(namespace, dataset, access, recorded)

    def _require_writable(self, table: str) -> None:
        if self._kind is TransactionKind.READ_ONLY:
            raise TransactionError(
                f"Table {table} cannot be changed in a read-only transaction.",
                "Run it as another kind of transaction.",
            )

    def commit(self) -> None:
        """Commit the transaction.

        :raises TransactionConflictError: when it conflicts with another one; it is then rolled back.
        :raises NotFoundError: when it added rows to a namespace that was deleted; it is then rolled back.
        """
        with self._turn:
            self._require_open()
            self._mark_over(_over)
            try:
                has_rows = self._datasets.has_changes
                if not (has_rows or self._has_written):
                    self._commit_reads()
                elif self._has_written:
                    self._commit_tables(has_rows)
                else:
                    self._commit_datasets()
            except ConflictError as error:
                self._undo(error)
                raise _make_conflict_error(error) from error
            except BaseException as error:
                self._undo(error)
                raise
            finally:
                self._commits.end(self._footprint)
        self.commit_actions.run()

    def _commit_datasets(self) -> None:
        """Make the changes of datasets in a new transaction, which sees the latest commits."""
        self._block.__exit__(None, None, None)
        with self._store.transaction(within=self._hold()) as tx:
            self._datasets.apply(tx)
            self._datasets.record_writes(tx)

    def _commit_reads(self) -> None:
        """End a transaction that has changed no rows; its methods may count as accesses that write."""
        self._transaction.has_only_read = True
        self._block.__exit__(None, None, None)
        self._record_writes()

    def _commit_tables(self, has_rows: bool) -> None:
        """Commit the changes of structured tables, and those of datasets with them."""
        waiting = self._store.hold_writers() if has_rows else contextlib.nullcontext()
        with waiting, self._hold():
            # While it commits, deletions of namespaces wait (:meth:`Commits.wait`).
            for namespace, generation in self._namespaces:
                self._check_namespace(namespace, generation)
            if has_rows:
                self._datasets.apply(self._transaction)
            self._block.__exit__(None, None, None)
        self._record_writes()

    def _record_writes(self) -> None:
        if self._datasets.has_writes:
            with self._store.transaction() as tx:
                self._datasets.record_writes(tx)

    def _hold(self) -> contextlib.AbstractContextManager[None]:
        only_written = self._kind is TransactionKind.LONG
        return self._commits.check_and_hold(self._footprint, only_written=only_written)

    def rollback(self) -> None:
        with self._turn:
            if self._over is None:
                self._end(_over)

    def expire(self, reason: Callable[[], TransactionError]) -> bool:
        """Roll back from any thread, and interrupt a running statement.

        :param reason: makes the error that later use raises.
        :returns: whether the transaction is over. If not, call this again: a statement that is about to start
            does not notice the interrupt.
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
        """Return the error of a transaction that took too long."""
        took_s = round(self._timeout_s or 0, 2)
        return TransactionTimeoutError(
            f"The transaction took longer than {took_s:g} seconds and was rolled back.",
            "Raise its timeout, or let it do less.",
        )

    def execute(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]:
        """Run one statement of an operation."""
        try:
            return self._transaction.execute(sql, params)
        except LocalcdapError as error:
            self._translate_failure(error)
            raise

    def _translate_failure(self, error: LocalcdapError) -> None:
        """Raise what the failure of a statement means; end the transaction when it was interrupted."""
        if isinstance(error, ConflictError):
            raise _make_conflict_error(error) from error
        if isinstance(error, StoreError) and self._expired is not None:
            self._end(self._expired)
            raise self._expired() from error

    def read_arrow(self, sql: str, params: Any = ()) -> Any:
        """Run one query of an operation, and return its rows as Arrow."""
        try:
            return self._transaction.read_arrow(sql, params)
        except LocalcdapError as error:
            self._translate_failure(error)
            raise

    def add_keys(self, table: str, keys: Collection[tuple[Any, ...]], *, writes: bool) -> None:
        self._footprint.add_keys(table, keys, writes=writes)
        if self._is_adding and writes:
            spec = self._specifications.get(table)
            if spec is not None and is_namespaced(spec):
                self._namespaces.update(key[:2] for key in keys)

    def add_table(self, table: str, *, writes: bool) -> None:
        self._footprint.add_table(table, writes=writes)

    def add_appends(self, table: str) -> None:
        self._footprint.add_appends(table)

    def _require_open(self) -> None:
        if self._over is None and self.deadline is not None and time.monotonic() > self.deadline:
            self._end(self.make_timeout_error)
        if self._over is not None:
            raise self._over()

    def _end(self, reason: Callable[[], TransactionError]) -> None:
        self._mark_over(reason)
        self._undo(reason())
        self._commits.end(self._footprint)

    def _mark_over(self, reason: Callable[[], TransactionError]) -> None:
        with self._ending:
            self._over = reason

    def _undo(self, error: BaseException) -> None:
        with contextlib.suppress(
            BaseException
        ):  # it raises the error that it is given, or the block has ended already
            self._block.__exit__(type(error), error, error.__traceback__)


def _over() -> TransactionError:
    return TransactionError(
        "The transaction of this table is over.", "Use a table and its rows inside the body only."
    )


def _make_conflict_error(error: ConflictError) -> TransactionConflictError:
    """Return what a violated primary key is: operations insert only rows that they do not see."""
    return TransactionConflictError(error.message)


_FIELD = "value"


def encode_operation(table: OpenedTable, operation: Operation) -> Operation:
    """Return an operation for a message."""
    if table.codec is None:
        return operation
    return operation.convert(table, lambda _, value: encode_json_record(value))


def decode_operation(table: OpenedTable, operation: Operation) -> Operation:
    """Return the operation of a message.

    :raises BadRequestError: when a value does not fit its column.
    """
    if not isinstance(table, DatasetTable) or table.codec is None:
        return operation
    schemas = {each.name: _to_record(each.schema) for each in table.schema}

    def decode(column: str, value: Any) -> Any:
        schema = schemas.get(column)
        if schema is None:
            return value  # the check of the operation rejects the column
        return decode_json_records(schema, [{_FIELD: value}])[0][_FIELD]

    return operation.convert(table, decode)


def encode_rows(table: OpenedTable, rows: Rows) -> Rows:
    """Return rows for a message."""
    if table.codec is None:
        return rows
    return Rows(rows.columns, [encode_json_record(list(values)) for values in rows.values])


def decode_rows(table: OpenedTable, rows: Rows) -> Rows:
    """Return the rows of a message."""
    if not isinstance(table, DatasetTable) or table.codec is None:
        return rows
    names = rows.columns
    fields = [(each.name, each.schema) for each in table.schema if each.name in names]
    encoded = (dict(zip(names, values, strict=True)) for values in rows.values)
    records = decode_json_records(Schema.record("rows", fields), encoded)
    return Rows(names, [tuple(row.values()) for row in records])


def _to_record(schema: Schema) -> Schema:
    return Schema.record("column", [(_FIELD, schema.as_nullable)])
