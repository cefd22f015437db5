"""Runners: each runs one stage of a pass on the records of one batch."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, cast

from localcdap.api.arrow import RecordCodec
from localcdap.api.plugin import has_override
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import Stream, create_plugin
from localcdap.engine.tasks.chunks import (
    Chunk,
    FailedRecord,
    PortsEmitter,
    RecordEmitter,
    SideOutputs,
    conform,
)
from localcdap.engine.tasks.context import AlteredCounts, CountingMetrics, WorkerStageContext
from localcdap.engine.tasks.failures import RAISED, to_failure
from localcdap.engine.tasks.pass_plan import CountKey, PassStage, StageAlert, error_record_schema

Streams = dict[Stream, Chunk]


@contextlib.contextmanager
def plugin_scope(stage: str) -> Iterator[None]:
    """Convert whatever is raised in the block into a failure of the stage."""
    try:
        yield
    except RAISED as error:
        raise to_failure(stage, error) from None


class Runner(ABC):
    """A stage with its plugin, for the life of one task."""

    def __init__(self, stage: PassStage) -> None:
        self.stage: Final = stage
        self.name: Final = stage.name
        self.output: Final = Stream(self.name)
        self.errors: Final = Stream(self.name, errors=True)
        self.counts: Counter[CountKey] = Counter()
        self.alerts: Final[list[StageAlert]] = []
        """The alerts that the plugin has emitted; who passes them on removes them."""
        self.metrics: Final = CountingMetrics()
        self.altered: Final = AlteredCounts()
        data = stage.data
        with plugin_scope(self.name):
            plugin: Any = create_plugin(load_plugin(stage.plugin), self.name, stage.properties)
            rejected = data.error_schema or next(iter(data.input_schemas.values()), None)
            self._error_codec = RecordCodec(
                error_record_schema(rejected or Schema.record("empty", []))
            )
            context = WorkerStageContext(data, self.metrics, self.altered)
            plugin.initialize(context)
            context.start_records()
        self.plugin: Final = plugin

    def close(self) -> None:
        """Close the plugin.

        :raises StageFailure: when the plugin fails.
        """
        with plugin_scope(self.name):
            self.plugin.destroy()

    @abstractmethod
    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """Run the stage on some records and return what it emits.

        :param last: whether nobody else reads ``chunk``, so that its records may be changed.
        :raises StageFailure: when the plugin fails.
        """

    def count(self, what: str, number: int, port: str | None = None) -> None:
        """Add to a count of this stage."""
        self.counts[CountKey(self.name, what, port)] += number

    def collect_emitted(self, emit: RecordEmitter, codec: RecordCodec) -> Streams:
        """Return the streams of what was emitted, and count it."""
        self.count("out", len(emit))
        return {self.output: Chunk(codec, emit), **self.collect_side_outputs(emit)}

    def collect_side_outputs(self, emit: SideOutputs) -> Streams:
        """Return the stream of error records, if there are any; count them and the alerts."""
        self.count("error", len(emit.errors))
        self.count("alert", len(emit.alerts))
        self.alerts.extend(StageAlert(self.name, payload) for payload in emit.alerts)
        if not emit.errors:
            return {}
        return {self.errors: Chunk(self._error_codec, [_to_record(e) for e in emit.errors])}


def _to_record(failed: FailedRecord) -> dict[str, Any]:
    return {
        "record": failed.record,
        "code": failed.code,
        "message": failed.message,
        "stage": failed.stage,
    }


class TransformRunner(Runner):
    """A transform of record grain."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        self._codec: Final = RecordCodec(cast(Schema, stage.data.output_schema))
        self._takes_many: Final = has_override(type(self.plugin), "transform_records")

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """See :meth:`Runner.run`."""
        if self._takes_many:
            return self._run_together(list(chunk.get_records() if last else chunk.copy_records()))
        emit = RecordEmitter(self.name, self._codec.schema)
        transform = self.plugin.transform
        record: Any = None
        try:
            for record in chunk.get_records() if last else chunk.copy_records():
                transform(record, emit)
        except RAISED as error:
            raise to_failure(self.name, error, record) from None
        return self.collect_emitted(emit, self._codec)

    def _run_together(self, records: list[Any]) -> Streams:
        emit = RecordEmitter(self.name, self._codec.schema)
        try:
            self.plugin.transform_records(records, emit)
        except RAISED as error:
            raise to_failure(self.name, error, self._find_failing_record(records)) from None
        return self.collect_emitted(emit, self._codec)

    def _find_failing_record(self, records: list[Any]) -> Any:
        """Return the first record for which the plugin fails when it gets it alone; None when there is
        none.
        """
        for record in records:
            try:
                self.plugin.transform(record, RecordEmitter(self.name, self._codec.schema))
            except RAISED:
                return record
        return None


class ErrorRunner(TransformRunner):
    """An error transform."""

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """See :meth:`Runner.run`."""
        emit = RecordEmitter(self.name, self._codec.schema)
        failed = None
        try:
            for row in chunk.get_records() if last else chunk.copy_records():
                failed = FailedRecord(row["record"], row["code"], row["message"], row["stage"])
                self.plugin.transform(failed, emit)
        except RAISED as error:
            raise to_failure(self.name, error, failed and failed.record) from None
        return self.collect_emitted(emit, self._codec)


class BatchRunner(Runner):
    """A transform of batch grain."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        self._codec: Final = RecordCodec(cast(Schema, stage.data.output_schema))

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """See :meth:`Runner.run`."""
        with plugin_scope(self.name):
            batches = [
                conform(batch, self._codec)
                for given in chunk.get_batches()
                for batch in self.plugin.transform_batch(given)
            ]
        result = Chunk(self._codec, batches=batches)
        self.count("out", len(result))
        return {self.output: result}


class SplitterRunner(Runner):
    """A splitter of record grain."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        ports = stage.data.port_schemas
        self._codecs: Final = {port: RecordCodec(schema) for port, schema in ports.items()}

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """See :meth:`Runner.run`."""
        emit = PortsEmitter(self.name, self.stage.data.port_schemas)
        record: Any = None
        try:
            for record in chunk.get_records() if last else chunk.copy_records():
                self.plugin.transform(record, emit)
        except RAISED as error:
            raise to_failure(self.name, error, record) from None
        for port, records in emit.ports.items():
            self.count("out", len(records), port)
        by_port = {
            Stream(self.name, port): Chunk(self._codecs[port], records)
            for port, records in emit.ports.items()
        }
        return {**by_port, **self.collect_side_outputs(emit)}
