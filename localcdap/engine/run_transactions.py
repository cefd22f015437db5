"""The transactions of the stages of a run, in the host that serves the instance at the moment."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Final

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.app.transactions import (
    TransactionRunner,
    check_timeouts,
    find_timeout,
    has_timeouts,
)
from localcdap.api.errors import HostError, HostLostError
from localcdap.api.metadata import WORKFLOW, WORKFLOW_NAME
from localcdap.artifacts.model import PluginRef
from localcdap.engine.host_client import connect_to_host
from localcdap.engine.messages.host import ARTIFACTS, DatasetTypeReads
from localcdap.engine.messages.orders import WorkOrder
from localcdap.rpc.client import Client
from localcdap.rpc.frames import Call
from localcdap.rpc.methods import get_remote_method, make_proxy, repeat_at_next_host
from localcdap.sandbox.dataset_calls import LoadedTypes
from localcdap.transactions.calls import TRANSACTIONS, Accessor, TransactionCalls
from localcdap.transactions.client import HostTransactionRunner

_SPARK: Final = "Spark"
"""The type of a program that is a job of an application, as CDAP has it."""


class RunTransactions:
    """Runs the transactions of the stages of a run, or of a job. Those of previews and tests are undone."""

    def __init__(self, order: WorkOrder) -> None:
        self._order: Final = order
        self._is_kept: Final = order.preview is None and not order.cases
        self._runners: dict[str, HostTransactionRunner] = {}
        self._channel = None if order.host_directory is None else _Channel(order.host_directory)
        self._types: Final = LoadedTypes(self._find_reference)

    def check_timeouts(self) -> None:
        """Check the timeouts in the arguments of the run.

        :raises BadRequestError: when one exceeds the limit of the settings.
        """
        if has_timeouts(self._order.arguments) and self._channel is not None:
            check_timeouts(self._order.arguments, self._get_service().get_limits())

    def open(self, stage: str) -> TransactionRunner:
        """Return what runs the transactions of a stage.

        :raises HostError: when the run has no host.
        """
        if self._channel is None:
            raise HostError(
                "Datasets cannot be opened: this run has no host.",
                "Run the pipeline through localcdap.",
            )
        if stage not in self._runners:
            order = self._order
            self._runners[stage] = HostTransactionRunner(
                self._get_service,
                self._create_accessor() if self._is_kept else Accessor(""),
                order.namespace,
                find_type=self._types.find,
                timeout_s=find_timeout(order.arguments, stage),
                is_kept=self._is_kept,
            )
        return self._runners[stage]

    def _create_accessor(self) -> Accessor:
        order = self._order
        if order.job is None:
            return Accessor(order.run_id, order.namespace, order.pipeline, WORKFLOW, WORKFLOW_NAME)
        name = order.job.application.application.name
        return Accessor(order.run_id, SYSTEM_NAMESPACE, name, _SPARK, order.job.job)

    def close(self) -> None:
        """Wait for submitted transactions that have begun, and cancel the others."""
        for each in self._runners.values():
            each.close()
        if self._channel is not None:
            self._channel.close()

    def _find_reference(self, namespace: str, name: str) -> PluginRef | None:
        assert self._channel is not None
        reads = make_proxy(self._channel, ARTIFACTS, DatasetTypeReads)
        found = reads.find_dataset_type(namespace, name)
        return None if found is None else found.plugin

    def _get_service(self) -> TransactionCalls:
        assert self._channel is not None
        return make_proxy(self._channel, TRANSACTIONS, TransactionCalls)


class _Channel:
    """Calls the current host: a run outlives its host, and another one continues."""

    def __init__(self, home: str) -> None:
        self._home: Final = Path(home)
        self._lock = threading.Lock()
        self._client: Client | None = None

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make a call; see :func:`localcdap.rpc.methods.repeat_at_next_host`."""
        service: type = TransactionCalls if call.service == TRANSACTIONS else DatasetTypeReads

        def make_call() -> Any:
            client = self._connect()
            try:
                return client.call(call, result, timeout_s)
            except HostLostError:
                self._drop(client)
                raise

        return repeat_at_next_host(get_remote_method(service, call.method), make_call)

    def close(self) -> None:
        """Close the connection, if there is one."""
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _connect(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = connect_to_host(self._home)
            return self._client

    def _drop(self, lost: Client) -> None:
        with self._lock:
            if self._client is lost:
                lost.close()
                self._client = None
