"""The host: the process that holds the lock of an instance and serves its clients."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Sequence
from typing import Final

from localcdap.home import Home
from localcdap.host.control import CONTROL, HostControl
from localcdap.host.services import HostServices
from localcdap.rpc.host_lock import HostLock
from localcdap.rpc.host_record import compute_fingerprint
from localcdap.rpc.host_start import HostStart
from localcdap.security.access import AccessChecks

_SWITCH_S: Final = 0.001
"""Seconds after which threads of Python take turns in a host; Python's default is 0.005. A call waits for
some turns of the threads that validate: with it, an edit that changes ten more stages is answered within 10
to 15 ms (p99) instead of 18 to 21 ms.
"""


class Host:
    """The services of an instance, and the socket at which other processes call them. Threads of the process
    take turns more often from then on.

    :param lock: the lock of the host; it is closed with the host, and also when the services cannot start.
    :param expects_run: whether a run will start soon.
    :param is_background: whether this process does nothing else, so that its clients may have it end.
    """

    def __init__(
        self,
        home: Home,
        lock: HostLock,
        *,
        expects_run: bool = False,
        is_background: bool = False,
    ) -> None:
        self._home = home
        self._lock = lock
        self._is_background = is_background
        sys.setswitchinterval(_SWITCH_S)
        self.leaving: Final = threading.Event()
        """Set when a client had the host end: the process is to close it."""
        fingerprint = compute_fingerprint(home.settings_file) if is_background else ""
        with contextlib.ExitStack() as undo:
            undo.callback(lock.close)
            self._services = HostServices(home, expects_run=expects_run)
            undo.callback(self._services.close)
            self.by_name = self._services.by_name
            lock.listen(
                {**self.by_name, CONTROL: HostControl(self.leave, self._services.artifacts.sync)},
                fingerprint,
                self._services.checks.perform,
            )
            undo.pop_all()

    @property
    def checks(self) -> AccessChecks:
        """The checks of calls, also of those from this process."""
        return self._services.checks

    @property
    def has_lost_folder(self) -> bool:
        """Whether the instance's folder was removed or moved: nobody can reach this host any more."""
        return self._lock.has_lost_folder

    @property
    def is_needed(self) -> bool:
        """Whether work is in progress or clients are connected."""
        return self._lock.connections > 0 or bool(self._services.list_work())

    @property
    def is_sending(self) -> bool:
        """Whether events are being sent: an idle host ends afterwards, but leaves at once for another one."""
        return self._services.are_sending()

    def back_up_daily(self) -> None:
        """See :meth:`HostServices.back_up_daily`."""
        self._services.back_up_daily()

    def leave(self, without_pid: int | None = None, keep_for_runs: bool = True) -> Sequence[str]:
        """Refuse clients from now on, unless somebody needs this host; return who does.

        See :meth:`HostControl.leave`.
        """
        if not self._is_background:
            return ["the program that opened the instance"]
        work = self._services.list_work(with_runs=keep_for_runs)
        if work:
            return work
        if not self._lock.refuse_if_unused(without_pid):
            return ["other processes that are connected"]
        # A client that has gone since the first look may have started something.
        work = self._services.list_work(with_runs=keep_for_runs)
        if work:
            self._lock.accept_again()
            return work
        self._lock.clear_record()
        self.leaving.set()
        return ()

    def close(self) -> None:
        """Stop being the host. Calls are answered until nothing is left that would end with this process,
        and when active runs or clients remain, a background host takes over.

        A background host that was told to leave has neither. The programs that host an instance themselves
        are tests and those that embed localcdap.
        """
        is_left = self.leaving.is_set()
        is_needed = not is_left and (self._lock.is_used() or bool(self._services.list_work()))
        self._services.finish_starting_runs()
        self._services.end_waiting()
        self._lock.stop_listening()
        # A run that was asked for meanwhile waits for the next host.
        is_needed = is_needed or bool(not is_left and self._services.list_work())
        self._services.close()
        self._lock.close()
        if is_needed and not self._is_background:
            HostStart(self._home.path)
