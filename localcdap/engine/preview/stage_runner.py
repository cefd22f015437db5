"""A pipeline run stage by stage on a few records, with the records of each stage collected in this process.

A run computes all its stages in one plan and shows none of the records between them. Here every stage is
computed by itself, from the records that the stages before it gave. There is one execution only, so what
one stage shows is what the next one got, also when a stage is random or is read by several; and a stage
that fails leaves the records of all others to be shown. Caching every stream in Spark would have the same
effect, but costs a pass over each partition of a source before the first record is shown. Stages whose code
runs in Python run here, without Spark.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.plugin import BatchJoiner, BatchSink, Plugin, SplitterTransform
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import (
    CONDITION,
    SINKS,
    SOURCE,
    Flow,
    Stage,
    Stream,
    create_plugin,
)
from localcdap.engine.messages.samples import StageProblem, StageSample
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.error_attribution import find_failing_stage, stage_scope, to_stage_error
from localcdap.engine.plan.schema_checks import SchemaCheck, check_schemas
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.engine.plan.streams import runs_in_python
from localcdap.engine.preview.python_stage import MOST_RECORDS, run_python_stage
from localcdap.engine.preview.records import (
    PreviewStageOutput,
    convert_to_json,
    create_feed,
    create_sample,
    find_nulls,
    get_feed_schema,
    get_stream_schema,
    make_nullable,
)
from localcdap.engine.preview.stage_debug import create_pass_stage
from localcdap.engine.tasks.chunks import conform

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

OnSample = Callable[[str, StageSample], None]
"""Called with the name and the sample of a stage."""
_ONE_TASK: Final = ("spark.sql.leafNodeDefaultParallelism", "1")
"""Setting with which given records are processed in one task."""


class StageByStageRunner:
    """Runs the stages of one phase. What sinks write is removed.

    :param limit: the maximum number of records that are read from each source.
    :param shown: the maximum number of records of each stream in a sample.
    :param on_sample: called with the sample of each stage that processes records, as soon as it has run.
    :param given: records by stream; the stages of these streams are not run.
    :param left_out: more stages that are not run.
    :param unchecked: sinks that are not checked, because their macros have no values.
    """

    def __init__(
        self,
        flow: Flow,
        run: RunContext,
        *,
        limit: int,
        shown: int,
        on_sample: OnSample,
        given: Mapping[Stream, pa.RecordBatch],
        left_out: Collection[str] = (),
        unchecked: Collection[str] = (),
    ) -> None:
        self._flow: Final = flow
        self._run: Final = run
        self._limit: Final = limit
        self._shown: Final = shown
        self._on_sample: Final = on_sample
        self._batches: Final = dict(given)
        self._left_out: Final = {*left_out, *(stream.stage for stream in given)}
        self._unchecked: Final = frozenset(unchecked)
        self._persisted: Final[list[DataFrame]] = []
        self._in_one_task = False
        self.problems: Final[list[StageProblem]] = []
        """Why stages failed; stages that need their records were not run."""
        self.counts: Final[dict[str, RecordCounts]] = {}
        self.connectors: Final[dict[str, pa.RecordBatch]] = {}
        """By condition, the records that reach it."""

    def run(self) -> None:
        """Run every stage whose input records are available."""
        for stage in self._flow.stages:
            if stage.name in self._left_out:
                continue
            if all(stream in self._batches for stream in self._flow.list_inputs(stage.name)):
                self._run_stage(stage)

    def _run_stage(self, stage: Stage) -> None:
        try:
            with stage_scope(stage.name), _convert_memory_error(stage.name):
                output = self._compute(stage)
        except Exception as error:
            output = PreviewStageOutput(problems=[_create_problem(error, stage)])
        self._report(stage, output)
        if output.problems:
            self.problems.extend(output.problems)
        else:
            self._batches.update(output.batches)

    def _compute(self, stage: Stage) -> PreviewStageOutput:
        if stage.type == CONDITION:
            self.connectors[stage.name] = self._unite_inputs(stage)
            return PreviewStageOutput()
        if stage.type in SINKS and stage.name in self._unchecked:
            return PreviewStageOutput()
        plugin: Any = create_plugin(load_plugin(stage.plugin), stage.name, stage.properties)
        if stage.type in SINKS:
            return PreviewStageOutput(problems=self._check_sink(stage, plugin))
        if runs_in_python(type(plugin)):
            streams = self._flow.list_inputs(stage.name)
            schema = get_feed_schema(stage, plugin, streams)
            problems = find_nulls(schema, streams, self._batches)
            if problems:
                return PreviewStageOutput(problems=problems)
            data = self._run.create_stage_data(stage, plugin.lookup_tables(), in_this_process=True)
            return run_python_stage(
                create_pass_stage(stage, data), schema, create_feed(schema, streams, self._batches)
            )
        try:
            return PreviewStageOutput(self._collect(stage, self._apply(stage, plugin)))
        finally:
            while self._persisted:
                self._persisted.pop().unpersist()

    def _check_sink(self, stage: Stage, plugin: BatchSink) -> list[StageProblem]:
        """Return why a sink would fail in a run, with the number of the first record for which it would."""
        streams = self._flow.list_inputs(stage.name)
        schema = get_feed_schema(stage, plugin, streams)
        batch = create_feed(schema, streams, self._batches)
        if type(plugin).preview is BatchSink.preview or not batch.num_rows:
            return []

        def find_error(count: int) -> Exception | None:
            context = DriverContext(stage, self._run, wants_errors=False, shared=self._persist)
            try:
                plugin.preview(self._make_frame(schema, batch.slice(0, count)), context)
            except Exception as error:
                return error
            return None

        error = find_error(batch.num_rows)
        if error is None:
            return []
        number, error = _find_first(find_error, batch.num_rows, error)
        return [msgspec.structs.replace(_create_problem(error, stage), record=number)]

    # -- stages of DataFrame grain ----------------------------------------------------------

    def _apply(self, stage: Stage, plugin: Any) -> dict[Stream, DataFrame]:
        """Return the DataFrames that a stage makes of its inputs."""
        errors = Stream(stage.name, errors=True)
        # A single stage that is debugged shows its errors, whatever reads them in a pipeline.
        wanted = bool(self._flow.list_readers(errors)) or len(self._flow.stages) == 1
        context = DriverContext(stage, self._run, wants_errors=wanted, shared=self._persist)
        if stage.type == SOURCE:
            return {Stream(stage.name): plugin.read(context)}
        streams = self._flow.list_inputs(stage.name)
        if isinstance(plugin, BatchJoiner):
            inputs = {s.stage: self._create_frame(stage, plugin, [s]) for s in streams}
            return {Stream(stage.name): plugin.apply(inputs, context)}
        result = plugin.apply(self._create_frame(stage, plugin, streams), context)
        if isinstance(plugin, SplitterTransform):
            return {
                Stream(stage.name, port): result[port]
                for port in stage.port_schemas
                if port in result
            }
        frames = {Stream(stage.name): result}
        return frames if context.errors is None else frames | {errors: context.errors}

    def _persist(self, df: DataFrame, _: Column) -> DataFrame:
        """Have records and errors computed by one execution."""
        persisted: DataFrame = df.persist()
        self._persisted.append(persisted)
        return persisted

    def _create_frame(self, stage: Stage, plugin: Plugin, streams: list[Stream]) -> DataFrame:
        schema = get_feed_schema(stage, plugin, streams)
        return self._make_frame(schema, create_feed(schema, streams, self._batches))

    def _make_frame(self, schema: Schema, batch: pa.RecordBatch) -> DataFrame:
        import pyarrow as pa

        columns = spark_schema(schema, nullable=True)
        spark = self._run.spark
        if not batch.num_rows:
            return spark.createDataFrame([], columns)
        if not self._in_one_task:
            # As a run reads one small file: the order of the records stays the same for the next stages.
            spark.conf.set(*_ONE_TASK)
            self._in_one_task = True
        return spark.createDataFrame(pa.Table.from_batches([batch]), columns)

    def _collect(
        self, stage: Stage, frames: Mapping[Stream, DataFrame]
    ) -> dict[Stream, pa.RecordBatch]:
        """Check the schemas of DataFrames and return their records."""
        check_schemas(
            [SchemaCheck(s, stage.get_schema(s), f) for s, f in frames.items() if not s.errors]
        )
        most = self._limit if stage.type == SOURCE else MOST_RECORDS
        batches = {
            stream: _to_batch(get_stream_schema(stage, stream), frame.limit(most).toArrow())
            for stream, frame in frames.items()
        }
        errors = Stream(stage.name, errors=True)
        if self._flow.list_readers(errors) and errors not in batches:
            batches[errors] = RecordCodec(get_stream_schema(stage, errors)).encode([])
        return batches

    # -- reports ----------------------------------------------------------------------------

    def _report(self, stage: Stage, output: PreviewStageOutput) -> None:
        counts = RecordCounts(
            in_=sum(self._batches[s].num_rows for s in self._flow.list_inputs(stage.name))
        )
        self.counts[stage.name] = counts
        if stage.type == CONDITION or (stage.type in SINKS and not output.problems):
            sample = self._sample_inputs(stage)
        else:
            sample = create_sample(stage, output, self._shown)
            counts.out, counts.error = sample.count, sample.error_count
            counts.ports = {port: each.count for port, each in sample.ports.items()}
        self._on_sample(stage.name, sample)

    def _sample_inputs(self, stage: Stage) -> StageSample:
        """Return the sample of a stage that has no output: the records that reach it."""
        if not stage.input_schemas:
            return StageSample()
        batch = self._unite_inputs(stage)
        schema = self._get_full_schema(stage)
        records = convert_to_json(schema, batch, self._shown)
        return StageSample(schema, records, count=batch.num_rows)

    def _unite_inputs(self, stage: Stage) -> pa.RecordBatch:
        streams = self._flow.list_inputs(stage.name)
        return create_feed(self._get_full_schema(stage), streams, self._batches)

    def _get_full_schema(self, stage: Stage) -> Schema:
        """Return the schema of the records that reach a stage, with all their fields."""
        return get_feed_schema(stage, Plugin(None), self._flow.list_inputs(stage.name))


@contextlib.contextmanager
def _convert_memory_error(stage: str) -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise StageError(
            f"Stage '{stage}' took more memory than its process may have.",
            "Let the plugin take less memory, or give it fewer records.",
            stage=stage,
        ) from error


def _find_first(
    find_error: Callable[[int], Exception | None], count: int, error: Exception
) -> tuple[int, Exception]:
    """Return the smallest number of records that fails, and its error.

    :param count: of records that fail with ``error``.
    """
    passes = 0
    while count - passes > 1:
        middle = (passes + count) // 2
        found = find_error(middle)
        if found is None:
            passes = middle
        else:
            count, error = middle, found
    return count, error


def _create_problem(error: Exception, stage: Stage) -> StageProblem:
    """Convert an exception; paths of its stack frames become relative to the artifact."""
    found = to_stage_error(error, find_failing_stage(error, [stage]) or stage.name)
    path = Path(stage.plugin.path)
    root = f"{path if path.is_dir() else path.parent}{os.sep}"
    frames = [note.removeprefix(root) for note in getattr(found, "__notes__", [])]
    trace = "\n".join(frames) or None
    return StageProblem(found.message, found.corrective_action, stage.name, trace=trace)


def _to_batch(schema: Schema, rows: pa.Table) -> pa.RecordBatch:
    import pyarrow as pa

    codec = RecordCodec(make_nullable(schema))
    if not rows.num_rows:
        return codec.encode([])
    return pa.concat_batches([conform(batch, codec) for batch in rows.to_batches()])
