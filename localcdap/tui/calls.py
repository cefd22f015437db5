"""Calls of services from widgets: in threads, never in the way of keys and drawing.

A widget that mixes in :class:`Calling` writes ::

    self.call(lambda cdap: cdap.runs.list(namespace), done=self._show, group="runs")

``work`` runs in a thread as soon as there is a connection; ``done`` gets its result on the thread of the
screen, unless the widget has gone or a newer call of the same group was made.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

from textual import events
from textual.message_pump import MessagePump

from localcdap.api.errors import LocalcdapError
from localcdap.host.cdap import Cdap
from localcdap.tui.connection import Connection, LeavingError

_T = TypeVar("_T")

Work = Callable[[Cdap], _T]
Done = Callable[[_T], object]
Failed = Callable[[LocalcdapError], object]
Fault = Callable[[Exception], object]

_AHEAD: Final = 4
"""Items of a followed source that may wait for the screen; the source waits behind them."""
_RETRY_S: Final = 1.0
"""Seconds before a followed source that failed is opened anew."""
_PATIENCE: Final = 2
"""Failures in a row of a followed source after which it is told, once."""


class Calls:
    """The calls that the studio has under way.

    :param fault: is told, on the thread of the screen, of whatever a call raised that nobody takes.
    :param made: is told, in the thread of the call, of the services behind each call.
    """

    def __init__(
        self, connection: Connection, fault: Fault, made: Callable[[Cdap], object] = lambda _: None
    ) -> None:
        self.connection = connection
        self.fault = fault
        self.made = made
        self.leaving = threading.Event()
        """Set when nothing is to be begun any more."""
        self._lanes: WeakKeyDictionary[MessagePump, dict[str, _Lane]] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._open = 0
        self._threads: set[threading.Thread] = set()

    @property
    def open(self) -> int:
        """How many calls are waiting, running, or about to hand in their result."""
        return self._open

    def lane(self, node: MessagePump, group: str) -> _Lane:
        """The calls of one group of one widget."""
        return self._lanes.setdefault(node, {}).setdefault(group, _Lane(self))

    def leave(self, timeout_s: float) -> None:
        """Begin nothing any more, and wait for what is under way; what takes longer is left alone."""
        self.leaving.set()
        deadline = time.monotonic() + timeout_s
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def run(self, work: Callable[[], None]) -> None:
        """Have something done in a thread, which ends with the process at the latest."""

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

    def began(self) -> None:
        with self._lock:
            self._open += 1

    def ended(self) -> None:
        with self._lock:
            self._open -= 1


class _Lane:
    """Calls of a group: one at a time, in their order."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._lock = threading.Lock()
        self._waiting: deque[_Call] = deque()
        self._is_running = False
        self.newest = 0

    def put(self, call: _Call, *, replaces: bool) -> None:
        """Have a call made; with ``replaces`` those that still wait are not made any more."""
        with self._lock:
            dropped = list(self._waiting) if replaces else []
            if replaces:
                self._waiting.clear()
            self._waiting.append(call)
            starts, self._is_running = not self._is_running, True
        for each in dropped:
            each.drop()
        if starts:
            self._calls.run(self._run)

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
        calls: Calls,
        node: MessagePump,
        work: Work[Any],
        done: Done[Any] | None,
        failed: Failed | None,
        is_wanted: Callable[[], bool],
    ) -> None:
        self._calls = calls
        self._node = node
        self._work = work
        self._done = done
        self._failed = failed
        self._is_wanted = is_wanted
        calls.began()

    def drop(self) -> None:
        self._calls.ended()

    def make(self) -> None:
        """Runs in a thread of the group."""
        try:
            cdap = self._calls.connection.wait()
            result = self._work(cdap)
            self._calls.made(cdap)
        except LeavingError:
            self.drop()
        except Exception as error:
            self._hand_in(self._fail, error)
        else:
            self._hand_in(self._finish, result)

    def _hand_in(self, take: Callable[[Any], None], what: object) -> None:
        if not deliver(self._node, lambda: take(what)):
            self.drop()

    def _finish(self, result: Any) -> None:
        try:
            if self._done is not None and self._is_wanted():
                self._done(result)
        finally:
            self._calls.ended()

    def _fail(self, error: Exception) -> None:
        try:
            if not self._is_wanted():
                return
            if self._failed is not None and isinstance(error, LocalcdapError):
                self._failed(error)
            else:
                self._calls.fault(error)
        finally:
            self._calls.ended()


class Following:
    """A source that is followed until it ends, its widget has gone, or :meth:`stop` is called."""

    def __init__(
        self,
        calls: Calls,
        node: MessagePump,
        source: Callable[[Cdap], Iterator[Any]],
        each: Done[Any],
        failed: Failed | None,
    ) -> None:
        self._calls = calls
        self._node = node
        self._source = source
        self._each = each
        self._failed = failed
        self._stopped = threading.Event()
        self._ahead = threading.Semaphore(_AHEAD)
        calls.run(self._run)

    def stop(self) -> None:
        """Nothing is handed in any more."""
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
                    self._calls.made(cdap)
                    if self._is_over or (item is not None and not self._hand_in(item)):
                        return
                return
            except LeavingError:
                return
            except Exception as error:
                failures += 1
                if failures == _PATIENCE:
                    deliver(self._node, lambda error=error: self._fail(error))  # type: ignore[misc]
            # It begins anew: the host may have gone, or be about to come back.
            self._calls.leaving.wait(_RETRY_S)

    def _hand_in(self, item: object) -> bool:
        while not self._ahead.acquire(timeout=0.2):
            if self._is_over:
                return False
        return not self._is_over and deliver(self._node, lambda: self._take(item))

    def _take(self, item: object) -> None:
        try:
            if not self._stopped.is_set():
                self._each(item)
        finally:
            self._ahead.release()

    def _fail(self, error: Exception) -> None:
        if self._stopped.is_set():
            return
        if self._failed is not None and isinstance(error, LocalcdapError):
            self._failed(error)
        else:
            self._calls.fault(error)


class HasCalls(Protocol):
    """What the app is to its widgets here."""

    @property
    def calls(self) -> Calls: ...


class Calling(MessagePump):
    """Mixed into a widget or screen that calls services. Nothing is called from ``__init__``."""

    def call(
        self,
        work: Work[_T],
        done: Done[_T] | None = None,
        *,
        failed: Failed | None = None,
        group: str | None = None,
        ordered: bool = False,
    ) -> None:
        """Call services in a thread.

        :param work: gets the services; runs in a thread, so it touches no widget.
        :param done: gets the result on the thread of the screen, while the widget is mounted.
        :param failed: gets an error of localcdap; without it, it becomes a notice with its corrective action.
        :param group: calls of one group are made one at a time. A newer one replaces those that wait, and
            the result of the one that is under way is dropped. Without a group a call is on its own.
        :param ordered: the calls of this group are all made, in their order, and all results are handed in.
        """
        calls = calls_of(self)
        if group is None:
            lane = _Lane(calls)
            call = _Call(calls, self, work, done, failed, lambda: True)
            lane.put(call, replaces=False)
            return
        lane = calls.lane(self, group)
        lane.newest += 1
        number = lane.newest
        call = _Call(calls, self, work, done, failed, lambda: ordered or lane.newest == number)
        lane.put(call, replaces=not ordered)

    def forget(self, group: str) -> None:
        """Drop the results of the calls of a group that are under way."""
        calls_of(self).lane(self, group).newest += 1

    def follow(
        self,
        source: Callable[[Cdap], Iterator[_T | None]],
        each: Done[_T],
        *,
        failed: Failed | None = None,
    ) -> Following:
        """Hand in every item of a source, which waits for them in a thread of its own.

        :param source: a generator function over the services; it is iterated in the thread. It must yield
            now and then, at least None, which is not handed in (after a long poll without an answer), as only
            there is seen that the widget has gone. After an error it is opened anew, a second later; the
            second error in a row is told.
        :param each: gets every item on the thread of the screen.
        """
        return Following(calls_of(self), self, source, each, failed)


def calls_of(node: MessagePump) -> Calls:
    return cast(HasCalls, node.app).calls


def deliver(node: MessagePump, callback: Callable[[], object]) -> bool:
    """Have a callback run by a widget, from any thread. False when the widget has gone."""
    if not node.is_running:
        return False

    def run() -> None:
        callback()

    return node.post_message(events.Callback(callback=run))
