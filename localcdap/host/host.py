"""The host: the process that holds the lock of an instance and serves its clients."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Any

from localcdap.home import Home
from localcdap.host.services import HostServices
from localcdap.rpc.frames import Call
from localcdap.rpc.host_lock import HostLock
from localcdap.rpc.methods import get_remote_method


class Host:
    """The services of an instance, and the socket at which other processes call them.

    :param lock: the lock of the host; it is closed with the host, and also when the services cannot start.
    """

    def __init__(self, home: Home, lock: HostLock, *, expects_run: bool = False) -> None:
        self._home = home
        self._lock = lock
        with contextlib.ExitStack() as undo:
            undo.callback(lock.close)
            self._services = HostServices(home, expects_run=expects_run)
            undo.callback(self._services.close)
            self.by_name = self._services.by_name
            lock.listen(self.by_name)
            undo.pop_all()

    @property
    def is_needed(self) -> bool:
        """Whether runs are active or clients are connected."""
        return self._services.are_busy() or self._lock.connections > 0

    def answer(self, call: Call, service: type) -> Any:
        """Answer a call that was made to a previous host."""
        method = get_remote_method(service, call.method)
        bound = getattr(self.by_name[call.service], call.method)
        return bound(**method.unpack_arguments(call.arguments))

    def close(self) -> None:
        """Stop being the host; while runs are active, start a host without a front end."""
        self._services.end_waiting()
        self._lock.stop_listening()
        busy = self._services.are_busy()
        self._services.close()
        self._lock.close()
        if busy:
            _start_background_host(self._home)


def _start_background_host(home: Home) -> None:
    subprocess.Popen(
        [sys.executable, "-m", "localcdap.host", str(home.path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
