"""The garbage collector kept out of the way of keys."""

from __future__ import annotations

import gc
from typing import Final

TIDY_S: Final = 5.0
"""Seconds between looks at whether there is time to tidy up."""


def configure() -> None:
    """What was imported stays. Full rounds come when there is time, or very much to clear up."""
    gc.freeze()
    gc.set_threshold(5_000, 10, 100)


def collect_and_freeze() -> None:
    """Clear up now, and leave what is there out of later rounds, until this is called again.

    A full round over an open pipeline takes 50 ms and more, and would come every few dozen keys.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class IdleGarbageCollector:
    """Clears up when there was something to do, and then for a while was not."""

    def __init__(self) -> None:
        self._rounds = 0

    def collect_if_idle(self) -> None:
        """To be called every :data:`TIDY_S`."""
        rounds = gc.get_count()[2]
        if rounds and rounds == self._rounds:
            collect_and_freeze()
            rounds = 0
        self._rounds = rounds
