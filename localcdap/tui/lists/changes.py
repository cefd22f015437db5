"""Waits for the events after which a list must be read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.host.cdap import Cdap

_WAIT_S: Final = 1.0
"""The longest wait for an event, in seconds."""


def watch_topics(*topics: str) -> Callable[[Cdap], Iterator[bool | None]]:
    """Return a source for ``follow`` that yields True whenever the system topics had events.

    It yields None after a wait without events. The first item is True: a list that was read before the
    position in the topics was known may be old.
    """

    def wait_for_events(cdap: Cdap) -> Iterator[bool | None]:
        position = cdap.messaging.get_newest_id()
        yield True
        while True:
            found = cdap.messaging.fetch(
                SYSTEM_NAMESPACE, list(topics), position, limit=1000, wait_s=_WAIT_S
            )
            position = found[-1].id if found else position
            yield True if found else None

    return wait_for_events
