"""Executes a plan: the schemas are checked, the sinks written, what was kept is released."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import reduce
from typing import TYPE_CHECKING, Final

from localcdap.engine.driver.blame import culprit, stage_error, working_on
from localcdap.engine.plan.checking import check
from localcdap.engine.plan.counting import StageCounts
from localcdap.engine.plan.flow import Flow
from localcdap.engine.plan.planner import Plan, Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WRITERS: Final = 4
"""Sinks written at the same time."""


def execute(
    plan: Plan, flow: Flow, spark: SparkSession, *, tag: str, running: Callable[[], None]
) -> dict[str, StageCounts]:
    """Run a plan to its end; nothing that it writes is visible yet.

    :param tag: what the actions can be interrupted by, see ``SparkSession.interruptTag``.
    :param running: called when everything was checked, before the first record is read.
    :returns: the counts of each stage; empty when they are off.
    :raises StageError: when a stage fails; the other sinks are interrupted.
    """
    try:
        check(plan.checks)
        running()
        _write_all(plan.sinks, flow, spark, tag)
        if plan.counting is not None and len(plan.sinks) > 1:
            _settle(plan.persisted)
    finally:
        for frame in plan.persisted:
            frame.unpersist()
    return _totals(plan, flow)


def _totals(plan: Plan, flow: Flow) -> dict[str, StageCounts]:
    """What was counted by Spark, and what plugin code counted in this process."""
    if plan.counting is None:
        return {}
    totals = plan.counting.totals(flow)
    for name, counted in plan.sinks[0].context.metrics_of_run.items():
        if name in totals:
            metrics = totals[name].metrics
            for metric, number in counted.take().items():
                metrics[metric] = metrics.get(metric, 0) + number
    return totals


def _write_all(sinks: list[Sink], flow: Flow, spark: SparkSession, tag: str) -> None:
    if len(sinks) == 1:
        _write(sinks[0], flow, spark, tag)
        return
    with ThreadPoolExecutor(_WRITERS, thread_name_prefix="sink") as threads:
        writes = [threads.submit(_write, sink, flow, spark, tag) for sink in sinks]
        done, _ = wait(writes, return_when=FIRST_EXCEPTION)
        failed = next((w for w in done if w.exception() is not None), None)
        if failed is not None:
            _stop(writes, spark, tag)
    if failed is not None:
        failed.result()


def _write(sink: Sink, flow: Flow, spark: SparkSession, tag: str) -> None:
    # Tags belong to a thread.
    spark.addTag(tag)
    with working_on(sink.stage.name):
        try:
            sink.plugin.write(sink.frame, sink.context)
        except Exception as error:
            raise stage_error(error, culprit(error, flow.stages) or sink.stage.name) from error


def _settle(kept: list[DataFrame]) -> None:
    """Have Spark report what it counted in front of DataFrames that several sinks read.

    An action reports when it ends; the tasks of another one, which computed what both read, may not
    have ended then. After all of them a pass over what is kept, which computes nothing, reports all.
    """
    from pyspark.sql import functions as f

    if kept:
        rows = [frame.agg(f.count(f.lit(1)).alias("rows")) for frame in kept]
        reduce(lambda one, other: one.union(other), rows).toArrow()


def _stop(writes: list[Future[None]], spark: SparkSession, tag: str) -> None:
    for write in writes:
        write.cancel()
    spark.interruptTag(tag)
