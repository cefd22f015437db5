"""A fused pass in a Python worker: batches in, the batches of all outlets out."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from localcdap.api.arrow import RecordCodec
from localcdap.engine.tasks.aggregating import AggregateRunner
from localcdap.engine.tasks.chunks import Chunk, conform, joined
from localcdap.engine.tasks.failing import StageFailure
from localcdap.engine.tasks.layout import Layout
from localcdap.engine.tasks.plan import FED, CountKey, PassPlan, error_record_schema
from localcdap.engine.tasks.reports import TaskReport, encode_report
from localcdap.engine.tasks.runners import Runner, Streams, blamed, runner_for
from localcdap.engine.tasks.telling import Teller, telling

if TYPE_CHECKING:
    import pyarrow as pa

    from localcdap.api.schema import Schema

Batches = Iterator["pa.RecordBatch"]


def fused_pass(plan: PassPlan) -> Callable[[Batches], Batches]:
    """The function that Spark calls once in each task of the pass."""

    def run(batches: Batches) -> Batches:
        with telling(plan.channel) as teller, contextlib.closing(FusedTask(plan, teller)) as task:
            yield from task.process(batches)

    return run


def outlet_schemas(plan: PassPlan) -> list[Schema]:
    """The schemas of the outlets, in their order."""
    facts = {stage.name: stage.facts for stage in plan.stages}
    found = []
    for outlet in plan.outlets:
        known = facts[outlet.stage]
        if outlet.errors:
            schema = known.error_schema or next(iter(known.input_schemas.values()))
            found.append(error_record_schema(schema))
        elif outlet.port is not None:
            found.append(known.port_schemas[outlet.port])
        else:
            assert known.output_schema is not None
            found.append(known.output_schema)
    return found


class FusedTask:
    """The stages of a pass, with their plugins, for the life of one task."""

    def __init__(self, plan: PassPlan, teller: Teller) -> None:
        self._plan: Final = plan
        self._teller: Final = teller
        self._feed_codec: Final = RecordCodec(plan.feed_schema)
        self._layout: Final = Layout(outlet_schemas(plan), reported=bool(plan.counts))
        self._outlets: Final = {stream: i for i, stream in enumerate(plan.outlets)}
        self._readers: Final = Counter(stream for stage in plan.stages for stream in stage.inputs)
        self._fed: Final = CountKey(plan.feed.stage, FED, plan.feed.port)
        self._taken: Final[Counter[CountKey]] = Counter()
        self._runners: Final[list[Runner]] = []
        try:
            for stage in plan.stages:
                teller.stage = stage.name
                self._runners.append(runner_for(stage))
        except StageFailure:
            self.close()
            raise

    def process(self, batches: Batches) -> Batches:
        """What the pass gives for the batches of its feed."""
        if self._plan.grouped:
            yield from self._groups(batches)
        else:
            for batch in batches:
                yield from self._batch(batch)
        for runner in self._runners:
            self._teller.stage = runner.name
            runner.close()
        # What the plugins counted when they were closed.
        yield from self._report(0)
        self._runners.clear()

    def close(self) -> None:
        """End the plugins of a task that was broken off; what they raise is of no interest."""
        for runner in self._runners:
            self._teller.stage = runner.name
            with contextlib.suppress(StageFailure):
                runner.close()

    def _batch(self, batch: pa.RecordBatch) -> Batches:
        with blamed(self._plan.feed.stage):
            named = batch.rename_columns(self._feed_codec.schema.field_names)
            batch = conform(named, self._feed_codec)
        try:
            yield from self._through(self._runners, self._feed(batch))
        except StageFailure:
            if len(self._runners) > 1:
                # A value that one stage gets wrong may only be noticed by a later one: find the first.
                for _ in self._through(self._runners, self._feed(batch), checked=True):
                    pass
            raise
        yield from self._report(batch.num_rows)

    def _groups(self, batches: Batches) -> Batches:
        first = self._runners[0]
        assert isinstance(first, AggregateRunner)
        self._teller.stage = first.name
        for made in first.aggregated(batches, self._plan.feed_schema):
            yield from self._leaving(made)
            yield from self._through(self._runners[1:], made)
            yield from self._report(0)
            self._teller.stage = first.name

    def _feed(self, batch: pa.RecordBatch) -> Streams:
        return {self._plan.feed: Chunk(self._feed_codec, batches=[batch])}

    def _through(
        self, runners: list[Runner], streams: Streams, *, checked: bool = False
    ) -> Batches:
        """Send records through stages; what leaves the pass is encoded before a reader can change it."""
        left = Counter(self._readers)
        for runner in runners:
            given = []
            for stream in runner.stage.inputs:
                left[stream] -= 1
                if stream in streams:
                    given.append((streams[stream], left[stream] == 0))
            if not given:
                continue
            self._teller.stage = runner.name
            chunk = joined(given)
            self._taken[CountKey(runner.name, "in")] += len(chunk)
            made = runner.run(chunk, last=len(given) > 1 or given[0][1])
            yield from self._leaving(made, checked=checked)
            streams |= made

    def _leaving(self, made: Streams, *, checked: bool = False) -> Batches:
        for stream, chunk in made.items():
            index = self._outlets.get(stream)
            if index is None and not checked:
                continue
            with blamed(stream.stage):
                batches = chunk.batches()
            if index is not None:
                yield from (self._layout.data(index, b) for b in batches if b.num_rows)

    def _report(self, fed: int) -> Batches:
        """What happened since the last report, unless nothing did."""
        if not self._plan.counts:
            return
        total: Counter[CountKey] = Counter({self._fed: fed})
        metrics: list[tuple[str, str, int]] = []
        for runner in self._runners:
            total.update(runner.counts)
            runner.counts.clear()
            metrics += [(runner.name, name, n) for name, n in runner.metrics.take().items()]
        self._teller.count(total + self._taken)
        self._taken.clear()
        counts = [total[key] for key in self._plan.counts]
        if any(counts) or metrics:
            yield self._layout.report(encode_report(TaskReport(counts, metrics)))
