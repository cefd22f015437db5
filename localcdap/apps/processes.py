"""The processes of applications, from the host's side: starting, calling and ending them.

A process is started by the first call, replaced when it dies, and ended when idle.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NoReturn, TypeVar

import msgspec

from localcdap.api.errors import ApplicationLostError, HostError, HostLostError
from localcdap.apps.child import ENDPOINT, AppEndpoint, AppStartRequest
from localcdap.apps.model import AppAnswer, AppRequest
from localcdap.apps.platform import AppServices
from localcdap.artifacts.model import ApplicationRef
from localcdap.datasets.transactions import TransactionService
from localcdap.processes.limits import IS_LINUX
from localcdap.processes.spawn import PIPE, OutputTail, build_main_command, start_process
from localcdap.processes.tree import (
    describe_processes,
    end_tree,
    list_children,
    list_descendants,
)
from localcdap.rpc.client import Client
from localcdap.rpc.host_record import HostRecord, get_socket_address
from localcdap.rpc.server import Server
from localcdap.security.access import AccessChecks
from localcdap.transactions.calls import TRANSACTIONS

_START_S: Final = 30.0
_PAUSE_S: Final = 0.01
_END_S: Final = 10.0
"""Longer than the parent of an application takes to end all that the application has started."""
_OUTPUT_KEPT: Final = 50
"""The last lines of an application's output, which are kept to explain a crash."""
_numbers: Final[set[int]] = set()
"""Of the processes that have sockets now."""
_numbering: Final = threading.Lock()


def _take_number() -> int:
    """Return the lowest number that no process has: its sockets have the names of those that a killed host
    left, and replace them.
    """
    with _numbering:
        number = next(each for each in itertools.count() if each not in _numbers)
        _numbers.add(number)
        return number


_CHILD: Final = "localcdap.apps.child"
_READ_BYTES: Final = 65536


class AppProcess:
    """A running application. Threads may share it.

    :param home: the instance's folder.
    :param services: the services of this process that the application may call.
    :param checks: those of the calls that it makes for its caller.
    :param transactions: a service for this process only; its open transactions are rolled back when the
        process ends.
    :raises ApplicationLostError: when the process cannot be started, or the application's code raises.
    """

    def __init__(
        self,
        app: ApplicationRef,
        home: Path,
        services: AppServices,
        checks: AccessChecks,
        transactions: TransactionService,
        memory_mb: int,
    ) -> None:
        self.app: Final = app
        self.used = time.monotonic()
        """The time of the last beginning or end of a call."""
        self._name = app.application.name
        self._calls = 0
        self._counting = threading.Lock()
        self._closing = threading.Lock()
        self._output = OutputTail(_OUTPUT_KEPT)
        self._transactions = transactions
        self._popen: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None
        self._ended = threading.Event()
        key = secrets.token_bytes(32)
        self._number: int | None = _take_number()
        self._addresses: Final = [
            get_socket_address(home, f"#{end}-{self._number}") for end in ("host", "app")
        ]
        self._remove_sockets()
        address, own = self._addresses
        self._server = Server(
            address,
            key,
            {**vars(services), TRANSACTIONS: transactions},
            partial(services.perform, checks),
        )
        host = HostRecord(os.getpid(), "", address, key.hex())
        self._start(AppStartRequest(app, host, own, memory_mb))
        try:
            self._client = self._connect(HostRecord(self.pid, "", own, key.hex()))
            self._get_endpoint(_START_S).load()
        except (HostLostError, TimeoutError) as error:
            self._raise_lost(error, "while it was loaded")
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._popen.pid if self._popen else 0

    @property
    def is_alive(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    @property
    def calls(self) -> int:
        """How many calls are running."""
        return self._calls

    @property
    def is_idle(self) -> bool:
        """Whether no call is running."""
        return self._calls == 0

    def take(self) -> None:
        """Register a call: the process is not idle until :meth:`give_back`."""
        with self._counting:
            self._calls += 1
        self.used = time.monotonic()

    def give_back(self) -> None:
        self.used = time.monotonic()
        with self._counting:
            self._calls -= 1

    def answer(self, request: AppRequest, limit_s: float) -> AppAnswer:
        """Call a service of the application.

        :raises ApplicationLostError: when the process ended, or did not answer in time; it is then ended.
        """
        what = f"while it answered {request.method} {request.path}"
        with self._translate_errors(what, limit_s):
            return self._get_endpoint(limit_s).answer(request)

    def deliver(self, listener: str, limit_s: float) -> int:
        """Deliver the waiting events to a listener.

        :raises ApplicationLostError: as for :meth:`answer`.
        :raises PluginError: when the listener raised.
        """
        with self._translate_errors(f"in listener '{listener}'", limit_s):
            return self._get_endpoint(limit_s).deliver(listener)

    def close(self) -> None:
        """End the process and all processes that it started. Several threads may call this."""
        with self._closing:
            self._close()

    def _close(self) -> None:
        if self._popen is not None:
            left = self._list_left_behind()
            if left:
                _LOG.warning(
                    "Application '%s' left %s behind; they end with it.",
                    self._name,
                    describe_processes(left),
                )
            # Where it has a parent, this one ends what the application has started, see fork_below_parent.
            end_tree(self._popen, _END_S if IS_LINUX else 0.0)
        self._ended.wait(1.0)
        if self._client is not None:
            self._client.close()
        self._server.close(grace_s=0.5)
        self._transactions.close()
        if self._number is not None:
            self._remove_sockets()
            _numbers.discard(self._number)
            self._number = None  # those of this name may be of another process now

    def _remove_sockets(self) -> None:
        for address in self._addresses:
            Path(address).unlink(missing_ok=True)

    def _list_left_behind(self) -> list[int]:
        """Return the running processes that the application has started."""
        children = sorted(list_children(self.pid), key=lambda child: child.created)
        # On Linux the first child is the application itself, see fork_below_parent.
        own = {child.pid for child in children[:1]} if IS_LINUX else set()
        return [pid for pid in list_descendants(self.pid) if pid not in own]

    def _get_endpoint(self, limit_s: float) -> AppEndpoint:
        assert self._client is not None
        return self._client.make_proxy(ENDPOINT, AppEndpoint, limit_s)

    @contextlib.contextmanager
    def _translate_errors(self, what: str, limit_s: float) -> Iterator[None]:
        try:
            yield
        except HostLostError as error:
            self._raise_lost(error, what)
        except TimeoutError:
            self.close()
            raise ApplicationLostError(
                f"Application '{self._name}' was ended because it took more than {limit_s:g} s {what}.",
                "Look for an endless loop or a slow call in it, or raise app.time_limit_s.",
            ) from None

    def _start(self, order: AppStartRequest) -> None:
        started = threading.Event()
        # The thread that starts a process must live as long as it: Linux treats the thread as the parent.
        threading.Thread(
            target=self._run, args=(order, started), name=f"app-{self._name}", daemon=True
        ).start()
        started.wait()

    def _run(self, order: AppStartRequest, started: threading.Event) -> None:
        command = build_main_command(_CHILD, os.getpid())
        try:
            self._popen = start_process(command, input=PIPE, output=PIPE)
            assert self._popen.stdin is not None
            with contextlib.suppress(BrokenPipeError), self._popen.stdin as stdin:
                stdin.write(msgspec.msgpack.encode(order))
        except OSError as error:
            self._output.add(f"{error}\n".encode())
        started.set()
        if self._popen is not None and self._popen.stdout is not None:
            while data := os.read(self._popen.stdout.fileno(), _READ_BYTES):
                for line in self._output.add(data):
                    _LOG.debug("%s: %s", self._name, line)
            self._popen.wait()
        # No caller may have noticed the end of the process; its open transactions would block others.
        self._transactions.close()
        self._ended.set()

    def _connect(self, record: HostRecord) -> Client:
        deadline = time.monotonic() + _START_S
        while True:
            try:
                return Client(record)
            except HostError as error:
                if not self.is_alive or time.monotonic() > deadline:
                    raise HostLostError(error.message) from None
                time.sleep(_PAUSE_S)

    def _raise_lost(self, error: Exception, what: str) -> NoReturn:
        """Close the process and report how it ended.

        :raises ApplicationLostError: always.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._popen is not None:
                self._popen.wait(1.0)
        code = self._popen.poll() if self._popen is not None else None
        self.close()
        if code is None:
            how = f"could not be reached ({error})"
        elif code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        else:
            how = f"ended its process with exit code {code}"
        raise ApplicationLostError(
            f"Application '{self._name}' {how} {what}.",
            "The next call starts it again.",
            traceback=self._output.lines,
        ) from None


_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")
Start = Callable[[ApplicationRef], AppProcess]
"""Starts a process of an application."""


class AppProcesses:
    """The processes of each application, with its current content. Threads may share it.

    An application has one process, which all services and listeners share; a service with more instances has
    further ones for its own calls.

    :param home: the instance's folder.
    :param services: the services of this process that applications may call.
    :param checks: those of the calls that applications make for their callers.
    :param transactions: creates the transaction service of one process.
    :param idle_s: seconds without a call after which a process is ended.
    """

    def __init__(
        self,
        home: Path,
        services: AppServices,
        checks: AccessChecks,
        transactions: Callable[[], TransactionService],
        *,
        memory_mb: int,
        idle_s: float,
    ) -> None:
        self._start: Final = lambda app: AppProcess(
            app, home, services, checks, transactions(), memory_mb
        )
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
        :raises ApplicationLostError: when it cannot be started, or as the call raises.
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

        :raises ApplicationLostError: when one cannot be started.
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
