"""A fused pass in a Python worker: batches in, the batches of all outlets out."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.plugin import Grain
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import AGGREGATOR, ERROR_TRANSFORM, SPLITTER
from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.tasks.aggregation import AggregateRunner, create_aggregate_runner
from localcdap.engine.tasks.failures import StageFailure
from localcdap.engine.tasks.pass_plan import (
    FED,
    CountKey,
    PassLayout,
    PassPlan,
    PassStage,
    TaskReport,
    encode_report,
    list_outlet_schemas,
)
from localcdap.engine.tasks.runners import (
    BatchRunner,
    Chunk,
    ErrorRunner,
    Runner,
    SplitterRunner,
    Streams,
    TransformRunner,
    conform,
    join_chunks,
    plugin_scope,
)
from localcdap.engine.tasks.task_messages import AlertWriter, TaskMessageWriter, capture_output

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Iterator["pa.RecordBatch"]


def create_fused_pass(plan: PassPlan) -> Callable[[Batches], Batches]:
    """Create the function that Spark calls once in each task of the pass."""

    def run(batches: Batches) -> Batches:
        with (
            capture_output(plan.message_directory) as writer,
            contextlib.closing(FusedTask(plan, writer)) as task,
        ):
            yield from task.process(batches)

    return run


def create_runner(stage: PassStage) -> Runner:
    """Create the runner for the stage's plugin type and grain.

    :raises StageFailure: when the plugin cannot be loaded or initialized.
    """
    if stage.plugin.type == AGGREGATOR:
        return create_aggregate_runner(stage)
    if stage.plugin.type == ERROR_TRANSFORM:
        return ErrorRunner(stage)
    if stage.plugin.type == SPLITTER:
        return SplitterRunner(stage)
    with plugin_scope(stage.name):
        grain = load_plugin(stage.plugin).grain()
    return BatchRunner(stage) if grain is Grain.BATCH else TransformRunner(stage)


class FusedTask:
    """The stages of a pass, with their plugins, for the life of one task."""

    def __init__(self, plan: PassPlan, writer: TaskMessageWriter) -> None:
        self._plan: Final = plan
        self._writer: Final = writer
        self._feed_codec: Final = RecordCodec(plan.feed_schema)
        self._layout: Final = PassLayout(list_outlet_schemas(plan), reports=bool(plan.counts))
        self._outlets: Final = {stream: i for i, stream in enumerate(plan.outlets)}
        self._readers: Final = Counter(stream for stage in plan.stages for stream in stage.inputs)
        self._fed: Final = CountKey(plan.feed.stage, FED, plan.feed.port)
        self._taken: Final[Counter[CountKey]] = Counter()
        self._spent: Final[Counter[str]] = Counter()
        """By stage, the nanoseconds that its code took since the last report."""
        self._runners: Final[list[Runner]] = []
        self._alerts: Final = AlertWriter(plan.message_directory)
        try:
            for stage in plan.stages:
                writer.stage = stage.name
                self._runners.append(create_runner(stage))
        except StageFailure:
            self.close()
            raise

    def process(self, batches: Batches) -> Batches:
        """Yield the batches of the outlets, and reports, for the batches of the feed."""
        if self._plan.grouped:
            yield from self._process_groups(batches)
        else:
            for batch in batches:
                yield from self._process_batch(batch)
        for runner in self._runners:
            self._writer.stage = runner.name
            runner.close()
        # What the plugins counted when they were closed.
        yield from self._report(0)
        if not self._plan.counts:
            self._log_altered()
        self._runners.clear()

    def close(self) -> None:
        """Close the plugins of a task that was interrupted; exceptions that they raise are ignored."""
        for runner in self._runners:
            self._writer.stage = runner.name
            with contextlib.suppress(StageFailure):
                runner.close()

    def _process_batch(self, batch: pa.RecordBatch) -> Batches:
        with plugin_scope(self._plan.feed.stage):
            named = batch.rename_columns(self._feed_codec.schema.field_names)
            batch = conform(named, self._feed_codec)
        try:
            yield from self._run_stages(self._runners, self._create_feed(batch))
        except StageFailure:
            if len(self._runners) > 1:
                # A wrong value of one stage may be noticed only by a later one: find the first.
                for _ in self._run_stages(self._runners, self._create_feed(batch), checked=True):
                    pass
            raise
        yield from self._report(batch.num_rows)

    def _process_groups(self, batches: Batches) -> Batches:
        first = self._runners[0]
        assert isinstance(first, AggregateRunner)
        self._writer.stage = first.name
        for emitted in first.aggregate(batches, self._plan.feed_schema):
            yield from self._encode_outlets(emitted)
            yield from self._run_stages(self._runners[1:], emitted)
            yield from self._report(0)
            self._writer.stage = first.name

    def _create_feed(self, batch: pa.RecordBatch) -> Streams:
        return {self._plan.feed: Chunk(self._feed_codec, batches=[batch])}

    def _run_stages(
        self, runners: list[Runner], streams: Streams, *, checked: bool = False
    ) -> Batches:
        """Send records through stages.

        Records that leave the pass are encoded before a later stage can change them.

        :param checked: whether to check the records of every stream, also of those that stay in the pass.
        """
        left = Counter(self._readers)
        for runner in runners:
            given = []
            for stream in runner.stage.inputs:
                left[stream] -= 1
                if stream in streams:
                    given.append((streams[stream], left[stream] == 0))
            if not given:
                continue
            self._writer.stage = runner.name
            chunk = join_chunks(given)
            self._taken[CountKey(runner.name, "in")] += len(chunk)
            began = time.perf_counter_ns()
            emitted = runner.run(chunk, last=len(given) > 1 or given[0][1])
            self._spent[runner.name] += time.perf_counter_ns() - began
            yield from self._encode_outlets(emitted, checked=checked)
            streams |= emitted

    def _encode_outlets(self, emitted: Streams, *, checked: bool = False) -> Batches:
        for stream, chunk in emitted.items():
            index = self._outlets.get(stream)
            if index is None and not checked:
                continue
            with plugin_scope(stream.stage):
                batches = chunk.get_batches()
            if index is not None:
                yield from (self._layout.wrap_records(index, b) for b in batches if b.num_rows)

    def _log_altered(self) -> None:
        """Log the altered values of a task that reports nothing."""
        for runner in self._runners:
            for values in runner.altered.take():
                text = AlteredValues(runner.name, *values).describe()
                self._writer.log("WARNING", text, runner.name)

    def _report(self, fed: int) -> Batches:
        """Yield a report of what was counted since the last one, unless it was nothing."""
        if not self._plan.counts:
            for runner in self._runners:
                runner.alerts.clear()
            return
        total: Counter[CountKey] = Counter({self._fed: fed})
        metrics: list[tuple[str, str, int]] = []
        for runner in self._runners:
            total.update(runner.counts)
            runner.counts.clear()
            metrics += [(runner.name, name, n) for name, n in runner.metrics.take().items()]
        self._writer.count(total + self._taken)
        self._taken.clear()
        counts = [total[key] for key in self._plan.counts]
        altered = [
            (runner.name, *each) for runner in self._runners for each in runner.altered.take()
        ]
        if any(counts) or metrics or altered:
            times = [(stage, spent // 1000) for stage, spent in self._spent.items()]
            self._spent.clear()
            report = TaskReport(counts, metrics, times, altered=altered)
            self._alerts.move(self._runners, report)
            yield self._layout.wrap_report(encode_report(report))
