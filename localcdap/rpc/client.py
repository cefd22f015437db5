"""The client of a host: calls to the services of an instance that another process has open."""

from __future__ import annotations

import socket
import threading
from multiprocessing.connection import Connection
from typing import Any, Final, TypeVar

from localcdap.api.errors import HostError, HostLostError
from localcdap.rpc.frames import Call, greet_server, limit_waiting
from localcdap.rpc.host_record import HostRecord
from localcdap.rpc.methods import Caller, make_proxy

S = TypeVar("S")
_MOST_IDLE: Final = 8
"""Connections that are kept for later calls; more are opened while more threads call at once."""
_WAIT_S: Final = 5.0


class Client:
    """Calls the host from any number of threads at once; each running call has its own connection.

    When the host ends, calls raise HostLostError and this client cannot be used any more. Call
    :func:`localcdap.rpc.host_lock.connect_or_become_host` again, which may make this process the host.

    :raises HostError: when the host cannot be reached, refuses, or does not answer for ``wait_s`` seconds.
    """

    def __init__(self, host: HostRecord, wait_s: float = _WAIT_S) -> None:
        self.host: Final = host
        self._lock = threading.Lock()
        self._closed = False
        self._idle: list[Caller] = [self._connect(wait_s)]

    def make_proxy(self, name: str, service: type[S], timeout_s: float | None = None) -> S:
        """Return a proxy of the host's service ``name`` with the methods of the class ``service``."""
        return make_proxy(self, name, service, timeout_s)

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make a call; see :meth:`localcdap.rpc.methods.Caller.call`."""
        caller = self._take()
        try:
            return caller.call(call, result, timeout_s)
        finally:
            self._give_back(caller)

    def close(self) -> None:
        """Close the idle connections; running calls still get their answers."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for caller in idle:
            caller.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self) -> Caller:
        with self._lock:
            if self._closed:
                raise HostError("This client is closed.", "Connect to the host again.")
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect(_WAIT_S)
        except HostError as error:
            raise HostLostError(error.message, error.corrective_action, was_sent=False) from error

    def _give_back(self, caller: Caller) -> None:
        with self._lock:
            if not (caller.closed or self._closed or len(self._idle) >= _MOST_IDLE):
                self._idle.append(caller)
                return
        caller.close()

    def _connect(self, wait_s: float) -> Caller:
        try:
            with socket.socket(socket.AF_UNIX) as end:
                limit_waiting(end, socket.SO_SNDTIMEO, wait_s)
                end.connect(self.host.address)
                limit_waiting(end, socket.SO_SNDTIMEO, 0)
                connection: Connection = Connection(end.detach())
        except OSError as error:
            raise HostError(
                f"The host (process {self.host.pid}) cannot be reached at {self.host.address}: "
                f"{error.strerror or error}."
            ) from None
        try:
            greet_server(connection, bytes.fromhex(self.host.authkey), wait_s)
        except BaseException:
            connection.close()
            raise
        return Caller(connection, f"the host (process {self.host.pid})")
