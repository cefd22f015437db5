"""The end of Spark's operations for a run that is stopped, or of which a sink has failed.

Spark Connect interrupts the thread of an operation at most once: ``ExecuteThreadRunner.interrupt`` (Spark 4)
does nothing for a thread that it has interrupted before. Code that runs in the thread can lose that
interrupt: ``Shell.joinThread`` of Hadoop does, while ``FileOutputCommitter.setupJob`` has ``chmod`` run for
the directories of a job. Such an operation goes on to the end of its data. Therefore nothing that a run has
written is removed, and its session is not released, before the operations of the session have ended.

Cancellation of a run by SIGTERM: Spark's work is interrupted, and nothing of the run becomes visible.

A call that waits for Spark is left to fail by the interruption instead of being abandoned: its client would
release the operation in the moment in which Spark ends it, which leaves the operation as running in
Spark's books for ever (``ExecuteThreadRunner`` completes before it posts the cancellation, and
``ExecuteEventsManager.postClosed`` refuses what is not yet cancelled; Spark 4). 4 of 5 stops of a run on a
warm server waited 45 s for such an operation.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from localcdap.engine.local.server import EngineServer
from localcdap.engine.spark_internals import find_running_operations
from localcdap.processes.tree import interrupt_this_process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_AGAIN_S: Final = 0.5
BLOCK_S: Final = 2.0
"""After this time without an end, what the operations write is made to fail. Most end within 0.2 s; those
of a server that has just started take some seconds, and being blocked does not harm them."""
_LIMIT_S: Final = 10.0
"""After this time the call that waits for Spark is abandoned."""


class Killed(BaseException):
    """The run was asked to stop.

    It is not an ``Exception``, so that no plugin's ``except Exception`` catches it.
    """


class Cancellation:
    """Ends what the main thread does when the process is asked to stop.

    A call that waits for Spark fails, since its operation is interrupted; the caller then asks
    :meth:`take_request` why. Anything else is left by :class:`Killed`. A second signal does so at once.

    :param tag: of the run's Spark actions.
    :param block: makes what Spark still writes for the run fail; called after 2 s, at most once.
    """

    def __init__(self, tag: str, block: Callable[[], None]) -> None:
        self._tag: Final = tag
        self._block: Final = block
        self._armed = True
        self._is_requested = False
        self._stopped = threading.Event()
        self.spark: SparkSession | None = None
        """To be set as soon as there is a session that could execute actions."""

    def install(self) -> None:
        """Install the signal handlers. Call it in the main thread."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)

    def disarm(self) -> None:
        """Ignore signals from now on: the run is about to commit.

        :raises Killed: when the process was asked to stop before.
        """
        self._armed = False
        if self.take_request():
            raise Killed

    def arm(self) -> None:
        """React to signals again."""
        self._armed = True

    def take_request(self) -> bool:
        """Whether the process was asked to stop and nothing was raised for it; signals are ignored then."""
        requested, self._is_requested = self._is_requested, False
        if requested:
            self._armed = False
        return requested

    def ignore(self) -> None:
        """Ignore signals from now on: the run has failed or is killed."""
        self._armed = self._is_requested = False

    def finish(self) -> None:
        """Ignore signals and stop interrupting: the run executes no more actions."""
        self.ignore()
        self._stopped.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self._armed:
            return
        if self._is_requested:  # the second signal, of the user or of the thread
            self.ignore()
            raise Killed
        self._is_requested = True
        # In another thread: the handler may have interrupted a call of the same client.
        threading.Thread(target=self._interrupt, name="interrupt", daemon=True).start()

    def _interrupt(self) -> None:
        """Interrupt repeatedly: a thread may have started an action just after the first interruption."""
        started = time.monotonic()
        patience = _LIMIT_S if self._interrupt_once() else 0.0
        is_blocked = False
        while not self._stopped.is_set():
            waited = time.monotonic() - started
            if waited >= patience and self._is_requested:
                interrupt_this_process()
            if waited >= BLOCK_S and not is_blocked:
                is_blocked = True
                self._block()
            self._stopped.wait(_AGAIN_S)
            self._interrupt_once()

    def _interrupt_once(self) -> bool:
        """Whether Spark interrupts an operation now."""
        with contextlib.suppress(Exception):
            return self.spark is not None and bool(self.spark.interruptTag(self._tag))
        return False


_LOG: Final = logging.getLogger("localcdap.engine")
_PAUSE_S: Final = 0.1
_CLUSTER_LIMIT_S: Final = 10.0
"""For a cluster, which cannot be stopped; counted from the first interruption."""
_ATTEMPTS: Final = 5
"""Interruptions before a server is given up: each takes seconds on a busy machine."""
_STOP_S: Final = 30.0
"""For the local server, which is stopped then if no other process uses it."""


def end_operations(
    spark: SparkSession,
    tag: str | None,
    block: Callable[[], None],
    leases: Path | None,
    *,
    may_begin: bool = True,
) -> bool:
    """Interrupt the operations of a session, and return when they have ended.

    The tags of this thread are cleared: it must not interrupt operations of its own.

    :param tag: of the operations; None for all of the session.
    :param block: makes the operations fail when they next create a file; called after 2 s, at most once.
    :param leases: of the local server; None for a cluster, which is given up after 10 s.
    :param may_begin: whether the server may not have begun an operation that a client has sent.
    :returns: whether no operation runs any more; False when the server goes on with them, because another
        process uses it.
    """
    spark.clearTags()
    limit = _CLUSTER_LIMIT_S if leases is None else _STOP_S
    # A thread of its own, since any call of a busy server may take longer than that.
    blocker = threading.Timer(BLOCK_S, block)
    blocker.start()
    try:
        if may_begin:
            _wait_for_sent_operations(spark)
        # From here: the call before takes many seconds when the server or the machine is busy.
        started = time.monotonic()
        for attempt in itertools.count(1):
            spark.interruptAll() if tag is None else spark.interruptTag(tag)
            running = find_running_operations(spark)
            waited = time.monotonic() - started
            if not running and (running is not None or waited > BLOCK_S):
                return True
            if waited > limit and attempt >= _ATTEMPTS:
                break
            time.sleep(_PAUSE_S)
    except Exception as error:  # the server is gone, and its operations with it
        _LOG.debug("Spark's operations cannot be asked for: %s", error)
        return True
    finally:
        blocker.cancel()
        blocker.join()
    return leases is not None and EngineServer(leases.parent).stop_if_unused()


def _wait_for_sent_operations(spark: SparkSession) -> None:
    """Return when the server knows the operations that clients of the session have sent before.

    A server that has just started takes a second to register its first operation, which would not be
    interrupted. It begins requests in their order; this one needs no job, which could wait for others.
    """
    spark.sql("SELECT 1")
