"""The pass before the shuffle of an aggregator of record grain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from localcdap.api.plugin import BatchReducibleAggregator, Plugin
from localcdap.api.schema import Field, Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.tasks.aggregation import GROUP, AggregateRunner
from localcdap.engine.tasks.pass_plan import PassLayout, PassStage, TaskReport, encode_report
from localcdap.engine.tasks.reduction import VALUE, ReducingRunner
from localcdap.engine.tasks.runners import plugin_scope
from localcdap.engine.tasks.task_messages import capture_output

if TYPE_CHECKING:
    import pyarrow as pa


def is_reducible(plugin: type[Plugin]) -> bool:
    """Whether an aggregator reduces its groups to values before the shuffle."""
    return issubclass(plugin, BatchReducibleAggregator)


def build_grouped_schema(plugin: type[Plugin], feed: Schema) -> Schema:
    """Return the schema between the two passes of an aggregator.

    :param feed: the schema of its records.
    """
    members = [Field(VALUE, Schema.BYTES)] if is_reducible(plugin) else list(feed)
    return Schema.record("grouped", [Field(GROUP, Schema.BYTES), *members])


def create_aggregate_runner(stage: PassStage) -> AggregateRunner:
    """Create the runner of an aggregator of record grain.

    :raises StageFailure: when the plugin cannot be loaded or initialized.
    """
    with plugin_scope(stage.name):
        plugin = load_plugin(stage.plugin)
    return ReducingRunner(stage) if is_reducible(plugin) else AggregateRunner(stage)


def create_grouping_pass(
    stage: PassStage, feed: Schema, message_directory: str | None, *, reports: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Create the function that yields each record, or the value of several, once for each group.

    :param message_directory: see :attr:`PassPlan.message_directory`.
    :param reports: whether what the plugin counts is reported, see :class:`PassLayout`.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with capture_output(message_directory, stage.name):
            runner = create_aggregate_runner(stage)
            layout = PassLayout([build_grouped_schema(type(runner.plugin), feed)], reports=reports)
            for batch in runner.group(batches, feed):
                yield layout.wrap_records(0, batch)
            runner.close()
            counted = [(stage.name, name, n) for name, n in runner.metrics.take().items()]
            altered = [(stage.name, *each) for each in runner.altered.take()]
            if reports and (counted or altered):
                report = TaskReport([], counted, altered=altered)
                yield layout.wrap_report(encode_report(report))

    return run
