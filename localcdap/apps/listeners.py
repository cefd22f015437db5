"""Delivery of events to the listeners of applications; each has its own thread, so that none blocks another.

An application's process is only started when there is an event that one of its listeners handles.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from localcdap.api.app.application import ListenerDetail
from localcdap.api.app.events import SYSTEM_NAMESPACE, ArtifactsChanged
from localcdap.api.app.transactions import StructuredTableAdmin, TransactionRunner
from localcdap.api.errors import LocalcdapError
from localcdap.apps.model import is_listener_key, listener_key
from localcdap.apps.processes import AppProcesses
from localcdap.artifacts.model import ApplicationRef
from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.listeners import POSITIONS, read_listener_position
from localcdap.messaging.service import MessagingService
from localcdap.messaging.topics import TopicMessage, Topics

_LOG: Final = logging.getLogger(__name__)
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 60.0
_BATCH: Final = 1000
_ARTIFACTS: Final = (ArtifactsChanged.topic,)


class AppListeners:
    """The listeners of the applications that are deployed.

    :param limit_s: seconds that one delivery to a listener may take.
    """

    def __init__(
        self,
        topics: Topics,
        messaging: MessagingService,
        artifacts: ArtifactService,
        processes: AppProcesses,
        transactions: TransactionRunner,
        admin: StructuredTableAdmin,
        limit_s: float,
    ) -> None:
        self._topics = topics
        self._messaging = messaging
        self._artifacts = artifacts
        self._processes = processes
        self._transactions = transactions
        self._admin = admin
        self._limit_s = limit_s
        self._drivers: dict[str, _Driver] = {}
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="app-listeners", daemon=True)

    def start(self) -> None:
        """Start to deliver events, also to applications that are deployed later."""
        self._thread.start()

    def is_busy(self) -> bool:
        """Return whether a listener has events to handle and did not fail on them the last time."""
        return any(driver.is_busy() for driver in list(self._drivers.values()))

    def get_failure(self, app: str, listener: str) -> tuple[int, str | None]:
        """Return the number of failures in a row of a listener, and its last error."""
        driver = self._drivers.get(listener_key(app, listener))
        return (driver.tries, driver.error) if driver is not None else (0, None)

    def close(self) -> None:
        """Stop the threads; the processes of applications must have ended before."""
        self._closing = True
        self._topics.wake()
        if self._thread.is_alive():
            self._thread.join()
        for driver in self._drivers.values():
            driver.close()

    def _work(self) -> None:
        while not (self._closing or self._topics.closed):
            seen = self._topics.count_changes(SYSTEM_NAMESPACE, _ARTIFACTS)
            try:
                self._refresh()
            except LocalcdapError as error:  # a failure of the database may be temporary
                _LOG.warning("listeners of applications: %s", error)
            self._topics.wait(SYSTEM_NAMESPACE, _ARTIFACTS, seen, None, lambda: self._closing)

    def _refresh(self) -> None:
        """Start a driver for each new listener, and close those of removed listeners."""
        wanted = self._list_deployed()
        for name, driver in list(self._drivers.items()):
            if wanted.get(name) != driver.what:
                driver.close()
                del self._drivers[name]
        for name in self._list_known() - wanted.keys():
            self._messaging.forget_listener(name)
        for name, (app, listener) in wanted.items():
            if name not in self._drivers:
                self._drivers[name] = self._make_driver(name, app, listener)

    def _list_deployed(self) -> Mapping[str, tuple[ApplicationRef, ListenerDetail]]:
        return {
            listener_key(app.application.name, listener.name): (app, listener)
            for app in self._artifacts.list_applications()
            for listener in app.application.listeners
        }

    def _list_known(self) -> set[str]:
        """Return the names of all listeners of applications that have a position."""
        if not self._admin.exists(POSITIONS.table):
            return set()
        names = self._transactions.run(
            lambda context: {row["listener"] for row in context.table(POSITIONS.table).scan()}
        )
        return {name for name in names if is_listener_key(name)}

    def _make_driver(self, name: str, app: ApplicationRef, listener: ListenerDetail) -> _Driver:
        def deliver() -> int:
            self._processes.use(app, lambda process: process.deliver(listener.name, self._limit_s))
            return position()

        def position() -> int:
            return read_listener_position(self._transactions, self._admin, name)

        return _Driver(name, (app, listener), self._topics, self._messaging, position, deliver)


class _Driver:
    """One listener and its thread.

    :param position: returns the id of the last message that the listener has handled.
    :param deliver: delivers the waiting events to it, and returns its new position.
    """

    def __init__(
        self,
        name: str,
        what: tuple[ApplicationRef, ListenerDetail],
        topics: Topics,
        messaging: MessagingService,
        position: Callable[[], int],
        deliver: Callable[[], int],
    ) -> None:
        self.what: Final = what
        self.tries = 0
        self.error: str | None = None
        self._at: int | None = None
        """The id of the last message that was handled or skipped; None while it is not known."""
        self._name = name
        self._listener = what[1]
        self._topics = topics
        self._messaging = messaging
        self._position = position
        self._deliver = deliver
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"listener-{name}", daemon=True)
        self._thread.start()

    def is_busy(self) -> bool:
        """Return whether there are events that a host stays for, because the listener is not patient and did
        not fail on them the last time.
        """
        if self.tries or self._listener.patience_s:
            return False
        try:
            at = self._at if self._at is not None else self._position()
            return any(map(self._is_handled, self._fetch_after(at)))
        except LocalcdapError:
            return False

    def close(self) -> None:
        self._stopping.set()
        self._topics.wake()
        self._thread.join()

    def _work(self) -> None:
        while not (self._stopping.is_set() or self._topics.closed):
            seen = self._topics.count_changes(SYSTEM_NAMESPACE, self._listener.topics)
            try:
                self._handle_messages(self._position() if self._at is None else self._at)
            except LocalcdapError as error:
                self._at = None
                if not self._stopping.is_set():
                    self._pause_after(error)
                continue
            self.tries, self.error = 0, None
            self._topics.wait(
                SYSTEM_NAMESPACE, self._listener.topics, seen, None, self._stopping.is_set
            )

    def _handle_messages(self, at: int) -> None:
        """Handle all messages after ``at``; the process is only called for events that the listener
        handles.
        """
        self._save_position(at)  # from now on later messages are kept for it
        self._at = at
        while not (self._stopping.is_set() or self._topics.closed):
            messages = self._fetch_after(self._at)
            if not messages:
                break
            if any(map(self._is_handled, messages)):
                if self._stopping.wait(self._listener.patience_s):
                    break
                self._at = self._deliver()
            else:
                self._at = messages[-1].id
                self._save_position(self._at)

    def _fetch_after(self, at: int) -> Sequence[TopicMessage]:
        return self._topics.fetch(SYSTEM_NAMESPACE, self._listener.topics, at, _BATCH, wait_s=0)

    def _is_handled(self, message: TopicMessage) -> bool:
        if message.payload.get("kind") not in self._listener.events:
            return False
        types, entity = self._listener.entity_types, message.payload.get("entity")
        return not types or not isinstance(entity, dict) or entity.get("type") in types

    def _save_position(self, at: int) -> None:
        self._messaging.save_listener_position(self._name, self._listener.topics, at)

    def _pause_after(self, error: LocalcdapError) -> None:
        self.tries += 1
        self.error = str(error)
        if self.tries == 1 and not self._topics.closed:
            _LOG.warning("listener %s failed and will try again: %s", self._name, error)
        pause = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(self.tries - 1, 16))
        self._stopping.wait(pause)
