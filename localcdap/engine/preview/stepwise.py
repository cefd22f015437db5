"""A pipeline run stage by stage on a few records, with what each stage gives collected in this process.

A run computes all its stages in one plan and shows none of the records between them. Here every stage is
computed by itself, from the very records that the stages before it gave. There is one execution only, so that
what one stage shows is what the next one got, whatever is random or read by several; and a stage that fails
leaves the records of all the others to be seen. Caching every stream in Spark would give the same, but costs
a pass over each partition of a source before the first record is seen. Stages whose code runs in Python run
here, without Spark.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.plugin import BatchJoiner, Plugin, SplitterTransform
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.driver.blame import culprit, stage_error, working_on
from localcdap.engine.driver.contexts import DriverContext, Surroundings
from localcdap.engine.plan.checking import Check, check
from localcdap.engine.plan.counting import StageCounts
from localcdap.engine.plan.flow import (
    CONDITION,
    SINKS,
    SOURCE,
    Flow,
    Stage,
    Stream,
    instantiate,
)
from localcdap.engine.plan.planner import runs_in_python
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.engine.preview.feeds import feed, feed_schema, loosened
from localcdap.engine.preview.python_stage import MOST_RECORDS, PythonRun, run_in_python
from localcdap.engine.preview.running import pass_stage, sample_of
from localcdap.engine.preview.samples import Problem, StageSample, shown_records
from localcdap.engine.tasks.chunks import conform
from localcdap.engine.tasks.plan import error_record_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

Told = Callable[[str, StageSample], None]
_ONE_TASK: Final = ("spark.sql.leafNodeDefaultParallelism", "1")
"""What has given records processed in one piece."""


class Stepwise:
    """Runs the stages of one phase. Sinks write nothing.

    :param limit: the most records that are read from each source.
    :param shown: the most records that are told of each stream.
    :param told: is told what each stage that handles records made of them, as soon as it has.
    :param given: records that come from elsewhere; the stages that would give them are not run.
    :param left_out: more stages that are not run.
    """

    def __init__(
        self,
        flow: Flow,
        around: Surroundings,
        *,
        limit: int,
        shown: int,
        told: Told,
        given: Mapping[Stream, pa.RecordBatch],
        left_out: Collection[str] = (),
    ) -> None:
        self._flow: Final = flow
        self._around: Final = around
        self._limit: Final = limit
        self._shown: Final = shown
        self._told: Final = told
        self._batches: Final = dict(given)
        self._left_out: Final = {*left_out, *(stream.stage for stream in given)}
        self._persisted: Final[list[DataFrame]] = []
        self._in_one_task = False
        self.problems: Final[list[Problem]] = []
        """Why stages failed; what is behind such a stage was not run."""
        self.counts: Final[dict[str, StageCounts]] = {}
        self.connectors: Final[dict[str, pa.RecordBatch]] = {}
        """By condition: the records that reach it."""

    def run(self) -> None:
        for stage in self._flow.stages:
            if stage.name in self._left_out:
                continue
            if all(stream in self._batches for stream in self._flow.inputs(stage.name)):
                self._run(stage)

    def _run(self, stage: Stage) -> None:
        try:
            with working_on(stage.name), _memory_told(stage.name):
                made = self._made(stage)
        except Exception as error:
            made = PythonRun(problems=[_problem(error, stage)])
        self._tell(stage, made)
        if made.problems:
            self.problems.extend(made.problems)
        else:
            self._batches.update(made.batches)

    def _made(self, stage: Stage) -> PythonRun:
        if stage.type == CONDITION:
            self.connectors[stage.name] = self._all_of(stage)
            return PythonRun()
        if stage.type in SINKS:
            return PythonRun()
        plugin: Any = instantiate(load_plugin(stage.plugin), stage.name, stage.properties)
        if runs_in_python(plugin):
            streams = self._flow.inputs(stage.name)
            schema = feed_schema(stage, plugin, streams)
            facts = self._around.facts(stage, plugin.lookup_tables(), here=True)
            return run_in_python(
                pass_stage(stage, facts), schema, feed(schema, streams, self._batches)
            )
        try:
            return PythonRun(self._collected(stage, self._frames(stage, plugin)))
        finally:
            while self._persisted:
                self._persisted.pop().unpersist()

    # -- stages of DataFrame grain ----------------------------------------------------------

    def _frames(self, stage: Stage, plugin: Any) -> dict[Stream, DataFrame]:
        """The DataFrames that a stage makes of its inputs."""
        errors = Stream(stage.name, errors=True)
        # A stage that is tried alone shows its errors whatever reads them in a pipeline.
        wanted = bool(self._flow.readers(errors)) or len(self._flow.stages) == 1
        context = DriverContext(stage, self._around, wants_errors=wanted, shared=self._shared)
        if stage.type == SOURCE:
            return {Stream(stage.name): plugin.read(context)}
        streams = self._flow.inputs(stage.name)
        if isinstance(plugin, BatchJoiner):
            inputs = {s.stage: self._frame(stage, plugin, [s]) for s in streams}
            return {Stream(stage.name): plugin.apply(inputs, context)}
        given = self._frame(stage, plugin, streams)
        made = plugin.apply(given, context)
        if isinstance(plugin, SplitterTransform):
            return {
                Stream(stage.name, port): made[port] for port in stage.port_schemas if port in made
            }
        streams_made = {Stream(stage.name): made}
        return streams_made if context.errors is None else streams_made | {errors: context.errors}

    def _shared(self, df: DataFrame, _: Column) -> DataFrame:
        """Records and errors are of one execution."""
        kept: DataFrame = df.persist()
        self._persisted.append(kept)
        return kept

    def _frame(self, stage: Stage, plugin: Plugin, streams: list[Stream]) -> DataFrame:
        import pyarrow as pa

        schema = feed_schema(stage, plugin, streams)
        batch = feed(schema, streams, self._batches)
        columns = spark_schema(schema, nullable=True)
        spark = self._around.spark
        if not batch.num_rows:
            return spark.createDataFrame([], columns)
        if not self._in_one_task:
            # As one small file is read in a run: the first record is first for the stages behind it too.
            spark.conf.set(*_ONE_TASK)
            self._in_one_task = True
        return spark.createDataFrame(pa.Table.from_batches([batch]), columns)

    def _collected(
        self, stage: Stage, frames: Mapping[Stream, DataFrame]
    ) -> dict[Stream, pa.RecordBatch]:
        """The records of the DataFrames, once their schemas were compared with the propagated ones."""
        check([Check(s, stage.schema(s), f) for s, f in frames.items() if not s.errors])
        most = self._limit if stage.type == SOURCE else MOST_RECORDS
        made = {
            stream: _taken(_stream_schema(stage, stream), frame.limit(most).toArrow())
            for stream, frame in frames.items()
        }
        errors = Stream(stage.name, errors=True)
        if self._flow.readers(errors) and errors not in made:
            made[errors] = RecordCodec(error_record_schema(stage.schema(errors))).encode([])
        return made

    # -- what is told -----------------------------------------------------------------------

    def _tell(self, stage: Stage, made: PythonRun) -> None:
        counts = StageCounts(
            in_=sum(self._batches[s].num_rows for s in self._flow.inputs(stage.name))
        )
        self.counts[stage.name] = counts
        if stage.type == CONDITION or (stage.type in SINKS and not made.problems):
            sample = self._received(stage)
        else:
            sample = sample_of(stage, made, self._shown)
            counts.out, counts.error = sample.count, sample.error_count
            counts.ports = {port: each.count for port, each in sample.ports.items()}
        self._told(stage.name, sample)

    def _received(self, stage: Stage) -> StageSample:
        """The records that reach a stage that makes none."""
        if not stage.input_schemas:
            return StageSample()
        batch = self._all_of(stage)
        schema = self._schema(stage)
        records = shown_records(schema, batch, self._shown)
        return StageSample(schema, records, count=batch.num_rows)

    def _all_of(self, stage: Stage) -> pa.RecordBatch:
        return feed(self._schema(stage), self._flow.inputs(stage.name), self._batches)

    def _schema(self, stage: Stage) -> Schema:
        """Of the records that reach a stage, all their fields."""
        return feed_schema(stage, Plugin(None), self._flow.inputs(stage.name))


@contextlib.contextmanager
def _memory_told(stage: str) -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise StageError(
            f"Stage '{stage}' took more memory than its process may have.",
            "Let the plugin take less memory, or give it fewer records.",
            stage=stage,
        ) from error


def _problem(error: Exception, stage: Stage) -> Problem:
    """What an exception means, its frames told relative to the artifact."""
    found = stage_error(error, culprit(error, [stage]) or stage.name)
    path = Path(stage.plugin.path)
    root = f"{path if path.is_dir() else path.parent}{os.sep}"
    frames = [note.removeprefix(root) for note in getattr(found, "__notes__", [])]
    trace = "\n".join(frames) or None
    return Problem(found.message, found.corrective_action, stage.name, trace=trace)


def _stream_schema(stage: Stage, stream: Stream) -> Schema:
    schema = stage.schema(stream)
    return error_record_schema(schema) if stream.errors else schema


def _taken(schema: Schema, rows: pa.Table) -> pa.RecordBatch:
    import pyarrow as pa

    codec = RecordCodec(loosened(schema))
    if not rows.num_rows:
        return codec.encode([])
    return pa.concat_batches([conform(batch, codec) for batch in rows.to_batches()])
