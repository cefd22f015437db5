"""Transactions in the host, for the runners of other processes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import msgspec

from localcdap.api.app.table import StructuredTableSpecification
from localcdap.api.app.transactions import TIMEOUT_ARGUMENT, TransactionKind, TransactionLimits
from localcdap.api.dataset.access import AccessKind
from localcdap.api.errors import HostError, HostLostError, LocalcdapError, TransactionConflictError
from localcdap.store.transactions.dataset_session import OpenedDataset
from localcdap.store.transactions.opened_datasets import FindType, find_built_in
from localcdap.store.transactions.operations import Operation, Result, Rows
from localcdap.store.transactions.runner import RetryingTransactionRunner, TransactionMonitor
from localcdap.store.transactions.session import (
    CommitActions,
    TransactionSession,
    decode_rows,
    encode_operation,
)
from localcdap.store.transactions.table import OpenedTable
from localcdap.transactions.calls import LEASE_S, Accessor, TransactionCalls


class TransactionHost(TransactionCalls):
    """The service in the process of the host, where a transaction needs no calls."""

    def _open_session(
        self, kind: TransactionKind, timeout_s: float | None, accessor: Accessor
    ) -> TransactionSession:
        """Begin a transaction, which the caller must commit or roll back."""
        raise NotImplementedError


class RemoteTransactionSession:
    """A transaction in the host, for the runner of a client."""

    def __init__(
        self,
        service: TransactionCalls,
        kind: TransactionKind,
        timeout_s: float | None,
        watch: TransactionMonitor,
        accessor: Accessor,
    ) -> None:
        self.commit_actions: Final = CommitActions()
        self._service = service
        self._token = service.begin(kind, timeout_s, accessor)
        self._watch = watch
        self._heard = time.monotonic()
        watch.add(self)

    def get_specification(self, table: str) -> StructuredTableSpecification:
        with self._translate_lost_host():
            return self._service.get_specification(self._token, table)

    def perform(self, table: OpenedTable, operation: Operation) -> Result:
        operation.prepare(table)  # raises errors before the operation is sent
        message = cast(Any, encode_operation(table, operation))
        with self._translate_lost_host():
            result = self._complete(self._service.perform(self._token, table.ref, message))
        return decode_rows(table, result) if isinstance(result, Rows) else result

    def open_dataset(self, namespace: str, name: str) -> OpenedDataset:
        with self._translate_lost_host():
            return self._service.open_dataset(self._token, namespace, name)

    def note_access(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        with self._translate_lost_host():
            self._service.note_access(self._token, namespace, dataset, access, recorded)

    def _complete(self, result: Result) -> Result:
        """Fetch the further pages of rows."""
        if isinstance(result, Rows):
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
        self.commit_actions.run()

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
    :param accessor: what opens datasets; None: a client that is not a program.
    :param namespace: that of datasets which are opened by name only.
    :param find_type: returns the types of datasets; by default built-in ones.
    :param timeout_s: that of transactions without another one; None: that of the settings.
    :param is_kept: whether transactions are committed; otherwise all of them are rolled back at their end,
        as in a preview.
    """

    def __init__(
        self,
        service: Callable[[], TransactionCalls],
        accessor: Accessor | None = None,
        namespace: str = "default",
        *,
        find_type: FindType = find_built_in,
        timeout_s: float | None = None,
        is_kept: bool = True,
    ) -> None:
        super().__init__(self._begin, find_type, namespace, self._find_limits)
        self._timeout_s = timeout_s
        self._is_kept = is_kept
        self._limits: TransactionLimits | None = None
        self._accessor = accessor or Accessor.of_client()
        self._service = service
        self._watch = TransactionMonitor()

    def _begin(self, kind: TransactionKind, timeout_s: float | None) -> TransactionSession:
        service = self._service()
        session: TransactionSession
        if isinstance(service, TransactionHost):
            session = service._open_session(kind, timeout_s, self._accessor)
        else:
            session = RemoteTransactionSession(
                service, kind, timeout_s, self._watch, self._accessor
            )
        if not self._is_kept:
            # What the body has done is undone; a second attempt cannot be needed.
            session.commit = session.rollback  # type: ignore[method-assign]
        return session

    def _find_limits(self) -> TransactionLimits:
        if self._limits is None:
            found = self._service().get_limits()
            if self._timeout_s is not None:
                found = msgspec.structs.replace(
                    found, timeout_s=found.check(self._timeout_s, TIMEOUT_ARGUMENT)
                )
            self._limits = found
        return self._limits

    def close(self) -> None:
        """Wait for submitted transactions that have begun, and cancel the others."""
        super().close()
        self._watch.close()
