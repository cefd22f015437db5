"""SIGTERM stops a run: what Spark is doing for it is interrupted, and nothing of it becomes visible."""

from __future__ import annotations

import contextlib
import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AGAIN_S: Final = 0.5


class Killed(BaseException):
    """The run was told to stop. No plugin's ``except Exception`` catches it."""


class Cancellation:
    """Raises :class:`Killed` in the main thread when the process is told to stop, at most once."""

    def __init__(self, tag: str) -> None:
        self._tag: Final = tag
        self._armed = True
        self._stopped = threading.Event()
        self.spark: SparkSession | None = None
        """Set it as soon as there is a session that could be at work."""

    def install(self) -> None:
        """From now on signals are heard. Call it in the main thread."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)

    def disarm(self) -> None:
        """From now on signals change nothing: the run is about to be decided."""
        self._armed = False

    def arm(self) -> None:
        """From now on signals are heard again."""
        self._armed = True

    def finish(self) -> None:
        """Nothing is at work for the run any more."""
        self._armed = False
        self._stopped.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            # Not here: this may stand in the middle of a call of the same client.
            threading.Thread(target=self._interrupt, daemon=True).start()
            raise Killed

    def _interrupt(self) -> None:
        """Interrupt until all has ended: a thread may have begun something just after the first time."""
        while self.spark is not None and not self._stopped.is_set():
            with contextlib.suppress(Exception):
                self.spark.interruptTag(self._tag)
            self._stopped.wait(_AGAIN_S)
