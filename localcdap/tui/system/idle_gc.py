"""Garbage collection while the user is idle, so that it does not delay keys."""

from __future__ import annotations

import gc
from typing import Final

CHECK_S: Final = 5.0
"""Seconds between checks whether the app is idle."""


def configure() -> None:
    """Exclude all imported objects from collections, and make automatic full collections rare."""
    gc.freeze()
    gc.set_threshold(5_000, 10, 100)


def collect_and_freeze() -> None:
    """Collect now, and exclude all remaining objects from later collections until the next call.

    A full collection over an open pipeline takes 50 ms or more, and would run every few dozen keys.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class IdleGarbageCollector:
    """Collects when the app was active and is idle now."""

    def __init__(self) -> None:
        self._collections = 0

    def collect_if_idle(self) -> None:
        """Collect if nothing was allocated since the last call; call it every :data:`CHECK_S`."""
        collections = gc.get_count()[2]
        if collections and collections == self._collections:
            collect_and_freeze()
            collections = 0
        self._collections = collections
