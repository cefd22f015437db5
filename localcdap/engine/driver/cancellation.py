"""Cancellation of a run by SIGTERM: Spark's work is interrupted, and nothing of the run becomes visible."""

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
    """The run was asked to stop.

    It is not an ``Exception``, so that no plugin's ``except Exception`` catches it.
    """


class Cancellation:
    """Raises :class:`Killed` in the main thread when the process is asked to stop, at most once.

    :param tag: of the run's Spark actions.
    """

    def __init__(self, tag: str) -> None:
        self._tag: Final = tag
        self._armed = True
        self._stopped = threading.Event()
        self.spark: SparkSession | None = None
        """To be set as soon as there is a session that could execute actions."""

    def install(self) -> None:
        """Install the signal handlers. Call it in the main thread."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)

    def disarm(self) -> None:
        """Ignore signals from now on: the run is about to commit."""
        self._armed = False

    def arm(self) -> None:
        """React to signals again."""
        self._armed = True

    def finish(self) -> None:
        """Ignore signals and stop interrupting: the run executes no more actions."""
        self._armed = False
        self._stopped.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            # In another thread: the handler may have interrupted a call of the same client.
            threading.Thread(target=self._interrupt, daemon=True).start()
            raise Killed

    def _interrupt(self) -> None:
        """Interrupt repeatedly: a thread may have started an action just after the first interruption."""
        while self.spark is not None and not self._stopped.is_set():
            with contextlib.suppress(Exception):
                self.spark.interruptTag(self._tag)
            self._stopped.wait(_AGAIN_S)
