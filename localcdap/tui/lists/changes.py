"""What a list follows to be filled anew when its things change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.host.cdap import Cdap

_WAIT_S: Final = 1.0


def watch_topics(*topics: str) -> Callable[[Cdap], Iterator[bool]]:
    """A source for ``follow``: after each wait, whether there were events on one of the system's topics.

    The first item is True: what was listed before the position was known may be old.
    """

    def source(cdap: Cdap) -> Iterator[bool]:
        position = cdap.messaging.get_newest_id()
        yield True
        while True:
            found = cdap.messaging.fetch(
                SYSTEM_NAMESPACE, list(topics), position, limit=1000, wait_s=_WAIT_S
            )
            position = found[-1].id if found else position
            yield bool(found)

    return source
