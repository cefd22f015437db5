"""The end of Spark's operations for a run that is stopped, or of which a sink has failed.

Spark Connect interrupts the thread of an operation at most once: ``ExecuteThreadRunner.interrupt`` (Spark 4)
does nothing for a thread that it has interrupted before. Code that runs in the thread can lose that
interrupt: ``Shell.joinThread`` of Hadoop does, while ``FileOutputCommitter.setupJob`` has ``chmod`` run for
the directories of a job. Such an operation goes on to the end of its data. Therefore nothing that a run has
written is removed, and its session is not released, before the operations of the session have ended.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.engine.driver.cancellation import BLOCK_S
from localcdap.engine.local.server import EngineServer
from localcdap.engine.spark_internals import find_running_operations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG: Final = logging.getLogger("localcdap.engine")
_PAUSE_S: Final = 0.1
_LIMIT_S: Final = 10.0
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
    limit = _LIMIT_S if leases is None else _STOP_S
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
