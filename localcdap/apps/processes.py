"""The processes of all applications: started by the first call, replaced when they die, ended when idle."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from localcdap.api.errors import HostLostError
from localcdap.apps.process import AppProcess
from localcdap.artifacts.model import ApplicationRef
from localcdap.datasets.transactions import TransactionService

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


class AppProcesses:
    """At most one process for each application, with its current content. Threads may share it.

    :param home: the instance's folder.
    :param services: the services of this process that applications can call, by name.
    :param transactions: creates the transaction service of one process.
    :param idle_s: seconds without a call after which a process is ended.
    """

    def __init__(
        self,
        home: Path,
        services: Mapping[str, object],
        transactions: Callable[[], TransactionService],
        *,
        memory_mb: int,
        idle_s: float,
    ) -> None:
        self._start: Final = lambda app: AppProcess(app, home, services, transactions(), memory_mb)
        self._idle_s = idle_s
        self._slots: dict[str, _Slot] = {}
        self._changing = threading.Lock()
        self._closed = threading.Event()
        self._reaper: threading.Thread | None = None

    def use(self, app: ApplicationRef, call: Callable[[AppProcess], _T]) -> _T:
        """Call an application, which is started when it is not running.

        :raises PluginError: when it cannot be started, or as the call raises.
        """
        process = self._get_slot(app.application.name).take(app, self._start)
        try:
            return call(process)
        finally:
            process.give_back()

    def is_running(self, name: str) -> bool:
        """Return whether an application has a process."""
        slot = self._slots.get(name)
        return slot is not None and slot.is_running

    def end(self, name: str) -> None:
        """End the process of an application, if there is one."""
        slot = self._slots.get(name)
        if slot is not None:
            slot.end()

    def close(self) -> None:
        """End all processes, even while other threads wait for calls."""
        self._closed.set()
        with self._changing:
            slots = list(self._slots.values())
        for slot in slots:
            slot.close()
        if self._reaper is not None:
            self._reaper.join()

    def _get_slot(self, name: str) -> _Slot:
        with self._changing:
            if self._closed.is_set():
                raise HostLostError("The host of this application is closed.")
            if self._reaper is None:
                self._reaper = threading.Thread(target=self._reap, name="app-reaper", daemon=True)
                self._reaper.start()
            return self._slots.setdefault(name, _Slot())

    def _reap(self) -> None:
        while not self._closed.wait(min(5.0, self._idle_s / 4)):
            for slot in list(self._slots.values()):
                slot.end_if_idle(self._idle_s)


class _Slot:
    """The current process of one application, and older ones whose calls are still running."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        """Held while the process is started or replaced."""
        self._process: AppProcess | None = None
        self._retired: list[AppProcess] = []
        """Processes of older contents with running calls."""
        self._closed = False

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.is_alive

    def take(
        self, app: ApplicationRef, start: Callable[[ApplicationRef], AppProcess]
    ) -> AppProcess:
        """Return the process of this content, started if necessary; the caller must give it back."""
        with self._turn:
            held = self._process
            if held is None or not held.is_alive or held.app.digest != app.digest:
                self._process = None
                if held is not None:
                    self._retired.append(held)
                self._end_retired()
                if self._closed:
                    raise HostLostError("The host of this application is closed.")
                held = self._process = start(app)
            held.take()
            return held

    def end(self) -> None:
        with self._turn:
            if self._process is not None:
                self._process.close()
                self._process = None

    def end_if_idle(self, idle_s: float) -> None:
        """End the process when it had no call for so many seconds."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            self._end_retired()
            held = self._process
            if held is not None and held.is_idle and time.monotonic() - held.used > idle_s:
                held.close()
                self._process = None
        finally:
            self._turn.release()

    def close(self) -> None:
        self._closed = True
        held = self._process
        if held is not None:
            held.close()  # a call that holds the lock ends with its process
        with self._turn:
            for each in (self._process, *self._retired):
                if each is not None:
                    each.close()

    def _end_retired(self) -> None:
        for each in list(self._retired):
            if each.is_idle or not each.is_alive:
                each.close()
                self._retired.remove(each)
