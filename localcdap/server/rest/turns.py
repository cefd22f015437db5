"""Turns of requests: few answers are made at a time, so that each of them is soon ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

_AT_A_TIME: Final = 2
"""The answers that are made at a time: while one waits for the database, another one runs Python. More
of them pass Python's lock to each other again and again, and all are late instead of the last."""
_LONGEST_S: Final = 0.02
"""Seconds after which the next request has its turn, although the answer before is not ready."""


class Turns:
    """Gives each request its turn, in the order in which they came.

    An answer that takes long, such as one that waits for a run to end, delays others by 20 ms at most.
    """

    def __init__(self, at_a_time: int = _AT_A_TIME, longest_s: float = _LONGEST_S) -> None:
        self._free: Final = asyncio.Semaphore(at_a_time)
        self._longest_s: Final = longest_s

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it for the time of the block or until it has lasted long enough."""
        await self._free.acquire()
        turn = _Turn(self._free)
        timer = asyncio.get_running_loop().call_later(self._longest_s, turn.end)
        try:
            yield
        finally:
            timer.cancel()
            turn.end()


class _Turn:
    """A turn that ends once."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free: Final = free
        self._has_ended = False

    def end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._free.release()
