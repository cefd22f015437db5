"""The process of a system application.

Started by :mod:`localcdap.apps.processes`, which writes an :class:`AppStartRequest` to its standard input.
Standard output and standard error belong to the application.
"""

from __future__ import annotations

import os
import sys
import threading
import uuid
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.app.events import SYSTEM_NAMESPACE, SystemEventListener
from localcdap.api.errors import LocalcdapError, PluginError
from localcdap.apps.context import AppContext
from localcdap.apps.model import AppAnswer, AppRequest
from localcdap.apps.platform import AppServices
from localcdap.apps.runtime import AppRuntime
from localcdap.artifacts.loading import load_application
from localcdap.artifacts.model import ApplicationRef
from localcdap.artifacts.tracebacks import summarize_error, user_frames
from localcdap.datasets.listeners import TableListenerDelivery
from localcdap.datasets.transactions import TransactionService
from localcdap.decoders import decode_msgpack
from localcdap.processes.limits import limit_memory
from localcdap.processes.tree import fork_below_parent
from localcdap.rpc.client import Client
from localcdap.rpc.host_record import HostRecord
from localcdap.rpc.server import Server
from localcdap.sandbox.dataset_calls import LoadedTypes
from localcdap.transactions.calls import Accessor
from localcdap.transactions.client import HostTransactionRunner
from localcdap.transactions.names import TRANSACTIONS

ENDPOINT: Final = "app"
"""The name under which the host calls the process, see :class:`AppEndpoint`."""


class AppStartRequest(msgspec.Struct):
    """The message that the host sends to a new process of an application."""

    app: ApplicationRef
    host: HostRecord
    """The address at which the process reaches the host."""
    address: str
    """The socket at which the process listens, with the key of ``host``."""
    memory_mb: int


class AppEndpoint:
    """The service that the process offers to its host. Threads may share it."""

    def __init__(self, order: AppStartRequest) -> None:
        self._order = order
        self._runtime: AppRuntime | None = None
        self._pid = os.getpid()

    def load(self) -> None:
        """Load the application; called once, before any other method.

        :raises PluginError: when its code raises.
        """
        ref, host = self._order.app, Client(self._order.host)
        name = ref.application.name
        # Programs that are not pipelines have no runs here: the process counts as one.
        accessor = Accessor(str(uuid.uuid1()), SYSTEM_NAMESPACE, name, "Service", name)
        services = AppServices.of_host(host)
        runner = HostTransactionRunner(
            lambda: host.make_proxy(TRANSACTIONS, TransactionService),
            accessor,
            SYSTEM_NAMESPACE,
            find_type=LoadedTypes(services.platform.find_dataset_type).find,
        )
        context = AppContext(services, runner, name)

        def listen(listener: SystemEventListener[Any], name: str) -> TableListenerDelivery:
            return TableListenerDelivery(services.messaging, runner, services.admin, listener, name)

        try:
            self._runtime = AppRuntime(load_application(ref), context, listen)
        except (Exception, SystemExit) as error:
            raise self._to_plugin_error(error) from error

    def answer(self, request: AppRequest) -> AppAnswer:
        """See :meth:`localcdap.apps.runtime.AppRuntime.answer`."""
        assert self._runtime is not None
        try:
            return self._runtime.answer(request)
        finally:
            if os.getpid() != self._pid:  # a forked copy of this process must not answer too
                os._exit(0)

    def deliver(self, listener: str) -> int:
        """See :meth:`localcdap.apps.runtime.AppRuntime.deliver`.

        :raises PluginError: when the listener raises.
        """
        assert self._runtime is not None
        try:
            return self._runtime.deliver(listener)
        except LocalcdapError:
            raise
        except Exception as error:
            raise self._to_plugin_error(error) from error

    def _to_plugin_error(self, error: BaseException) -> PluginError:
        ref = self._order.app
        path = Path(ref.path)
        return PluginError(
            f"Application '{ref.application.name}': {summarize_error(error, path)}",
            traceback=user_frames(error, path),
        )


def main(arguments: list[str]) -> None:
    """Serve until the host kills this process; it also ends when the host ends.

    :param arguments: the process id of the host.
    """
    supervisor = fork_below_parent(int(arguments[0]))
    order = decode_msgpack(sys.stdin.buffer.read(), type=AppStartRequest)
    limit_memory(order.memory_mb)
    Server(order.address, bytes.fromhex(order.host.authkey), {ENDPOINT: AppEndpoint(order)})
    while os.getppid() == supervisor:  # for systems that do not signal the end of the parent
        threading.Event().wait(5.0)
    os._exit(0)
