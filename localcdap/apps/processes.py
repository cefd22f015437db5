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
Start = Callable[[ApplicationRef], AppProcess]
"""Starts a process of an application."""


class AppProcesses:
    """The processes of each application, with its current content. Threads may share it.

    An application has one process, which all services and listeners share; a service with more instances has
    further ones for its own calls.

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

    def use(
        self,
        app: ApplicationRef,
        call: Callable[[AppProcess], _T],
        service: str = "",
        instances: int = 1,
    ) -> _T:
        """Call an application, which is started when it is not running.

        :param service: the service that is called; "" for a listener.
        :param instances: how many processes may answer the calls of the service.
        :raises PluginError: when it cannot be started, or as the call raises.
        """
        slot = self._get_slot(app.application.name)
        process = slot.take(app, self._start, service, instances)
        try:
            return call(process)
        finally:
            process.give_back()

    def is_running(self, name: str) -> bool:
        """Return whether an application has a process."""
        slot = self._slots.get(name)
        return slot is not None and slot.is_running

    def scale(self, app: ApplicationRef, service: str, instances: int) -> None:
        """Give a service so many processes now, if the application is running.

        Processes that are too many end after their last call.

        :raises PluginError: when one cannot be started.
        """
        self._get_slot(app.application.name).scale(app, self._start, service, instances)

    def count(self, name: str, service: str) -> int:
        """Return how many processes answer the calls of a service."""
        slot = self._slots.get(name)
        return 0 if slot is None else slot.count(service)

    def end(self, name: str) -> None:
        """End the processes of an application, if there is one."""
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
    """The current processes of one application, and older ones whose calls are still running."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        """Held while processes are started or replaced."""
        self._process: AppProcess | None = None
        self._further: dict[str, list[AppProcess]] = {}
        """The processes of services besides that one."""
        self._retired: list[AppProcess] = []
        """Processes that get no more calls, and have running ones."""
        self._closed = False

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.is_alive

    def count(self, service: str) -> int:
        """Return how many processes answer the calls of a service."""
        further = tuple(self._further.get(service, ()))
        return self.is_running + sum(each.is_alive for each in further)

    def take(self, app: ApplicationRef, start: Start, service: str, instances: int) -> AppProcess:
        """Return a process of this content, started if necessary; the caller must give it back.

        Of the processes of a service it is the one with the fewest calls. Another one is started when all
        have calls, and there are not as many as there may be.
        """
        with self._turn:
            fitting = [self._take_first(app, start), *self._keep(app, service, instances)]
            held = min(fitting, key=lambda each: each.calls)
            if not held.is_idle and len(fitting) < instances:
                held = self._start_further(app, start, service)
            held.take()
            return held

    def scale(self, app: ApplicationRef, start: Start, service: str, instances: int) -> None:
        """Start or retire processes of a service, so that there are so many, if the first one is running."""
        with self._turn:
            kept = self._keep(app, service, instances)
            if self.is_running:
                for _ in range(instances - 1 - len(kept)):
                    self._start_further(app, start, service)
            self._end_retired()

    def end(self) -> None:
        with self._turn:
            for each in self._list_current():
                each.close()
            self._process = None
            self._further.clear()

    def end_if_idle(self, idle_s: float) -> None:
        """End the processes that had no call for so many seconds."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            self._end_retired()
            for held in self._list_current():
                if held.is_idle and time.monotonic() - held.used > idle_s:
                    held.close()
                    self._forget(held)
        finally:
            self._turn.release()

    def close(self) -> None:
        self._closed = True
        for each in self._list_current():
            each.close()  # a call that holds the lock ends with its process
        with self._turn:
            for each in (*self._list_current(), *self._retired):
                each.close()

    def _take_first(self, app: ApplicationRef, start: Start) -> AppProcess:
        """Return the process that all services share, started if necessary."""
        held = self._process
        if held is None or not held.is_alive or held.app.digest != app.digest:
            self._process = None
            if held is not None:
                self._retired.append(held)
            self._end_retired()
            self._require_open()
            held = self._process = start(app)
        return held

    def _keep(self, app: ApplicationRef, service: str, instances: int) -> list[AppProcess]:
        """Return the further processes of a service, and retire those that are dead, old or too many."""
        held = self._further.get(service, [])
        fitting = [each for each in held if each.is_alive and each.app.digest == app.digest]
        kept = fitting[: instances - 1]
        self._retired += [each for each in held if each not in kept]
        self._further[service] = kept
        return kept

    def _start_further(self, app: ApplicationRef, start: Start, service: str) -> AppProcess:
        self._require_open()
        made = start(app)
        self._further[service].append(made)
        return made

    def _require_open(self) -> None:
        if self._closed:
            raise HostLostError("The host of this application is closed.")

    def _list_current(self) -> list[AppProcess]:
        first = [self._process] if self._process is not None else []
        return [*first, *(each for held in list(self._further.values()) for each in held)]

    def _forget(self, process: AppProcess) -> None:
        if process is self._process:
            self._process = None
        for held in self._further.values():
            if process in held:
                held.remove(process)

    def _end_retired(self) -> None:
        for each in list(self._retired):
            if each.is_idle or not each.is_alive:
                each.close()
                self._retired.remove(each)
