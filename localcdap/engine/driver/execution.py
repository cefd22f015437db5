"""Execution of plans: schemas are checked, sinks are written, records are counted."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import reduce
from itertools import chain, product
from typing import TYPE_CHECKING, Final

from localcdap.engine import spark_internals
from localcdap.engine.driver.operations import end_operations
from localcdap.engine.messages.flow import Flow
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.plan.error_attribution import (
    find_failing_stage,
    is_worker_crash,
    stage_scope,
    to_stage_error,
)
from localcdap.engine.plan.schema_checks import SchemaCheck, check_schemas
from localcdap.engine.plan.streams import Plan, PlannedSink, persist_frames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    _write_sinks(plan.sinks, flow, spark, tag, block)
    altered = plan.sinks[0].context.altered_in_run
    observes = any((plan.counter, plan.expectations, altered.is_observed))
    if observes and len(plan.sinks) > 1:
        _collect_observations(plan.persisted)
    return _get_totals(plan, flow)


def _get_totals(plan: Plan, flow: Flow) -> dict[str, RecordCounts]:
    """Return what Spark counted, and what plugin code counted in this process."""
    if plan.counter is None:
        return {}
    totals = plan.counter.get_totals(flow)
    if plan.expectations is not None:
        for name, removed in plan.expectations.count_removed().items():
            totals[name].error += removed
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
            raise to_stage_error(error, stage) from error


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
