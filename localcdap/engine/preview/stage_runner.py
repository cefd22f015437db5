"""A pipeline run stage by stage on a few records, with the records of each stage collected in this process.

A run computes all its stages in one plan and shows none of the records between them. Here every stage is
computed from the records that the stages before it gave. There is one execution only, so what one stage
shows is what the next one got, also when a stage is random or is read by several; and a stage that fails
leaves the records of all others to be shown.

Stages whose code runs in Python run here, without Spark; so do sources and sinks that can tell records and
errors without it. The other stages wait until no more of these can run, and are then computed together by
one execution of Spark (:class:`~localcdap.engine.preview.stage_runner.JointFrames`). If it fails, they are
computed one by one.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import LocalcdapError, StageError
from localcdap.api.plugin import BatchJoiner, BatchSink, BatchSource, Plugin, SplitterTransform
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_column
from localcdap.engine.messages.flow import (
    CONDITION,
    DATA_TYPES,
    SINKS,
    SOURCE,
    Flow,
    Stage,
    Stream,
)
from localcdap.engine.messages.host import TableFiles
from localcdap.engine.messages.samples import StageProblem, StageSample
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.error_attribution import (
    add_record,
    find_failing_stage,
    stage_scope,
    to_stage_error,
)
from localcdap.engine.plan.preparation import get_plugin, read_declared
from localcdap.engine.plan.spark_types import (
    SchemaCheck,
    check_schemas,
    list_differences,
    spark_schema,
)
from localcdap.engine.plan.streams import runs_in_python
from localcdap.engine.preview.python_stage import (
    MOST_RECORDS,
    StageSampleContext,
    read_sample,
    run_python_stage,
)
from localcdap.engine.preview.records import (
    PreviewStageOutput,
    convert_to_json,
    create_feed,
    create_sample,
    find_nulls,
    get_feed_schema,
    get_own_schema,
    make_nullable,
)
from localcdap.engine.preview.stage_debug import check_input, check_output, create_pass_stage
from localcdap.engine.spark_internals import read_packed_frames
from localcdap.engine.tasks.runners import conform

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


class DifferentSchemaError(Exception):
    """A DataFrame does not have the schema of its stream."""


class JointFrames:
    """The DataFrames of stages that have not been computed yet. A stage may read those of another one."""

    def __init__(self) -> None:
        self.stages: Final[list[Stage]] = []
        """In the order in which they were added: no stage reads a later one."""
        self._frames: Final[dict[Stream, DataFrame]] = {}
        self._persisted: Final[dict[Stream, DataFrame]] = {}

    def __contains__(self, stream: object) -> bool:
        return stream in self._frames

    def add(self, stage: Stage, frames: Mapping[Stream, DataFrame], most: int) -> None:
        """Add the streams of a stage.

        :param most: the maximum number of records of each stream.
        """
        self.stages.append(stage)
        self._frames.update({stream: frame.limit(most) for stream, frame in frames.items()})

    def read(self, stream: Stream) -> DataFrame:
        """Return a stream for another stage. It is computed once, so that both get the same records of a
        random stage.
        """
        if stream not in self._persisted:
            self._persisted[stream] = self._frames[stream].persist()
        return self._persisted[stream]

    def compute(
        self, convert: Callable[[Stage, Stream, pa.Table], pa.RecordBatch]
    ) -> dict[Stream, pa.RecordBatch]:
        """Return the records of all streams.

        :raises DifferentSchemaError: when a stage has given other columns than its schema says.
        """
        streams = list(self._frames)
        stages = {stage.name: stage for stage in self.stages}
        rows = read_packed_frames([self._frames[stream] for stream in streams])
        batches = {}
        for stream, (table, columns) in zip(streams, rows, strict=True):
            stage = stages[stream.stage]
            if not stream.errors and list(list_differences(stage.get_schema(stream), columns)):
                raise DifferentSchemaError(str(stream))
            batches[stream] = convert(stage, stream, table)
        return batches

    def clear(self) -> None:
        """Forget all stages, and release what Spark keeps for them."""
        self.stages.clear()
        self._frames.clear()
        while self._persisted:
            self._persisted.popitem()[1].unpersist()


_LOG: Final = logging.getLogger("localcdap.engine")
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
    :param drops_errors: of a single stage: whether no stage of its pipeline reads its error records.
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
        drops_errors: bool = False,
    ) -> None:
        self._flow: Final = flow
        self._alone_drops_errors: Final = drops_errors
        self._run: Final = run
        self._limit: Final = limit
        self._shown: Final = shown
        self._on_sample: Final = on_sample
        self._batches: Final = dict(given)
        self._left_out: Final = {*left_out, *(stream.stage for stream in given)}
        self._unchecked: Final = frozenset(unchecked)
        self._joint: Final = JointFrames()
        self._persisted: Final[list[DataFrame]] = []
        self._in_one_task = False
        self.problems: Final[list[StageProblem]] = []
        """Why stages failed; stages that need their records were not run."""
        self.counts: Final[dict[str, RecordCounts]] = {}
        self.connectors: Final[dict[str, pa.RecordBatch]] = {}
        """By condition, the records that reach it."""

    def run(self) -> None:
        """Run every stage whose input records are available."""
        waiting = [stage for stage in self._flow.stages if stage.name not in self._left_out]
        try:
            while waiting:
                remaining = [stage for stage in waiting if not self._advance(stage)]
                if len(remaining) == len(waiting) and not self._compute_joint():
                    return
                waiting = remaining
            self._compute_joint()
        finally:
            self._joint.clear()

    def _advance(self, stage: Stage) -> bool:
        """Run a stage, or plan it to be computed together with others; False when it has to wait."""
        inputs = self._flow.list_inputs(stage.name)
        if any(self._waits_for_check(stream) for stream in inputs):
            return False
        if all(stream in self._batches for stream in inputs):
            self._run_stage(stage)
            return True
        if any(stream not in self._batches and stream not in self._joint for stream in inputs):
            return False
        return stage.type in DATA_TYPES and self._plan_joint(stage)

    def _waits_for_check(self, stream: Stream) -> bool:
        """Whether expectations, which are checked on computed records, may take records out of a stream."""
        return stream in self._joint and bool(self._flow.get_stage(stream.stage).expectations)

    def _check_output(self, stage: Stage, output: PreviewStageOutput) -> PreviewStageOutput:
        """Return the output of a stage after its expectations were checked."""
        try:
            return check_output(stage, output, self._export_table)
        except LocalcdapError as error:
            return PreviewStageOutput(problems=[_create_problem(error, stage, self._run.hide)])

    def _export_table(self, name: str) -> TableFiles:
        return self._run.tables.export(self._run.namespace, name)

    def _plan_joint(self, stage: Stage) -> bool:
        """Plan a stage that reads stages which have not been computed; False when it needs their records."""
        try:
            with stage_scope(stage.name):
                plugin: Any = get_plugin(self._run, stage)
                if runs_in_python(type(plugin)):
                    return False
                self._joint.add(stage, self._apply(stage, plugin), MOST_RECORDS)
        except Exception as error:  # once its inputs are computed, the stage is run and reports it
            _LOG.debug("Stage '%s' is computed alone: %s", stage.name, error)
            return False
        return True

    def _compute_joint(self) -> bool:
        """Compute the planned stages by one execution; return whether there were any.

        If that fails they are run one by one, which shows the stage that fails and the records of the others.
        """
        stages = list(self._joint.stages)
        if not stages:
            return False
        try:
            with _convert_memory_error(stages[-1].name):
                computed = self._joint.compute(_convert_rows)
        except Exception as error:
            _LOG.debug("The stages in Spark are computed one by one: %s", error)
            computed = None
        self._joint.clear()
        self._unpersist()
        for stage in stages:
            if computed is not None:
                own = {s: batch for s, batch in computed.items() if s.stage == stage.name}
                self._finish(stage, PreviewStageOutput(self._add_empty_errors(stage, own)))
            elif all(stream in self._batches for stream in self._flow.list_inputs(stage.name)):
                self._run_stage(stage, alone=True)
        return True

    def _run_stage(self, stage: Stage, *, alone: bool = False) -> None:
        """Run a stage whose input records are available, or plan it.

        :param alone: whether it is not to be computed together with other stages.
        """
        try:
            with stage_scope(stage.name), _convert_memory_error(stage.name):
                output = self._compute(stage, alone=alone)
        except Exception as error:
            output = PreviewStageOutput(problems=[_create_problem(error, stage, self._run.hide)])
        if output is not None:
            self._finish(stage, output)

    def _finish(self, stage: Stage, output: PreviewStageOutput) -> None:
        """Report the output of a stage, and keep it for the stages after it."""
        output = self._check_output(stage, output)
        self._report(stage, output)
        if output.problems:
            self.problems.extend(output.problems)
        else:
            self._batches.update(output.batches)

    def _compute(self, stage: Stage, *, alone: bool) -> PreviewStageOutput | None:
        """Return the output of a stage; None when it was planned to be computed together with others."""
        if stage.type == CONDITION:
            self.connectors[stage.name] = self._unite_inputs(stage)
            return PreviewStageOutput()
        if stage.type in SINKS and stage.name in self._unchecked:
            return PreviewStageOutput()
        plugin: Any = get_plugin(self._run, stage)
        if stage.type in SINKS:
            problems = self._check_sink(stage, plugin)
            if problems:
                return PreviewStageOutput(problems=problems)
            schema, batch = self._get_full_schema(stage), self._unite_inputs(stage)
            return check_input(stage, schema, batch, self._export_table)
        if runs_in_python(type(plugin)):
            streams = self._flow.list_inputs(stage.name)
            schema = get_feed_schema(stage, plugin, streams)
            problems = find_nulls(schema, streams, self._batches)
            if problems:
                return PreviewStageOutput(problems=problems)
            metadata = read_declared(self._run, stage, plugin)
            data = self._run.create_stage_data(
                stage, plugin.lookup_tables(), metadata, in_this_process=True
            )
            alone_in_pass = create_pass_stage(
                stage, data, has_error_reader=not self._drops_errors(stage)
            )
            feed = create_feed(schema, streams, self._batches)
            return run_python_stage(alone_in_pass, schema, feed)
        sampled = self._sample(stage, plugin) if stage.type == SOURCE and not alone else None
        if sampled is not None:
            return PreviewStageOutput({Stream(stage.name): sampled})
        if not alone:
            most = self._limit if stage.type == SOURCE else MOST_RECORDS
            self._joint.add(stage, self._apply(stage, plugin), most)
            return None
        try:
            return PreviewStageOutput(self._collect(stage, self._apply(stage, plugin)))
        finally:
            self._unpersist()

    def _unpersist(self) -> None:
        while self._persisted:
            self._persisted.pop().unpersist()

    # -- sources and sinks without Spark ----------------------------------------------------

    def _sample(self, stage: Stage, plugin: BatchSource) -> pa.RecordBatch | None:
        """Return the first records of a source without Spark; None when it cannot tell them."""
        try:
            return read_sample(stage, plugin, self._create_sample_context(stage), self._limit)
        except Exception as error:
            _LOG.debug("Stage '%s' is read by Spark: %s", stage.name, error)
            return None

    def _is_accepted(self, stage: Stage, plugin: BatchSink, batch: pa.RecordBatch) -> bool:
        """Return whether a sink has no error for records, as far as it can tell without Spark."""
        try:
            return plugin.accepts(batch, self._create_sample_context(stage)) is True
        except Exception as error:
            _LOG.debug("The records of stage '%s' are checked by Spark: %s", stage.name, error)
            return False

    def _create_sample_context(self, stage: Stage) -> StageSampleContext:
        data = self._run.create_stage_data(stage)
        altered = self._run.altered.get(stage.name)
        return StageSampleContext(data, self._run.locations, stage.plugin.uses, altered)

    def _check_sink(self, stage: Stage, plugin: BatchSink) -> list[StageProblem]:
        """Return why a sink would fail in a run, with the number of the first record for which it would."""
        streams = self._flow.list_inputs(stage.name)
        schema = get_feed_schema(stage, plugin, streams)
        batch = create_feed(schema, streams, self._batches)
        if type(plugin).preview is BatchSink.preview or not batch.num_rows:
            return []
        if self._is_accepted(stage, plugin, batch):
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
        # What these attempts have counted says nothing of the records.
        self._run.altered.get(stage.name).take()
        return [
            msgspec.structs.replace(_create_problem(error, stage, self._run.hide), record=number)
        ]

    # -- stages of DataFrame grain ----------------------------------------------------------

    def _apply(self, stage: Stage, plugin: Any) -> dict[Stream, DataFrame]:
        """Return the DataFrames that a stage makes of its inputs."""
        errors = Stream(stage.name, errors=True)
        # A single stage that is debugged shows its errors, whatever reads them in a pipeline.
        wanted = bool(self._flow.list_readers(errors)) or len(self._flow.stages) == 1
        drops = self._drops_errors(stage)
        context = DriverContext(
            stage, self._run, wants_errors=wanted, drops_errors=drops, shared=self._persist
        )
        if stage.type == SOURCE:
            return {Stream(stage.name): plugin.read(context)}
        streams = self._flow.list_inputs(stage.name)
        if isinstance(plugin, BatchJoiner):
            inputs = {s.stage: self._create_frame(stage, plugin, [s]) for s in streams}
            return {Stream(stage.name): plugin.apply(inputs, context)}
        result = plugin.apply(self._create_frame(stage, plugin, streams), context)
        if isinstance(plugin, SplitterTransform):
            frames = {
                Stream(stage.name, port): result[port]
                for port in stage.port_schemas
                if port in result
            }
        else:
            frames = {Stream(stage.name): result}
        return frames if context.errors is None else frames | {errors: context.errors}

    def _drops_errors(self, stage: Stage) -> bool:
        """Return whether a run would drop the error records of a stage."""
        if len(self._flow.stages) == 1:
            return self._alone_drops_errors
        return not self._flow.list_readers(Stream(stage.name, errors=True))

    def _persist(self, df: DataFrame, _: Column) -> DataFrame:
        """Have records and errors computed by one execution."""
        persisted: DataFrame = df.persist()
        self._persisted.append(persisted)
        return persisted

    def _create_frame(self, stage: Stage, plugin: Plugin, streams: list[Stream]) -> DataFrame:
        schema = get_feed_schema(stage, plugin, streams)
        known = [stream for stream in streams if stream not in self._joint]
        columns = [quote_column(field.name) for field in schema]
        frames = [self._joint.read(s).select(*columns) for s in streams if s in self._joint]
        if known:
            frames.append(self._make_frame(schema, create_feed(schema, known, self._batches)))
        return functools.reduce(lambda left, right: left.unionAll(right), frames)

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
            stream: _convert_rows(stage, stream, frame.limit(most).toArrow())
            for stream, frame in frames.items()
        }
        return self._add_empty_errors(stage, batches)

    def _add_empty_errors(
        self, stage: Stage, batches: dict[Stream, pa.RecordBatch]
    ) -> dict[Stream, pa.RecordBatch]:
        """Add the error records that a stage does not have, if another stage reads them."""
        errors = Stream(stage.name, errors=True)
        if self._flow.list_readers(errors) and errors not in batches:
            batches[errors] = RecordCodec(get_own_schema(stage, errors)).encode([])
        return batches

    # -- reports ----------------------------------------------------------------------------

    def _report(self, stage: Stage, output: PreviewStageOutput) -> None:
        counts = RecordCounts(
            in_=sum(self._batches[s].num_rows for s in self._flow.list_inputs(stage.name))
        )
        self.counts[stage.name] = counts
        if stage.type == CONDITION or (stage.type in SINKS and not output.problems):
            sample = self._sample_inputs(stage)
            sample.expectations = output.results
        else:
            sample = create_sample(stage, output, self._shown)
            counts.out, counts.error = sample.count, sample.error_count
            counts.alert = sample.alert_count
            counts.ports = {port: each.count for port, each in sample.ports.items()}
        altered = [(stage.name, *each) for each in output.altered]
        sample.altered = self._run.altered.take([stage.name], altered)
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


def _create_problem(error: Exception, stage: Stage, hide: Callable[[str], str]) -> StageProblem:
    """Convert an exception; paths of its stack frames become relative to the artifact.

    :param hide: removes secrets from a text.
    """
    found = add_record(
        to_stage_error(error, find_failing_stage(error, [stage]) or stage.name), hide
    )
    path = Path(stage.plugin.path)
    root = f"{path if path.is_dir() else path.parent}{os.sep}"
    frames = [note.removeprefix(root) for note in getattr(found, "__notes__", [])]
    is_shipped = stage.plugin.artifact.scope == "SYSTEM"
    trace = None if is_shipped else "\n".join(frames) or None
    return StageProblem(found.message, found.corrective_action, stage.name, trace=trace)


def _convert_rows(stage: Stage, stream: Stream, rows: pa.Table) -> pa.RecordBatch:
    """Return rows of Spark as the records of a stream."""
    import pyarrow as pa

    codec = RecordCodec(make_nullable(get_own_schema(stage, stream)))
    if not rows.num_rows:
        return codec.encode([])
    return pa.concat_batches([conform(batch, codec) for batch in rows.to_batches()])
