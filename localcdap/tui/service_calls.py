"""The connection of the studio to the host of an instance, and calls of services in threads.

The connection is opened after the first frame, and every call awaits it. No key and no frame waits for
a service: widgets make calls with the methods of :class:`localcdap.tui.studio.StudioNode`; the app has
one :class:`ServiceCalls`. Calls of one group of one widget run one at a time, in a :class:`_Lane`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from textual import events
from textual.message_pump import MessagePump

from localcdap.api.errors import LocalcdapError
from localcdap.home import Home
from localcdap.host.cdap import Cdap

_LOG: Final = logging.getLogger(__name__)


class LeavingError(Exception):
    """The studio is exiting; the result of the call is not needed."""


class HostConnection:
    """A connection that is being opened, is open, or could not be opened. Thread-safe.

    :param home: the folder of the instance.
    :param lent: open services of the caller, which :meth:`close` leaves open.
    """

    def __init__(self, home: Home, lent: Cdap | None = None) -> None:
        self.home = home
        self._changed = threading.Condition()
        self._lent = lent
        self._cdap: Cdap | None = None
        self._is_opening = False
        self._is_closed = False

    @property
    def cdap(self) -> Cdap | None:
        """The services, or None while there is no connection."""
        return self._cdap

    def open(self, opened: Callable[[], object], failed: Callable[[Exception], object]) -> None:
        """Start opening the instance; one of the two callbacks is called, in a thread of the connection."""
        with self._changed:
            if self._is_opening or self._is_closed or self._cdap is not None:
                return
            self._is_opening = True
        threading.Thread(
            target=self._open, args=(opened, failed), name="studio-connection", daemon=True
        ).start()

    def reopen(
        self,
        opened: Callable[[], object],
        failed: Callable[[Exception], object],
        refused: Callable[[list[str]], object],
    ) -> None:
        """Have the host end and start another one, in a thread; calls wait meanwhile. Runs go on.

        :param refused: called in place of ``opened`` with those who also use the host, which then stays.
        """
        with self._changed:
            cdap = self._cdap
            if cdap is None or cdap is self._lent or self._is_closed:
                return
            self._cdap = None
            self._is_opening = True

        def run() -> None:
            users: list[str] = []
            try:
                users = cdap.leave_host()
            except LocalcdapError as error:  # the host may be gone, and a new one is started anyway
                _LOG.info("the host does not leave: %s", error)
            if users:
                self._keep(cdap)
                refused(users)
                return
            cdap.close()
            self._open(opened, failed)

        threading.Thread(target=run, name="studio-connection", daemon=True).start()

    def wait(self) -> Cdap:
        """Wait for the connection and return the services.

        :raises LeavingError: when the studio exits meanwhile.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._cdap is not None or self._is_closed)
            if self._is_closed or self._cdap is None:
                raise LeavingError
            return self._cdap

    def close(self) -> None:
        """Close the instance. Runs go on."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._is_opening, timeout=10)
            cdap = self._cdap
        if cdap is not None and cdap is not self._lent:
            cdap.close()

    def _keep(self, cdap: Cdap) -> None:
        with self._changed:
            self._cdap = cdap
            self._is_opening = False
            self._changed.notify_all()

    def _open(self, opened: Callable[[], object], failed: Callable[[Exception], object]) -> None:
        cdap: Cdap | None = None
        error: Exception | None = None
        try:
            cdap = self._lent or Cdap(self.home)
        except Exception as raised:
            error = raised
        with self._changed:
            self._cdap = cdap
            self._is_opening = False
            self._changed.notify_all()
            is_closed = self._is_closed
        if is_closed:
            return
        if error is None:
            opened()
        else:
            failed(error)


_T = TypeVar("_T")

Work = Callable[[Cdap], _T]
"""The function of a call, which gets the services. It runs in a thread and must not touch widgets."""
OnResult = Callable[[_T], object]
OnError = Callable[[LocalcdapError], object]

_MAX_WAITING_ITEMS: Final = 4
"""Items of a followed source that may wait for the screen; then the source waits."""
_RETRY_S: Final = 1.0
"""Seconds before a followed source that failed is opened again."""
_REPORTED_FAILURE: Final = 2
"""Which failure in a row of a followed source is reported. The first one is usual when the host changes."""


class ServiceCalls:
    """The service calls of the studio that are waiting or running.

    :param report_error: gets every error that no ``on_error`` takes, on the thread of the screen.
    :param on_services: gets the services after each call, in the thread of the call.
    """

    def __init__(
        self,
        connection: HostConnection,
        report_error: Callable[[Exception], object],
        on_services: Callable[[Cdap], object] = lambda _: None,
    ) -> None:
        self.connection = connection
        self.report_error = report_error
        self.on_services = on_services
        self.leaving = threading.Event()
        """Set when no new call may start."""
        self._lanes: WeakKeyDictionary[MessagePump, dict[str, _Lane]] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._pending = 0
        self._threads: set[threading.Thread] = set()

    @property
    def pending_count(self) -> int:
        """The number of calls that wait, run, or have a result that was not delivered yet."""
        return self._pending

    def make(
        self,
        node: MessagePump,
        work: Work[_T],
        on_result: OnResult[_T] | None,
        on_error: OnError | None,
        group: str | None,
        *,
        ordered: bool,
    ) -> None:
        """Make a call for a widget; :meth:`StudioNode.call` describes the parameters."""
        if group is None:
            _Lane(self).put(_Call(self, node, work, on_result, on_error, lambda: True))
            return
        lane = self._get_lane(node, group)
        lane.newest += 1
        number = lane.newest
        call = _Call(
            self, node, work, on_result, on_error, lambda: ordered or lane.newest == number
        )
        lane.put(call, replaces=not ordered)

    def discard_results(self, node: MessagePump, group: str) -> None:
        """Discard the results of the running calls of a group of a widget."""
        self._get_lane(node, group).newest += 1

    def shut_down(self, timeout_s: float) -> None:
        """Start no call any more and wait for those that run; threads that take longer are abandoned."""
        self.leaving.set()
        deadline = time.monotonic() + timeout_s
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def run_in_thread(self, work: Callable[[], None]) -> None:
        """Run a function in a daemon thread, which ends with the process at the latest."""

        def run() -> None:
            try:
                work()
            finally:
                with self._lock:
                    self._threads.discard(thread)

        thread = threading.Thread(target=run, name="studio-call", daemon=True)
        with self._lock:
            self._threads.add(thread)
        thread.start()

    def begin(self) -> None:
        """Count one more pending call."""
        with self._lock:
            self._pending += 1

    def end(self) -> None:
        """Count one pending call less."""
        with self._lock:
            self._pending -= 1

    def _get_lane(self, node: MessagePump, group: str) -> _Lane:
        return self._lanes.setdefault(node, {}).setdefault(group, _Lane(self))


class _Lane:
    """The calls of a group, made one at a time and in order."""

    def __init__(self, calls: ServiceCalls) -> None:
        self._calls = calls
        self._lock = threading.Lock()
        self._waiting: deque[_Call] = deque()
        self._is_running = False
        self.newest = 0
        """The number of the newest call; results of older calls are discarded."""

    def put(self, call: _Call, *, replaces: bool = False) -> None:
        """Add a call; with ``replaces``, calls that still wait are discarded."""
        with self._lock:
            replaced = list(self._waiting) if replaces else []
            if replaces:
                self._waiting.clear()
            self._waiting.append(call)
            starts, self._is_running = not self._is_running, True
        for each in replaced:
            each.discard()
        if starts:
            self._calls.run_in_thread(self._run)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_running = False
                    return
                call = self._waiting.popleft()
            call.make()


class _Call:
    """One call of a service."""

    def __init__(
        self,
        calls: ServiceCalls,
        node: MessagePump,
        work: Work[Any],
        on_result: OnResult[Any] | None,
        on_error: OnError | None,
        is_wanted: Callable[[], bool],
    ) -> None:
        self._calls = calls
        self._node = node
        self._work = work
        self._on_result = on_result
        self._on_error = on_error
        self._is_wanted = is_wanted
        calls.begin()

    def discard(self) -> None:
        self._calls.end()

    def make(self) -> None:
        """Make the call; runs in the thread of the group."""
        try:
            cdap = self._calls.connection.wait()
            result = self._work(cdap)
            self._calls.on_services(cdap)
        except LeavingError:
            self.discard()
        except Exception as error:
            self._hand_over(self._take_error, error)
        else:
            self._hand_over(self._take_result, result)

    def _hand_over(self, take: Callable[[Any], None], value: object) -> None:
        if not deliver(self._node, lambda: take(value)):
            self.discard()

    def _take_result(self, result: Any) -> None:
        try:
            if self._on_result is not None and self._is_wanted():
                self._on_result(result)
        finally:
            self._calls.end()

    def _take_error(self, error: Exception) -> None:
        try:
            if not self._is_wanted():
                return
            if self._on_error is not None and isinstance(error, LocalcdapError):
                self._on_error(error)
            else:
                self._calls.report_error(error)
        finally:
            self._calls.end()


class FollowedSource:
    """A source whose items a widget gets until it ends, its widget goes, or :meth:`stop` is called."""

    def __init__(
        self,
        calls: ServiceCalls,
        node: MessagePump,
        source: Callable[[Cdap], Iterator[Any]],
        on_item: OnResult[Any],
        on_error: OnError | None,
    ) -> None:
        self._calls = calls
        self._node = node
        self._source = source
        self._on_item = on_item
        self._on_error = on_error
        self._stopped = threading.Event()
        self._free = threading.Semaphore(_MAX_WAITING_ITEMS)
        calls.run_in_thread(self._run)

    def stop(self) -> None:
        """Hand over no more items."""
        self._stopped.set()

    @property
    def _is_over(self) -> bool:
        return self._stopped.is_set() or self._calls.leaving.is_set() or not self._node.is_running

    def _run(self) -> None:
        failures = 0
        while not self._is_over:
            try:
                cdap = self._calls.connection.wait()
                for item in self._source(cdap):
                    failures = 0
                    self._calls.on_services(cdap)
                    if self._is_over or (item is not None and not self._hand_over(item)):
                        return
                return
            except LeavingError:
                return
            except Exception as error:
                failures += 1
                if failures == _REPORTED_FAILURE:
                    deliver(self._node, lambda error=error: self._take_error(error))  # type: ignore[misc]
            # Open it again: the host may have ended, or another process is about to become the host.
            self._calls.leaving.wait(_RETRY_S)

    def _hand_over(self, item: object) -> bool:
        while not self._free.acquire(timeout=0.2):
            if self._is_over:
                return False
        return not self._is_over and deliver(self._node, lambda: self._take(item))

    def _take(self, item: object) -> None:
        try:
            if not self._stopped.is_set():
                self._on_item(item)
        finally:
            self._free.release()

    def _take_error(self, error: Exception) -> None:
        if self._stopped.is_set():
            return
        if self._on_error is not None and isinstance(error, LocalcdapError):
            self._on_error(error)
        else:
            self._calls.report_error(error)


def deliver(node: MessagePump, callback: Callable[[], object]) -> bool:
    """Run a callback on the thread of a widget, from any thread. False when the widget has gone."""
    if not node.is_running:
        return False

    def run() -> None:
        callback()

    return node.post_message(events.Callback(callback=run))
