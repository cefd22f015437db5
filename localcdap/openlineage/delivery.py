"""Delivery of events to each destination, in a thread of its own: a dead one delays nothing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.openlineage.destinations import (
    Destination,
    RefusedError,
    WaitingEvent,
    list_destinations,
    move_on,
    read_progress,
    read_waiting,
    register_destinations,
)
from localcdap.store.store import Store

_LOG: Final = logging.getLogger(__name__)
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 60.0
_CLOSING_S: Final = 1.0
"""Seconds that the end of the host waits for an answer; what was sent then is sent again by the next host."""


class DestinationStatus(msgspec.Struct, rename="camel"):
    """The progress of a destination."""

    name: str
    """``file`` or ``http``."""
    target: str
    """The file or the URL."""
    waiting: int
    """Events that it has yet to get."""
    dropped: int = 0
    """Events that were dropped because too many waited."""
    refused: int = 0
    """Events that it did not accept."""
    refusal: str | None = None
    """Why it did not accept the last of these."""
    tries: int = 0
    """Failures in a row; 0 when the last attempt succeeded."""
    since: int | None = None
    """The time of the first of these failures, in milliseconds since 1970."""
    error: str | None = None


class Deliveries:
    """The destinations of this instance.

    :param destinations: with different names; none: no events are kept.
    """

    def __init__(self, store: Store, destinations: Sequence[Destination]) -> None:
        names = [each.name for each in destinations]
        lost: dict[str, int] = {}
        if set(read_destinations(store)) != set(names):
            with store.transaction() as tx:
                lost = register_destinations(tx, names)
        for name, count in lost.items():
            if count:
                _LOG.warning(
                    "%d events of OpenLineage are not delivered any more: the settings have no %s.",
                    count,
                    name,
                )
        self._threads = [DeliveryThread(store, each) for each in destinations]

    def wake(self) -> None:
        """Have new events delivered."""
        for thread in self._threads:
            thread.wake()

    def list_statuses(self) -> list[DestinationStatus]:
        """Return the progress of each destination."""
        return [thread.read_status() for thread in self._threads]

    def are_active(self) -> bool:
        """Whether events are being delivered; not while a destination fails."""
        return any(thread.is_active() for thread in self._threads)

    def close(self) -> None:
        """Stop. What was not delivered stays in the database."""
        for thread in self._threads:
            thread.stop()
        for thread in self._threads:
            thread.join()


def read_destinations(store: Store) -> list[str]:
    """Return the names of the destinations that the instance had when it was last open."""
    with store.snapshot() as tx:
        return list_destinations(tx)


class DeliveryThread:
    """One destination and its thread."""

    def __init__(self, store: Store, destination: Destination) -> None:
        self._store = store
        self._destination = destination
        self._more = threading.Event()
        self._more.set()
        self._stopping = threading.Event()
        self._failed: DestinationStatus | None = None
        self._idle = False
        self._thread = threading.Thread(
            target=self._work, name=f"openlineage-{destination.name}", daemon=True
        )
        self._thread.start()

    def wake(self) -> None:
        self._more.set()

    def is_active(self) -> bool:
        return self._failed is None and (self._more.is_set() or not self._idle)

    def read_status(self) -> DestinationStatus:
        with self._store.snapshot() as tx:
            progress = read_progress(tx, self._destination.name)
        failed = self._failed
        return DestinationStatus(
            self._destination.name,
            self._destination.target,
            progress.waiting,
            progress.dropped,
            progress.refused,
            progress.error,
            failed.tries if failed else 0,
            failed.since if failed else None,
            failed.error if failed else None,
        )

    def stop(self) -> None:
        self._stopping.set()
        self._more.set()

    def join(self) -> None:
        self._thread.join(_CLOSING_S)

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._more.clear()
            self._idle = False
            try:
                while not self._stopping.is_set() and self._deliver():
                    self._failed = None
            except Exception as error:
                if not self._stopping.is_set():
                    self._pause_after(error)
                continue
            self._failed = None
            self._idle = True
            self._more.wait()

    def _deliver(self) -> bool:
        """Deliver the next events; return whether there were any.

        :raises LocalcdapError: when they cannot be delivered now, or the database cannot be used.
        """
        name = self._destination.name
        with self._store.snapshot() as tx:
            events = read_waiting(tx, name, self._destination.batch)
        if not events:
            return False
        refusal = None
        try:
            self._destination.deliver(events)
        except RefusedError as error:
            refusal = error.message
            _LOG.warning("An event of OpenLineage is left out: %s", refusal)
        self._note(events[0] if refusal else events[-1], refusal)
        return True

    def _note(self, last: WaitingEvent, refusal: str | None) -> None:
        with self._store.transaction() as tx:
            move_on(tx, self._destination.name, last.id, refusal)

    def _pause_after(self, error: Exception) -> None:
        is_known = isinstance(error, LocalcdapError)
        message = str(error) if is_known else f"{type(error).__name__}: {error}"
        before = self._failed
        tries = before.tries + 1 if before else 1
        since = before.since if before else time.time_ns() // 1_000_000
        if before is None or before.error != message:
            _LOG.warning(
                "Events of OpenLineage are kept, and sent again later: %s",
                message,
                exc_info=None if is_known else error,
            )
        name, target = self._destination.name, self._destination.target
        self._failed = DestinationStatus(name, target, 0, tries=tries, since=since, error=message)
        self._stopping.wait(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(tries - 1, 16)))
