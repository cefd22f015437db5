"""Events inside one process: who publishes never waits for who listens."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

E = TypeVar("E")


class EventBus:
    """Hands each published event to the subscriptions whose type it is an instance of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription[object], ...] = ()

    def publish(self, event: object) -> None:
        """Put the event into the queue of each subscription, and return at once."""
        for subscription in self._subscriptions:
            if isinstance(event, subscription.type):
                subscription.put(event)

    def subscribe(self, type: type[E], limit: int = 1000) -> Subscription[E]:
        """Events of a class (or its subclasses) from now on, in the order of publishing.

        :param limit: events that wait at most; the oldest are dropped for newer ones, and counted.
        """
        subscription = Subscription(self, type, limit)
        with self._lock:
            self._subscriptions = (*self._subscriptions, subscription)  # type: ignore[arg-type]
        return subscription

    def cancel(self, subscription: Subscription[E]) -> None:
        with self._lock:
            rest = tuple(s for s in self._subscriptions if s is not subscription)
            self._subscriptions = rest


class Subscription(Generic[E]):
    """A queue of events. Iterating waits for events and ends when it is closed.

    >>> bus = EventBus()
    >>> with bus.subscribe(str) as events:
    ...     bus.publish("hello")
    ...     events.take()
    ['hello']
    """

    def __init__(self, bus: EventBus, type: type[E], limit: int) -> None:
        self.type: Final = type
        self.missed = 0
        """Events that were dropped because nobody took them in time."""
        self._bus = bus
        self._waiting: deque[E] = deque(maxlen=limit)
        self._changed = threading.Condition()
        self._closed = False

    def put(self, event: E) -> None:
        with self._changed:
            self.missed += len(self._waiting) == self._waiting.maxlen
            self._waiting.append(event)
            self._changed.notify_all()

    def take(self, timeout_s: float | None = 0) -> list[E]:
        """All events that wait; when there are none, those that come first within the time.

        :param timeout_s: None to wait until there is one or the subscription is closed.
        :returns: empty when the time is over, or when closed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed, timeout_s)
            taken = list(self._waiting)
            self._waiting.clear()
            return taken

    def close(self) -> None:
        """Get no more events; those that wait can still be taken."""
        self._bus.cancel(self)
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[E]:
        while events := self.take(None):
            yield from events

    def __enter__(self) -> Subscription[E]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
