"""The queue of runs: the limit of run processes, and the runs that wait for one, first in, first out.

CDAP limits runs too (``app.max.concurrent.runs``), but rejects a start beyond the limit with the code 429
(6.x ``ProgramLifecycleService.runInternal``). Here such a run is PENDING until it is its turn.
"""

from __future__ import annotations

import bisect
import logging
import threading
from collections.abc import Callable
from typing import Final

from localcdap.api.errors import LocalcdapError

_LOG: Final = logging.getLogger(__name__)
_PAUSE_S: Final = 1.0
"""Seconds until a run that could not be started, since a disk was full for instance, is tried again."""


class RunQueue:
    """The runs that have a process, and those that wait. Threads may share it.

    The instance's database has the queue too, for the next host; this is its state in the host.

    :param limit: the most runs that have a process.
    :param start: starts a run whose turn it is; called in a thread of the queue.
    :param announce: called when places in the queue have changed.
    """

    def __init__(
        self, limit: int, start: Callable[[str], None], announce: Callable[[], None]
    ) -> None:
        self._limit: Final = limit
        self._start = start
        self._announce = announce
        self._changed = threading.Condition()
        self._working: Final[set[str]] = set()
        """The runs that have a process, or get one now."""
        self._waiting: Final[list[tuple[int, str]]] = []
        """Place and id of each run that waits, in their order."""
        self._closed = False
        self._thread: threading.Thread | None = None

    def enter(self, run: str) -> bool:
        """Let a new run have a process at once; return False when it has to wait."""
        with self._changed:
            if self._closed or self._waiting or len(self._working) >= self._limit:
                return False
            self._working.add(run)
        return True

    def note_process(self, run: str) -> None:
        """Note that a run has a process, which an earlier host has started."""
        with self._changed:
            self._working.add(run)

    def leave(self, run: str) -> None:
        """Note that the process of a run has ended; the next run gets one."""
        with self._changed:
            self._working.discard(run)
            self._changed.notify_all()

    def wait_turn(self, run: str, place: int) -> None:
        """Let a run wait until those with lower places have a process."""
        with self._changed:
            bisect.insort(self._waiting, (place, run))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="run-queue", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def remove(self, run: str) -> None:
        """Let a run not wait any more, if it does."""
        with self._changed:
            self._waiting[:] = [each for each in self._waiting if each[1] != run]
        self._announce()

    def get_position(self, run: str) -> int:
        """Return the position of a run, from 1; 0 when it does not wait."""
        with self._changed:
            waiting = (each for _, each in self._waiting)
            return next((n for n, each in enumerate(waiting, start=1) if each == run), 0)

    def list_positions(self) -> dict[str, int]:
        """Return the position of each run that waits, from 1."""
        with self._changed:
            return {run: position for position, (_, run) in enumerate(self._waiting, start=1)}

    def close(self) -> None:
        """Start no more runs; the next host does."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._has_turn)
                if self._closed:
                    return
                place, run = self._waiting.pop(0)
                self._working.add(run)
            self._announce()
            try:
                self._start(run)
            except (LocalcdapError, OSError) as error:
                _LOG.warning("run %s waits again: %s", run, error)
                self.wait_turn(run, place)
                self.leave(run)
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, _PAUSE_S)

    def _has_turn(self) -> bool:
        return self._closed or (bool(self._waiting) and len(self._working) < self._limit)
