"""One stage whose code runs in Python, on a few records: what Spark's workers do, in this process."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import LocalcdapError, StageError
from localcdap.api.schema import Schema
from localcdap.api.stage import Record
from localcdap.artifacts.tracebacks import user_frames
from localcdap.engine.plan.flow import SPLITTER, Stream
from localcdap.engine.preview.samples import Problem
from localcdap.engine.tasks.aggregating import AggregateRunner
from localcdap.engine.tasks.chunks import Chunk
from localcdap.engine.tasks.failing import StageFailure
from localcdap.engine.tasks.plan import PassStage, error_record_schema
from localcdap.engine.tasks.runners import BatchRunner, Runner, Streams, runner_for

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_PROBLEMS: Final = 20
MOST_RECORDS: Final = 100_000
"""Records that a stage may give; what it is given behind that is left out."""


@dataclasses.dataclass
class PythonRun:
    """What a stage gave."""

    batches: dict[Stream, pa.RecordBatch] = dataclasses.field(default_factory=dict)
    """Of all of its streams, the empty ones too."""
    problems: list[Problem] = dataclasses.field(default_factory=list)


def run_in_python(stage: PassStage, feed: Schema, batch: pa.RecordBatch) -> PythonRun:
    """Put records through a stage of record or batch grain.

    An exception that one record causes does not keep the plugin from the records behind it.

    :param feed: of the batch: the fields that the plugin reads.
    :raises MemoryError: when the plugin takes more memory than there is.
    """
    return _PythonStage(stage, feed).run(batch)


def stream_schemas(stage: PassStage) -> dict[Stream, Schema]:
    """The schemas of all that a stage can give."""
    facts = stage.facts
    ports = {Stream(stage.name, port): schema for port, schema in facts.port_schemas.items()}
    if stage.plugin.type == SPLITTER:
        return ports
    found = {} if facts.output_schema is None else {Stream(stage.name): facts.output_schema}
    rejected = facts.error_schema or next(iter(facts.input_schemas.values()), None)
    errors = error_record_schema(rejected or Schema.record("empty", []))
    return {**found, Stream(stage.name, errors=True): errors}


class _PythonStage:
    def __init__(self, stage: PassStage, feed: Schema) -> None:
        self._stage = stage
        self._feed = RecordCodec(feed)
        self._made: dict[Stream, list[Record]] = {}
        self._origins: dict[Stream, list[int | None]] = {}
        """Of each record that was made, the number of the one that it was made of."""
        self._whole: dict[Stream, list[pa.RecordBatch]] = {}
        self._problems: list[Problem] = []

    def run(self, batch: pa.RecordBatch) -> PythonRun:
        try:
            runner = runner_for(self._stage)
        except StageFailure as failure:
            return PythonRun(problems=[self._problem(failure)])
        try:
            self._put_through(runner, batch)
            runner.close()
        except StageFailure as failure:
            self._note(failure)
        batches = {
            stream: self._encoded(stream, schema)
            for stream, schema in stream_schemas(self._stage).items()
        }
        return PythonRun(batches, self._problems)

    def _put_through(self, runner: Runner, batch: pa.RecordBatch) -> None:
        if isinstance(runner, AggregateRunner):
            for streams in runner.aggregated(self._grouped(runner, batch), self._feed.schema):
                self._gather(streams, None)
        elif isinstance(runner, BatchRunner):
            for stream, chunk in runner.run(Chunk(self._feed, batches=[batch]), last=True).items():
                self._whole.setdefault(stream, []).extend(chunk.batches())
        else:
            self._one_by_one(runner, self._feed.decode(batch))

    def _one_by_one(self, runner: Runner, records: list[Record]) -> None:
        for number, record in enumerate(records, start=1):
            try:
                self._gather(runner.run(Chunk(self._feed, [record]), last=True), number)
            except StageFailure as failure:
                self._note(failure, number)
            made = sum(map(len, self._made.values()))
            if made > MOST_RECORDS or len(self._problems) >= _MOST_PROBLEMS:
                break

    def _grouped(self, runner: AggregateRunner, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The records, those of one group together, the groups in the order of their first records."""
        import pyarrow as pa

        for keyed in runner.keyed(batch, self._feed):
            keys = keyed.column(0).to_pylist()
            places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
            order = sorted(range(len(keys)), key=lambda row: places[keys[row]])
            yield keyed.take(pa.array(order, pa.int64()))

    def _gather(self, streams: Streams, origin: int | None) -> None:
        for stream, chunk in streams.items():
            records = chunk.records()
            self._made.setdefault(stream, []).extend(records)
            self._origins.setdefault(stream, []).extend([origin] * len(records))

    def _encoded(self, stream: Stream, schema: Schema) -> pa.RecordBatch:
        """What was made for a stream, in the form in which the next stage gets it."""
        import pyarrow as pa

        codec = RecordCodec(schema)
        if self._whole.get(stream):
            return pa.concat_batches(self._whole[stream])
        records = self._made.get(stream, [])
        try:
            return codec.encode(records)
        except StageError:
            return codec.encode(self._fitting(codec, records, self._origins[stream]))

    def _fitting(
        self, codec: RecordCodec, records: list[Record], origins: list[int | None]
    ) -> list[Record]:
        """The records that fit their schema; the others are problems."""
        fitting = []
        for record, origin in zip(records, origins, strict=True):
            try:
                codec.encode([record])
                fitting.append(record)
            except StageError as error:
                self._note(error, origin)
        return fitting

    def _note(self, error: StageFailure | StageError, record: int | None = None) -> None:
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(self._problem(error, record))

    def _problem(self, error: StageFailure | StageError, record: int | None = None) -> Problem:
        stage = self._stage.name
        if not isinstance(error, StageFailure):
            return Problem(error.message, error.corrective_action, stage, record=record)
        failure = error.failure
        raised = error.__context__
        if isinstance(raised, MemoryError):
            raise raised
        frames = []
        if isinstance(raised, Exception) and not isinstance(raised, LocalcdapError):
            frames = user_frames(raised, Path(self._stage.plugin.path))
        trace = "\n".join(frames) or None
        return Problem(
            failure.message, failure.corrective_action, stage, trace=trace, record=record
        )
