"""The host: the process that has the seat of an instance, and serves it."""

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
    """The services themselves, and the socket at which others call them.

    :param seat: is closed with the host, also when the host cannot be set up.
    """

    def __init__(self, home: Home, seat: HostLock, *, expects_run: bool = False) -> None:
        self._home = home
        self._seat = seat
        with contextlib.ExitStack() as undo:
            undo.callback(seat.close)
            self._services = HostServices(home, expects_run=expects_run)
            undo.callback(self._services.close)
            self.by_name = self._services.by_name
            seat.listen(self.by_name)
            undo.pop_all()

    @property
    def is_needed(self) -> bool:
        """Whether runs are active or clients connected."""
        return self._services.are_busy() or self._seat.connections > 0

    def answer(self, call: Call, service: type) -> Any:
        """Answer a call that was meant for another process."""
        method = get_remote_method(service, call.method)
        bound = getattr(self.by_name[call.service], call.method)
        return bound(**method.unpack_arguments(call.arguments))

    def close(self) -> None:
        """Leave the seat; a host without a front end takes it while runs are active."""
        self._services.end_waiting()
        self._seat.stop_listening()
        busy = self._services.are_busy()
        self._services.close()
        self._seat.close()
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
