"""Execution of plans, and the end of Spark's operations.

Schemas are checked, sinks are written, records are counted. When a run is stopped, or a sink of it has
failed, Spark's operations for it end before anything is removed:

Spark Connect interrupts the thread of an operation at most once: ``ExecuteThreadRunner.interrupt`` (Spark 4)
does nothing for a thread that it has interrupted before. Code that runs in the thread can lose that
interrupt: ``Shell.joinThread`` of Hadoop does, while ``FileOutputCommitter.setupJob`` has ``chmod`` run
for the directories of a job. Such an operation goes on to the end of its data. Therefore nothing that a run
has written is removed, and its session is not released, before the operations of the session have ended.

Cancellation of a run by SIGTERM: Spark's work is interrupted, and nothing of the run becomes visible.

A call that waits for Spark is left to fail by the interruption instead of being abandoned: its client would
release the operation in the moment in which Spark ends it, which leaves the operation as running in
Spark's books for ever (``ExecuteThreadRunner`` completes before it posts the cancellation, and
``ExecuteEventsManager.postClosed`` refuses what is not yet cancelled; Spark 4). 4 of 5 stops of a run on a
warm server waited 45 s for such an operation.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import reduce
from itertools import chain, product
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import StageError
from localcdap.engine import spark_internals
from localcdap.engine.driver.error_search import explain_error
from localcdap.engine.local.server import EngineServer
from localcdap.engine.messages.flow import Flow
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.plan.error_attribution import (
    find_failing_stage,
    is_worker_crash,
    stage_scope,
    to_stage_error,
)
from localcdap.engine.plan.spark_types import SchemaCheck, check_schemas
from localcdap.engine.plan.streams import Plan, PlannedSink, persist_frames
from localcdap.engine.spark_internals import find_running_operations
from localcdap.processes.tree import interrupt_this_process

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_INTERRUPTED_AGAIN_S: Final = 0.5
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
            self._stopped.wait(_INTERRUPTED_AGAIN_S)
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


_WRITERS: Final = 4
"""Sinks written at the same time."""
_AGAIN_S: Final = 1.0
_CAUSE_S: Final = 1.0
"""Seconds after the crash of a Python worker in which another sink may fail with the cause."""


def prepare_plans(plans: Sequence[Plan], checks: Sequence[SchemaCheck]) -> None:
    """Check schemas and, at the same time, have Spark plan what is computed once; nothing is read yet.

    :param plans: those that are going to be executed.
    :raises StageError: when a schema differs.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="persist") as thread:
        persisting = thread.submit(persist_frames, plans)
        check_schemas(checks)
    persisting.result()


def execute_plan(
    plan: Plan, flow: Flow, spark: SparkSession, *, tag: str, block: Callable[[], None]
) -> dict[str, RecordCounts]:
    """Run a prepared plan to its end; nothing that it writes is visible yet. Spark keeps what it persists.

    :param tag: by which the actions can be interrupted, see ``SparkSession.interruptTag``.
    :param block: makes what the sinks still write fail, see :func:`end_operations`.
    :returns: the counts of each stage; empty when records are not counted.
    :raises StageError: when a stage fails; the other sinks are interrupted.
    """
    if plan.expectations is not None:
        plan.expectations.compute_uniqueness()
    began = time.monotonic()
    try:
        _write_sinks(plan.sinks, flow, spark, tag, block)
    except StageError as error:
        took_s = time.monotonic() - began
        raise explain_error(error, plan, flow, spark, took_s) from error.__cause__
    altered = plan.sinks[0].context.altered_in_run
    observes = any((plan.counter, plan.expectations, altered.is_observed))
    if observes and len(plan.sinks) > 1:
        _collect_observations(plan.persisted)
    return _get_totals(plan, flow)


def _get_totals(plan: Plan, flow: Flow) -> dict[str, RecordCounts]:
    """Return what Spark counted, and what plugin code counted in this process."""
    if plan.counter is None:
        return {}
    rules = plan.expectations
    totals = plan.counter.get_totals(flow, rules.count_diverted() if rules is not None else {})
    for name, counted in plan.sinks[0].context.metrics_of_run.items():
        if name in totals:
            metrics = totals[name].metrics
            for metric, number in counted.take().items():
                metrics[metric] = metrics.get(metric, 0) + number
    return totals


def _write_sinks(
    sinks: list[PlannedSink], flow: Flow, spark: SparkSession, tag: str, block: Callable[[], None]
) -> None:
    if len(sinks) == 1:
        _write_sink(sinks[0], flow, spark, tag)
        return
    if any(sink.stage.type == "sparksink" for sink in sinks):
        # The modules of pyspark.ml import each other: of two threads that import them first, one can find a
        # module half done, and fails with an ImportError.
        importlib.import_module("pyspark.ml")
    threads = ThreadPoolExecutor(_WRITERS, thread_name_prefix="sink")
    writes: list[Future[None]] = []
    try:
        groups = _group_by_table(sinks)
        writes += [threads.submit(_write_group, group, flow, spark, tag) for group in groups]
        _raise_first(writes)
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        _end_writes(writes, lambda: end_operations(spark, tag, block, None))
        raise
    threads.shutdown()


def _group_by_table(sinks: Sequence[PlannedSink]) -> list[list[PlannedSink]]:
    """Return together the sinks that write one table, which the first of them may create."""
    groups: list[list[PlannedSink]] = []
    for sink in sinks:
        shared = [g for g in groups if any(_write_one_table(sink, other) for other in g)]
        rest = [group for group in groups if group not in shared]
        groups = [*rest, [*chain.from_iterable(shared), sink]]
    return groups


def _write_one_table(first: PlannedSink, second: PlannedSink) -> bool:
    """Return whether two sinks may write the same table; ``dataset.*`` stands for all of a dataset."""
    pairs = product(first.stage.tables, second.stage.tables)
    return any(a == b or _is_among(a, b) or _is_among(b, a) for a, b in pairs)


def _is_among(table: str, tables: str) -> bool:
    return tables.endswith(".*") and table.startswith(tables.removesuffix("*"))


def _write_group(group: Sequence[PlannedSink], flow: Flow, spark: SparkSession, tag: str) -> None:
    for sink in group:
        _write_sink(sink, flow, spark, tag)


def _raise_first(writes: list[Future[None]]) -> None:
    """Wait for the writes, or for the first error, and raise it.

    A Python worker that ends for one sink may serve another one, too. Its crash says less than the error of
    that sink, which comes at about the same time.
    """
    done, active = wait(writes, return_when=FIRST_EXCEPTION)
    if any(map(is_worker_crash, _list_errors(done))):
        done |= wait(active, _CAUSE_S, return_when=FIRST_EXCEPTION)[0]
    for error in sorted(_list_errors(done), key=is_worker_crash):
        raise error


def _list_errors(writes: Iterable[Future[None]]) -> list[BaseException]:
    return [error for write in writes if (error := write.exception()) is not None]


def _end_writes(writes: list[Future[None]], end: Callable[[], bool]) -> None:
    """Wait until the threads of the sinks have ended, unless an operation of theirs does not end.

    :param end: ends the operations that have begun; a thread may begin another one after that.
    """
    while active := [write for write in writes if not write.done()]:
        if not end():
            break
        wait(active, _AGAIN_S)


def _write_sink(sink: PlannedSink, flow: Flow, spark: SparkSession, tag: str) -> None:
    # Tags and the active session belong to a thread.
    spark.addTag(tag)
    spark_internals.activate_session(spark)
    with stage_scope(sink.stage.name):
        try:
            sink.plugin.write(sink.frame, sink.context)
        except Exception as error:
            stage = find_failing_stage(error, flow.stages) or sink.stage.name
            plugin = sink.plugin if stage == sink.stage.name else None
            converted = to_stage_error(error, stage, plugin=plugin)
            if converted is error:  # raised from itself, it would lose its cause
                raise
            raise converted from error


def _collect_observations(persisted: list[DataFrame]) -> None:
    """Have Spark report the counts of what comes before DataFrames that several sinks read.

    An action reports when it ends; tasks of another action, which computed what both read, may still be
    running then. After all actions a pass over the persisted rows, which computes nothing, reports all
    counts.
    """
    from pyspark.sql import functions as f

    if persisted:
        rows = [frame.agg(f.count(f.lit(1)).alias("rows")) for frame in persisted]
        counted = reduce(lambda one, other: one.union(other), rows)
        # Writing, unlike fetching, needs no round trip for the schema.
        counted.write.format("noop").mode("overwrite").save()
