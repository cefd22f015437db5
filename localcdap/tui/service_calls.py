"""Calls of services in threads, so that no key and no frame waits for a service.

Widgets make calls with the methods of :class:`localcdap.tui.studio.StudioNode`; the app has one
:class:`ServiceCalls`. Calls of one group of one widget run one at a time, in a :class:`_Lane`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from textual import events
from textual.message_pump import MessagePump

from localcdap.api.errors import LocalcdapError
from localcdap.host.cdap import Cdap
from localcdap.tui.host_connection import HostConnection, LeavingError

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
