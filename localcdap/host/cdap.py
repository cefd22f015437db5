"""Access to the services of an instance for front ends, in this process or in the host's process."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from importlib import metadata
from typing import Any, Final, TypeVar

from localcdap.api.errors import ConflictError, HostLostError
from localcdap.datasets.transactions import (
    HostTransactionRunner,
)
from localcdap.home import Home
from localcdap.host.host import Host
from localcdap.host.service_table import SERVICES, ServiceEntry, ServiceTable
from localcdap.rpc.client import Client
from localcdap.rpc.frames import Call
from localcdap.rpc.host_lock import HostLock, connect_or_become_host
from localcdap.rpc.methods import get_remote_method, make_proxy

_S = TypeVar("_S")


class Cdap(ServiceTable):
    """The services of an instance, wherever they run. Threads may share it."""

    def __init__(self, home: Home, *, expects_run: bool = False) -> None:
        self._link = _HostLink(home, expects_run=expects_run)
        self.transactions: Final = HostTransactionRunner(lambda: self.transaction_service)
        """Runs functions as transactions on structured tables."""

    def get_service(self, entry: ServiceEntry[_S]) -> _S:
        """Return the service in the host process, elsewhere a proxy that calls the host."""
        return self._link.get_service(entry.name, entry.service)

    @property
    def is_host(self) -> bool:
        """Whether the services run in this process."""
        return self._link.is_host

    @property
    def host_pid(self) -> int:
        """The id of the process in which the services run; it changes when the host is lost."""
        return self._link.host_pid

    def close(self) -> None:
        """Disconnect from the instance. Active runs continue."""
        self.transactions.close()
        self._link.close()


@contextlib.contextmanager
def connect(home: Home, *, expects_run: bool = False) -> Iterator[Cdap]:
    """Connect to an instance for the time of a block.

    :param expects_run: whether a run will start soon, so that its process can load its libraries already.
    :raises SettingsError: when this process becomes the host and the settings are wrong.
    :raises StoreError: when the database cannot be used.
    :raises HostError: when the host does not answer.
    """
    cdap = Cdap(home, expects_run=expects_run)
    try:
        yield cdap
    finally:
        cdap.close()


class _HostLink:
    """The connection to the current host of an instance, which may be this process."""

    def __init__(self, home: Home, *, expects_run: bool = False) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._endpoint: Host | Client = self._connect_or_host(expects_run=expects_run)

    @property
    def is_host(self) -> bool:
        return isinstance(self._endpoint, Host)

    @property
    def host_pid(self) -> int:
        end = self._endpoint
        return os.getpid() if isinstance(end, Host) else end.host.pid

    def get_service(self, name: str, service: type[_S]) -> _S:
        """Return the service itself in the host process, elsewhere a proxy that calls it."""
        end = self._endpoint
        if isinstance(end, Host):
            found = end.by_name[name]
            assert isinstance(found, service)
            return found
        return make_proxy(self, name, service)

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make a call. If the host is lost meanwhile, repeat the call unless it is non-idempotent."""
        service: type = SERVICES[call.service].service
        end = self._endpoint
        if isinstance(end, Host):
            return end.answer(call, service)
        try:
            return end.call(call, result, timeout_s)
        except HostLostError:
            self._replace(end)
            if get_remote_method(service, call.method).is_non_idempotent:
                raise
            return self.call(call, result, timeout_s)

    def close(self) -> None:
        with self._lock:
            self._endpoint.close()

    def _replace(self, lost: Client) -> None:
        with self._lock:
            if self._endpoint is lost:
                lost.close()
                self._endpoint = self._connect_or_host()

    def _connect_or_host(self, *, expects_run: bool = False) -> Host | Client:
        version = metadata.version("localcdap")
        end = connect_or_become_host(self._home.path, version)
        if isinstance(end, HostLock):
            return Host(self._home, end, expects_run=expects_run)
        if end.host.version != version:
            found, pid = end.host.version, end.host.pid
            end.close()
            raise ConflictError(
                f"Process {pid} has the instance at {self._home.path} open with localcdap {found}; "
                f"this is version {version}.",
                "Close that process first.",
            )
        return end
