"""A watch on directives: one that hangs at a row is ended before its process would be."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

LIMIT_S: Final = 4.0
"""Seconds that a few rows may take. Processes of plugins are ended after ten, see ``plugin.time_limit_s``."""
_TICK_S: Final = 0.5
_BUSY: Final = 0.5
"""The share of that time in which the process must have run; else it may take twice as long."""


class StuckError(BaseException):
    """A directive has not come further for long. No directive may take it for a failure of its row."""


@contextlib.contextmanager
def watch(get_place: Callable[[], object], limit_s: float = LIMIT_S) -> Iterator[None]:
    """Raise :class:`StuckError` in the code below when the place stays the same for so long.

    On a machine that has other work, twice as long.

    Only the main thread can be watched; elsewhere, and in code that returns to no line of Python, nothing
    happens.

    :param get_place: returns where the work is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last, since, used = get_place(), time.monotonic(), time.process_time()

    def look(_signal: int, _frame: FrameType | None) -> None:
        nonlocal last, since, used
        place, now = get_place(), time.monotonic()
        if place != last:
            last, since, used = place, now, time.process_time()
            return
        is_busy = time.process_time() - used >= _BUSY * limit_s
        if now - since >= limit_s * (1 if is_busy else 2):
            raise StuckError

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
