"""Runs the stages of a preview on a few records in this process, without Spark.

Python stages run as Spark's workers would run them; sources and sinks that need no Spark have a context of
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import LocalcdapError, StageError
from localcdap.api.locations import Locations
from localcdap.api.plugin import BatchSource
from localcdap.api.schema import Schema
from localcdap.api.stage import FindPlugin, Record
from localcdap.artifacts.loading import UsedPlugins, user_frames
from localcdap.artifacts.model import PluginRef
from localcdap.engine.messages.flow import SPLITTER, Stage, Stream
from localcdap.engine.messages.samples import StageProblem
from localcdap.engine.preview.records import PreviewStageOutput, make_nullable
from localcdap.engine.tasks.aggregation import AggregateRunner
from localcdap.engine.tasks.context import AlteredCounts, StageContextData, WorkerStageContext
from localcdap.engine.tasks.failures import StageFailure
from localcdap.engine.tasks.fused_pass import create_runner
from localcdap.engine.tasks.pass_plan import PassStage, error_record_schema
from localcdap.engine.tasks.runners import BatchRunner, Chunk, Runner, Streams, conform

if TYPE_CHECKING:
    import pyarrow as pa


_MOST_PROBLEMS: Final = 20
MOST_RECORDS: Final = 100_000
"""Records that a stage may emit; the input records that remain then are skipped."""


def run_python_stage(stage: PassStage, feed: Schema, batch: pa.RecordBatch) -> PreviewStageOutput:
    """Run a stage of record or batch grain on records.

    After an exception for one record the plugin still gets the following records.

    :param feed: the schema of the batch: the fields that the plugin reads.
    :raises MemoryError: when the plugin takes more memory than the process may have.
    """
    return _PythonStage(stage, feed).run(batch)


def _list_stream_schemas(stage: PassStage) -> dict[Stream, Schema]:
    """Return the schemas of all output streams of a stage."""
    data = stage.data
    if stage.plugin.type == SPLITTER:
        outputs = {Stream(stage.name, port): each for port, each in data.port_schemas.items()}
    else:
        outputs = {} if data.output_schema is None else {Stream(stage.name): data.output_schema}
    rejected = data.error_schema or next(iter(data.input_schemas.values()), None)
    errors = error_record_schema(rejected or Schema.record("empty", []))
    return {**outputs, Stream(stage.name, errors=True): errors}


class _PythonStage:
    def __init__(self, stage: PassStage, feed: Schema) -> None:
        self._stage = stage
        self._feed = RecordCodec(feed)
        self._emitted: dict[Stream, list[Record]] = {}
        self._origins: dict[Stream, list[int | None]] = {}
        """For each emitted record, the number of the input record that it was made of."""
        self._batches: dict[Stream, list[pa.RecordBatch]] = {}
        self._problems: list[StageProblem] = []

    def run(self, batch: pa.RecordBatch) -> PreviewStageOutput:
        try:
            runner = create_runner(self._stage)
        except StageFailure as failure:
            return PreviewStageOutput(problems=[self._create_problem(failure)])
        try:
            self._process(runner, batch)
            runner.close()
        except StageFailure as failure:
            self._add_problem(failure)
        batches = {
            stream: self._encode_stream(stream, schema)
            for stream, schema in _list_stream_schemas(self._stage).items()
        }
        alerts = [alert.payload for alert in runner.alerts]
        altered = runner.altered.take()
        return PreviewStageOutput(batches, self._problems, alerts=alerts, altered=altered)

    def _process(self, runner: Runner, batch: pa.RecordBatch) -> None:
        if isinstance(runner, AggregateRunner):
            groups = self._group_records(runner, batch)
            for streams in runner.aggregate(groups, self._feed.schema):
                self._collect(streams, None)
        elif isinstance(runner, BatchRunner):
            for stream, chunk in runner.run(Chunk(self._feed, batches=[batch]), last=True).items():
                self._batches.setdefault(stream, []).extend(chunk.get_batches())
        else:
            self._process_one_by_one(runner, self._feed.decode(batch))

    def _process_one_by_one(self, runner: Runner, records: list[Record]) -> None:
        for number, record in enumerate(records, start=1):
            try:
                self._collect(runner.run(Chunk(self._feed, [record]), last=True), number)
            except StageFailure as failure:
                self._add_problem(failure, number)
            emitted = sum(map(len, self._emitted.values()))
            if emitted > MOST_RECORDS or len(self._problems) >= _MOST_PROBLEMS:
                break

    def _group_records(
        self, runner: AggregateRunner, batch: pa.RecordBatch
    ) -> Iterator[pa.RecordBatch]:
        """Yield the records sorted by group, the groups in the order of their first records.

        Groups are found in two parts, as in two tasks, so that a reducible aggregator merges their values.
        """
        import pyarrow as pa

        middle = (batch.num_rows + 1) // 2
        halves = (batch.slice(0, middle), batch.slice(middle))
        grouped = [
            part for half in halves for part in runner.group(iter([half]), self._feed.schema)
        ]
        if not grouped:
            return
        keyed = pa.concat_batches(grouped)
        keys = keyed.column(0).to_pylist()
        ranks = {key: rank for rank, key in enumerate(dict.fromkeys(keys))}
        order = sorted(range(len(keys)), key=lambda row: ranks[keys[row]])
        yield keyed.take(pa.array(order, pa.int64()))

    def _collect(self, streams: Streams, origin: int | None) -> None:
        for stream, chunk in streams.items():
            records = chunk.get_records()
            self._emitted.setdefault(stream, []).extend(records)
            self._origins.setdefault(stream, []).extend([origin] * len(records))

    def _encode_stream(self, stream: Stream, schema: Schema) -> pa.RecordBatch:
        """Return the records of an output stream in the form in which the next stage gets them."""
        import pyarrow as pa

        codec = RecordCodec(schema)
        if self._batches.get(stream):
            return pa.concat_batches(self._batches[stream])
        records = self._emitted.get(stream, [])
        try:
            return codec.encode(records)
        except StageError:
            return codec.encode(self._filter_valid(codec, records, self._origins[stream]))

    def _filter_valid(
        self, codec: RecordCodec, records: list[Record], origins: list[int | None]
    ) -> list[Record]:
        """Return the records that fit their schema; the others become problems."""
        valid = []
        for record, origin in zip(records, origins, strict=True):
            try:
                codec.encode([record])
                valid.append(record)
            except StageError as error:
                self._add_problem(error, origin)
        return valid

    def _add_problem(self, error: StageFailure | StageError, record: int | None = None) -> None:
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(self._create_problem(error, record))

    def _create_problem(
        self, error: StageFailure | StageError, record: int | None = None
    ) -> StageProblem:
        stage = self._stage.name
        if not isinstance(error, StageFailure):
            return StageProblem(error.message, error.corrective_action, stage, record=record)
        failure = error.failure
        raised = error.__context__
        if isinstance(raised, MemoryError):
            raise raised
        frames = []
        if isinstance(raised, Exception) and not isinstance(raised, LocalcdapError):
            frames = user_frames(raised, Path(self._stage.plugin.path))
        trace = "\n".join(frames) or None
        return StageProblem(
            failure.message, failure.corrective_action, stage, trace=trace, record=record
        )


class StageSampleContext(WorkerStageContext):
    """A :class:`localcdap.api.stage.SourceSampleContext` and a sink's sample context."""

    def __init__(
        self,
        data: StageContextData,
        locations: Locations,
        uses: Sequence[PluginRef] = (),
        altered: AlteredCounts | None = None,
    ) -> None:
        super().__init__(data, altered=altered)
        self.is_remote: bool = False
        self.find_plugin: FindPlugin = UsedPlugins(uses)
        self._locations = locations

    def resolve_path(self, path: str) -> str:
        """See :meth:`localcdap.api.stage.SparkContext.resolve_path`."""
        return self._locations.resolve(path)

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return the error of this stage with a message."""
        text = f"Stage '{self.stage_name}': {message}"
        return StageError(text, corrective_action, stage=self.stage_name)

    def generate(
        self, schema: Schema, tasks: Sequence[Any], read: Callable[[Any], Iterator[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches of each task, checked as those of Spark's workers are."""
        codec = RecordCodec(schema)
        for task in tasks:
            for batch in read(task):
                yield conform(batch, codec)


def read_sample(
    stage: Stage, source: BatchSource, context: StageSampleContext, limit: int
) -> pa.RecordBatch | None:
    """Return the first records of a source, every field of which may be null as in those of Spark.

    :returns: None when the source cannot tell them without Spark.
    :raises StageError: when they do not have the output schema.
    """
    import pyarrow as pa

    batches = source.sample(context, limit)
    if batches is None:
        return None
    codec = RecordCodec(make_nullable(stage.get_schema(Stream(stage.name))))
    taken, missing = [codec.encode([])], limit
    for batch in batches:
        taken.append(conform(batch.slice(0, missing), codec))
        missing -= taken[-1].num_rows
        if missing <= 0:
            break
    return pa.concat_batches(taken)
