"""Runs one stage of a pass on the records of one batch."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, cast

from localcdap.api.arrow import RecordCodec
from localcdap.api.plugin import Grain, has_override
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.plan.flow import (
    AGGREGATOR,
    ERROR_TRANSFORM,
    SPLITTER,
    Stream,
    instantiate,
)
from localcdap.engine.tasks.chunks import Chunk, FailedRecord, conform
from localcdap.engine.tasks.context import CountingMetrics, FactsContext
from localcdap.engine.tasks.emitters import PortsEmitter, RecordEmitter
from localcdap.engine.tasks.failing import RAISED, failure_of
from localcdap.engine.tasks.plan import CountKey, PassStage, error_record_schema

Streams = dict[Stream, Chunk]


@contextlib.contextmanager
def blamed(stage: str) -> Iterator[None]:
    """Turns whatever is raised inside into a failure of the stage."""
    try:
        yield
    except RAISED as error:
        raise failure_of(stage, error) from None


class Runner(ABC):
    """A stage with its plugin, for the life of one task."""

    def __init__(self, stage: PassStage) -> None:
        self.stage: Final = stage
        self.name: Final = stage.name
        self.output: Final = Stream(self.name)
        self.errors: Final = Stream(self.name, errors=True)
        self.counts: Counter[CountKey] = Counter()
        self.metrics: Final = CountingMetrics()
        facts = stage.facts
        with blamed(self.name):
            plugin: Any = instantiate(load_plugin(stage.plugin), self.name, stage.properties)
            self._error_codec = _codec(_error_schema(facts.error_schema, facts.input_schemas))
            plugin.initialize(FactsContext(facts, self.metrics))
        self.plugin: Final = plugin

    def close(self) -> None:
        with blamed(self.name):
            self.plugin.destroy()

    @abstractmethod
    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        """What the stage makes of some records.

        :param last: whether nobody else reads ``chunk``, so that its records may be changed.
        """

    def count(self, what: str, number: int, port: str | None = None) -> None:
        self.counts[CountKey(self.name, what, port)] += number

    def emitted(self, emit: RecordEmitter, codec: RecordCodec) -> Streams:
        """The streams of what was emitted, counted."""
        self.count("out", len(emit))
        self.count("error", len(emit.errors))
        self.count("alert", emit.alerts)
        streams = {self.output: Chunk(codec, emit)}
        if emit.errors:
            streams[self.errors] = Chunk(self._error_codec, [_as_record(e) for e in emit.errors])
        return streams


def _error_schema(declared: Schema | None, inputs: dict[str, Schema]) -> Schema | None:
    return declared or next(iter(inputs.values()), None)


def _codec(schema: Schema | None) -> RecordCodec:
    return RecordCodec(error_record_schema(schema or Schema.record("empty", [])))


def _as_record(failed: FailedRecord) -> dict[str, Any]:
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
        self._codec: Final = RecordCodec(cast(Schema, stage.facts.output_schema))

        self._takes_many: Final = has_override(type(self.plugin), "transform_records")

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        if self._takes_many:
            return self._run_together(list(chunk.records() if last else chunk.copies()))
        emit = RecordEmitter(self.name)
        transform = self.plugin.transform
        record: Any = None
        try:
            for record in chunk.records() if last else chunk.copies():
                transform(record, emit)
        except RAISED as error:
            raise failure_of(self.name, error, record) from None
        return self.emitted(emit, self._codec)

    def _run_together(self, records: list[Any]) -> Streams:
        emit = RecordEmitter(self.name)
        try:
            self.plugin.transform_records(records, emit)
        except RAISED as error:
            raise failure_of(self.name, error, self._refused(records)) from None
        return self.emitted(emit, self._codec)

    def _refused(self, records: list[Any]) -> Any:
        """The first record that the plugin fails for when it gets it alone."""
        for record in records:
            try:
                self.plugin.transform(record, RecordEmitter(self.name))
            except RAISED:
                return record
        return None


class ErrorRunner(TransformRunner):
    """An error transform."""

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        emit = RecordEmitter(self.name)
        failed = None
        try:
            for row in chunk.records() if last else chunk.copies():
                failed = FailedRecord(row["record"], row["code"], row["message"], row["stage"])
                self.plugin.transform(failed, emit)
        except RAISED as error:
            raise failure_of(self.name, error, failed and failed.record) from None
        return self.emitted(emit, self._codec)


class BatchRunner(Runner):
    """A transform of batch grain."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        self._codec: Final = RecordCodec(cast(Schema, stage.facts.output_schema))

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        with blamed(self.name):
            made = [
                conform(batch, self._codec)
                for given in chunk.batches()
                for batch in self.plugin.transform_batch(given)
            ]
        result = Chunk(self._codec, batches=made)
        self.count("out", len(result))
        return {self.output: result}


class SplitterRunner(Runner):
    """A splitter of record grain."""

    def __init__(self, stage: PassStage) -> None:
        super().__init__(stage)
        ports = stage.facts.port_schemas
        self._codecs: Final = {port: RecordCodec(schema) for port, schema in ports.items()}

    def run(self, chunk: Chunk, *, last: bool) -> Streams:
        emit = PortsEmitter(self._codecs)
        record: Any = None
        try:
            for record in chunk.records() if last else chunk.copies():
                self.plugin.transform(record, emit)
        except RAISED as error:
            raise failure_of(self.name, error, record) from None
        for port, records in emit.ports.items():
            self.count("out", len(records), port)
        return {
            Stream(self.name, port): Chunk(self._codecs[port], records)
            for port, records in emit.ports.items()
        }


def runner_for(stage: PassStage) -> Runner:
    """The runner that fits the stage's plugin type and grain."""
    if stage.plugin.type == AGGREGATOR:
        from localcdap.engine.tasks.aggregating import AggregateRunner

        return AggregateRunner(stage)
    if stage.plugin.type == ERROR_TRANSFORM:
        return ErrorRunner(stage)
    if stage.plugin.type == SPLITTER:
        return SplitterRunner(stage)
    with blamed(stage.name):
        grain = load_plugin(stage.plugin).grain()
    return BatchRunner(stage) if grain is Grain.BATCH else TransformRunner(stage)
