"""Delivery of system events to listeners; each has its own thread, so that none blocks another.

A listener's position and the effect of an event are one transaction, so each event takes effect once. A
listener that fails is called again with the same event, after pauses that grow up to a minute.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from localcdap.api.app.events import (
    SYSTEM_NAMESPACE,
    BatchListener,
    SystemEvent,
    SystemEventListener,
    is_subscribed,
)
from localcdap.api.errors import ConflictError, LocalcdapError, NotFoundError
from localcdap.decoders import convert
from localcdap.messaging import retention
from localcdap.messaging.topics import TopicMessage, Topics
from localcdap.store.store import Store, Transaction

_LOG: Final = logging.getLogger(__name__)
_BATCH: Final = 100
"""Events in one transaction, so that other writers need not wait long."""
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 60.0
_SWEEP_AFTER_S: Final = 2.0
"""A command that ends sooner does not pay for deleting old messages."""
_SWEEP_EVERY_S: Final = 600.0


class ListenerStatus(msgspec.Struct, rename="camel"):
    """The progress of a listener."""

    name: str
    waiting: int
    """Events that it has not handled yet."""
    tries: int = 0
    """Failures in a row; 0 when the last attempt succeeded."""
    event: int | None = None
    """The id of the event on which it fails; None when the events cannot be read from the database."""
    since: int | None = None
    """The time of the first of these failures, in milliseconds since 1970."""
    error: str | None = None


class EventDispatcher:
    """The listeners of this process, and the thread that deletes old messages."""

    def __init__(self, store: Store, topics: Topics) -> None:
        self._store = store
        self._topics = topics
        self._lock = threading.Lock()
        self._listening: dict[str, ListenerThread] = {}
        self._closed = threading.Event()
        self._sweeper = threading.Thread(target=self._sweep, name="message-sweep", daemon=True)
        self._sweeper.start()

    def add(self, listener: SystemEventListener[Transaction]) -> None:
        """Start to deliver events to a listener, from its last position, or from the oldest event.

        :raises ConflictError: when there is a listener of that name.
        """
        with self._lock:
            if listener.name in self._listening:
                raise ConflictError(f"There is a listener '{listener.name}' already.")
            self._listening[listener.name] = ListenerThread(self._store, self._topics, listener)

    def add_from_now(self, listener: SystemEventListener[Transaction]) -> None:
        """Start to deliver events to a listener; one without a position gets no earlier events.

        :raises ConflictError: when there is a listener of that name.
        """
        topics = sorted({kind.topic for kind in listener.events})
        with self._store.snapshot() as tx:
            is_new = not retention.has_position(tx, listener.name, topics)
        if is_new:
            with self._store.transaction() as tx:
                newest = self._topics.get_newest_id(tx)
                retention.save_position(tx, listener.name, topics, newest)
        self.add(listener)

    def remove(self, name: str) -> None:
        """Stop to deliver events to a listener, if it exists; added again, it continues at its position."""
        with self._lock:
            listening = self._listening.pop(name, None)
        if listening is not None:
            listening.close()

    def forget(self, name: str) -> None:
        """Remove a listener and its position: events that it has not handled need not be kept for it."""
        self.remove(name)
        with self._store.transaction() as tx:
            retention.delete_position(tx, name)

    def list_statuses(self) -> list[ListenerStatus]:
        """Return the progress of the listeners of this process, by name."""
        return [self._listening[name].read_status() for name in sorted(self._listening)]

    def skip(self, name: str) -> None:
        """Skip the event on which a listener fails.

        :raises NotFoundError: when there is no such listener.
        :raises ConflictError: when it does not fail on any event.
        """
        listening = self._listening.get(name)
        if listening is None:
            known = ", ".join(sorted(self._listening)) or "none"
            raise NotFoundError(f"There is no listener '{name}'; available: {known}.")
        listening.skip()

    def sweep(self) -> int:
        """Delete the messages over the limits of their topics; return how many they were."""
        with self._store.transaction() as tx:
            return retention.delete_expired(tx, retention.find_needed(tx))

    def close(self) -> None:
        """Wait for the events that are being handled, and stop. Closing the topics stops listeners too."""
        self._closed.set()
        self._sweeper.join()
        for name in list(self._listening):
            self.remove(name)

    def _sweep(self) -> None:
        pause = _SWEEP_AFTER_S
        while not self._closed.wait(pause):
            try:
                self.sweep()
            except LocalcdapError as error:  # a full disk may have space the next time
                _LOG.warning("old messages could not be deleted: %s", error)
            pause = _SWEEP_EVERY_S


class ListenerThread:
    """One listener and its thread."""

    def __init__(
        self, store: Store, topics: Topics, listener: SystemEventListener[Transaction]
    ) -> None:
        self.topics: Final[Sequence[str]] = sorted({kind.topic for kind in listener.events})
        self._store = store
        self._source = topics
        self._listener = listener
        self._stopping = False
        self._hurry = threading.Event()
        self._failed: _Failed | None = None
        self._thread = threading.Thread(
            target=self._work, name=f"listener-{listener.name}", daemon=True
        )
        self._thread.start()

    def read_status(self) -> ListenerStatus:
        with self._store.snapshot() as tx:
            waiting = tx.execute(
                _WAITING,
                (
                    SYSTEM_NAMESPACE,
                    list(self.topics),
                    retention.read_position(tx, self._listener.name),
                ),
            )[0][0]
        failed = self._failed
        if failed is None:
            return ListenerStatus(self._listener.name, waiting)
        return ListenerStatus(
            self._listener.name, waiting, failed.tries, failed.event, failed.since, failed.error
        )

    def skip(self) -> None:
        failed = self._failed
        if failed is None or failed.event is None:
            raise ConflictError(f"Listener '{self._listener.name}' does not fail on any event.")
        with self._store.transaction() as tx:
            if retention.read_position(tx, self._listener.name) < failed.event:
                self._move(tx, failed.event)
        self._failed = None
        self._hurry.set()

    def close(self) -> None:
        self._stopping = True
        self._hurry.set()
        self._source.wake()
        self._thread.join()

    def _work(self) -> None:
        self._register()
        while not (self._stopping or self._source.closed):
            seen = self._source.count_changes(SYSTEM_NAMESPACE, self.topics)
            try:
                last = self._deliver(1 if self._failed else _BATCH)
            except _EventError as failure:
                self._pause_after(failure.event, failure.error)
                continue
            except LocalcdapError as error:  # a failure of the database may be temporary
                self._pause_after(None, error)
                continue
            failed = self._failed
            if failed is not None and (failed.event is None or not 0 < last < failed.event):
                self._failed = None
            if not last:
                self._source.wait(SYSTEM_NAMESPACE, self.topics, seen, None, lambda: self._stopping)

    def _register(self) -> None:
        """Store the listener's position, so that events which it has not handled are kept."""
        try:
            with self._store.snapshot() as tx:
                if retention.has_position(tx, self._listener.name, self.topics):
                    return
            with self._store.transaction() as tx:
                self._move(tx, retention.read_position(tx, self._listener.name))
        except LocalcdapError as error:  # handling the first event stores the position too
            _LOG.warning("listener %s: %s", self._listener.name, error)

    def _deliver(self, most: int) -> int:
        """Deliver up to ``most`` events in one transaction; return the id of the last one, or 0.

        :raises _EventError: for the first event that fails; then none of them takes effect.
        """
        if not self._has_more():
            return 0
        if most > 1 and isinstance(self._listener, BatchListener):
            try:
                return self._deliver_by(partial(self._call_with_all, self._listener), most)
            except Exception as error:
                _LOG.debug("listener %s: %s", self._listener.name, error)
        return self._deliver_by(self._call_with_each, most)

    def _deliver_by(
        self, call: Callable[[Transaction, Sequence[TopicMessage]], None], most: int
    ) -> int:
        with self._store.transaction() as tx:
            messages = self._read_next(tx, most)
            call(tx, messages)
            if messages:
                self._move(tx, messages[-1].id)
        return messages[-1].id if messages else 0

    def _call_with_all(
        self,
        listener: BatchListener[Transaction],
        tx: Transaction,
        messages: Sequence[TopicMessage],
    ) -> None:
        listener.on_events([event for each in messages for event in self._decode(each)], tx)

    def _call_with_each(self, tx: Transaction, messages: Sequence[TopicMessage]) -> None:
        for message in messages:
            try:
                for event in self._decode(message):
                    self._listener.on_event(event, tx)
            except Exception as error:
                raise _EventError(message.id, error) from error
            if tx.failure is not None:
                # The listener caught an error, but the transaction cannot commit.
                raise _EventError(message.id, tx.failure)

    def _has_more(self) -> bool:
        """Return whether there are events, from a snapshot, which does not block writers."""
        with self._store.snapshot() as tx:
            return bool(self._read_next(tx, 1))

    def _read_next(self, tx: Transaction, most: int) -> Sequence[TopicMessage]:
        return self._source.read(
            tx,
            SYSTEM_NAMESPACE,
            self.topics,
            retention.read_position(tx, self._listener.name),
            most,
        )

    def _decode(self, message: TopicMessage) -> Iterator[Any]:
        """Yield the event of a message, if the listener has subscribed to it."""
        try:
            event: Any = convert(message.payload, SystemEvent)
        except msgspec.ValidationError as error:  # published by a newer version of localcdap
            _LOG.warning("event %d cannot be decoded and is skipped: %s", message.id, error)
            return
        if is_subscribed(type(self._listener), event):
            yield event

    def _move(self, tx: Transaction, position: int) -> None:
        retention.save_position(tx, self._listener.name, self.topics, position)

    def _pause_after(self, event: int | None, error: Exception) -> None:
        before = self._failed
        again = before is not None and before.event == event
        failed = _Failed(
            event,
            before.tries + 1 if before and again else 1,
            before.since if before and again else time.time_ns() // 1_000_000,
            str(error) if isinstance(error, LocalcdapError) else f"{type(error).__name__}: {error}",
        )
        if not again:
            _LOG.warning(
                "listener %s fails on event %s and will try again: %s",
                self._listener.name,
                event,
                failed.error,
                exc_info=None if isinstance(error, LocalcdapError) else error,
            )
        self._failed = failed
        pause = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(failed.tries - 1, 16))
        if self._hurry.wait(pause):
            self._hurry.clear()


class _Failed(msgspec.Struct, frozen=True):
    """The failure that a listener repeats."""

    event: int | None
    tries: int
    since: int
    error: str


class _EventError(Exception):
    def __init__(self, event: int, error: Exception) -> None:
        super().__init__(event, error)
        self.event = event
        self.error = error


_WAITING: Final = (
    "SELECT count(*) FROM messages WHERE namespace = ? AND list_contains(?::VARCHAR[], topic) "
    "AND id > ?"
)
