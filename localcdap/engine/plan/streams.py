"""The streams of a flow as DataFrames: what the builders of stages and of passes both work on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.plugin import BatchAggregator, ErrorTransform, Grain, Plugin, SplitterTransform
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_column
from localcdap.engine import spark_internals
from localcdap.engine.messages.flow import Flow, Stage, Stream
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.expectations import ExpectationPlan, add_rule_columns
from localcdap.engine.plan.flow_analysis import (
    PassGroup,
    find_needed_fields,
    fuse_stages,
    list_read_fields,
)
from localcdap.engine.plan.record_counter import RecordCounter
from localcdap.engine.plan.schema_checks import SchemaCheck
from localcdap.engine.plan.sink_profiles import SinkProfiler
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.engine.tasks.pass_plan import error_record_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclasses.dataclass
class PlannedSink:
    """A sink with everything that it needs to write."""

    stage: Stage
    plugin: Any
    frame: DataFrame
    context: DriverContext


@dataclasses.dataclass
class Plan:
    """A pipeline as lazy DataFrames; nothing has been read yet."""

    sinks: list[PlannedSink]
    checks: list[SchemaCheck]
    counter: RecordCounter | None
    frames: dict[Stream, DataFrame]
    """The DataFrame that the readers of each stream get."""
    persisted: list[DataFrame]
    """Computed once for several readers; to be unpersisted after the plan was executed. None of them is made
    of a later one.
    """
    connectors: dict[str, DataFrame] = dataclasses.field(default_factory=dict)
    """The records that reach each condition, for later phases; they are unpersisted at the end of the run."""
    explained: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """The explanation of how each stage runs, as lines by stage."""
    expectations: ExpectationPlan | None = None
    """None when no stage has expectations."""
    profiler: SinkProfiler | None = None
    """None when no profiles are taken."""


class PlannedStreams:
    """The streams of a plan that is being built.

    :param plugins: by stage.
    """

    def __init__(
        self, flow: Flow, run: RunContext, plugins: Mapping[str, Any], *, counts: bool
    ) -> None:
        self.flow: Final = flow
        self.run: Final = run
        self.plugins: Final = plugins
        # Plans of one run may contain parts of each other, so the names of their counters must differ.
        prefix = f"{run.run_id}_{next(run.numbers)}"
        self.counter: Final = RecordCounter(prefix) if counts else None
        self.plan: Final = Plan([], [], self.counter, {}, [])
        self.read_fields: Final = {
            stage.name: list_read_fields(plugins[stage.name], stage) for stage in flow.stages
        }
        if run.profiles:
            self.plan.profiler = SinkProfiler(prefix, is_local=run.message_directory is not None)
        if any(stage.expectations for stage in flow.stages):
            self.plan.expectations = ExpectationPlan(flow, run, prefix, self.persist)
        read = {s.name: add_rule_columns(s, self.read_fields[s.name]) for s in flow.stages}
        self._persisted: Final[set[Stream]] = set()
        self._needed: Final = find_needed_fields(flow, read)
        in_python = {name for name, plugin in plugins.items() if runs_in_python(type(plugin))}
        self.groups: Final = fuse_stages(flow, in_python)
        self.group_of: Final[Mapping[str, PassGroup]] = {
            name: group for group in self.groups for name in group.stages
        }

    def get_schema(self, stream: Stream) -> Schema:
        """Return the schema that readers of a stream get: error records wrapped, unneeded fields removed."""
        full = self.flow.get_stage(stream.stage).get_schema(stream)
        if stream.errors:
            return error_record_schema(full)
        names = self._needed.get(stream, full.field_names)
        return Schema.record(full.name or "record", [f for f in full if f.name in names])

    def get_common_schema(self, streams: list[Stream]) -> Schema:
        """Return the fields that all of the streams have; other readers may need more fields of one."""
        schemas = [self.get_schema(stream) for stream in streams]
        common = [f for f in schemas[0] if all(s.field(f.name) for s in schemas)]
        return Schema.record(schemas[0].name or "record", common)

    def unite(self, streams: list[Stream]) -> DataFrame:
        """Return the records of several streams, with the fields that all of them have."""
        frames = []
        schema = self.get_common_schema(streams)
        for stream in streams:
            frame = self.plan.frames[stream]
            if self.get_schema(stream).field_names != schema.field_names:
                frame = frame.select(*map(quote_column, schema.field_names))
            frames.append(frame)
        return assume_schema(reduce(lambda one, other: one.union(other), frames), schema)

    def publish(
        self, stream: Stream, frame: DataFrame, *, counted: bool = False, persisted: bool = False
    ) -> None:
        """Give a stream to its readers: only the needed fields, counted once, computed once.

        :param counted: whether the records are counted already.
        :param persisted: whether the DataFrame that they are taken from is computed only once already.
        """
        schema = self.get_schema(stream)
        if self.plan.expectations is not None:
            frame, is_changed = self.plan.expectations.check_stream(stream, frame)
            counted = counted and (stream.errors or not is_changed)
        if not stream.errors:
            full = self.flow.get_stage(stream.stage).get_schema(stream)
            if schema.field_names != full.field_names:
                frame = frame.select(*map(quote_column, schema.field_names))
        if self.counter is not None and not counted and not self._leave_count_to_reader(stream):
            frame = self._count(self.counter, stream, frame)
        if persisted:
            self._persisted.add(stream)
        elif self.count_uses(stream) > 1:
            frame = self.persist(frame)
        self.plan.frames[stream] = assume_schema(frame, schema)

    def _count(self, counter: RecordCounter, stream: Stream, frame: DataFrame) -> DataFrame:
        """Have the records of a stream counted, once for the rules of the stage and the counts."""
        rules = self.plan.expectations
        observation = None if rules is None else rules.find_row_count(stream)
        if observation is None:
            return counter.observe(frame, stream)
        counter.take_from(observation, stream)
        return frame

    def persist(self, frame: DataFrame) -> DataFrame:
        """Have a DataFrame computed once while this plan is executed, see :func:`persist_frames`."""
        self.plan.persisted.append(frame)
        return frame

    def count_uses(self, stream: Stream) -> int:
        """Return how often Spark would compute a stream if it were not persisted."""
        total = 0
        groups: set[int] = set()
        for name in self.flow.list_readers(stream):
            group = self.group_of.get(name)
            if group is not None and id(group) not in groups:
                groups.add(id(group))
                total += 1
            elif group is None and isinstance(self.plugins[name], SplitterTransform):
                total += len({c.port for c in self.flow.connections if c.source == name})
            elif group is None:
                total += 1
        return total

    def is_read_once(self, stream: Stream) -> bool:
        """Return whether a stream has one reader, and its DataFrame is not persisted for anything else."""
        shares = self.flow.list_readers(Stream(stream.stage, errors=True))
        return self.count_uses(stream) == 1 and stream not in self._persisted and not shares

    def is_only_feed(self, stream: Stream, group: PassGroup) -> bool:
        """Whether a pass reads this stream only and is the stream's only reader."""
        return group.feeds == [stream] and not group.grouped and self.count_uses(stream) == 1

    def check(self, stream: Stream, frame: DataFrame) -> None:
        """Have the schema of a DataFrame that a plugin made compared with the propagated one."""
        schema = self.flow.get_stage(stream.stage).get_schema(stream)
        self.plan.checks.append(SchemaCheck(stream, schema, frame))

    def _leave_count_to_reader(self, stream: Stream) -> bool:
        """Leave the counting to the stream's only reader where that is cheaper; say whether it is."""
        assert self.counter is not None
        if self.count_uses(stream) != 1:
            return False
        reader = self.flow.list_readers(stream)[0]
        group = self.group_of.get(reader)
        if group is not None:
            if self.is_only_feed(stream, group):
                self.counter.count_in_pass(stream)
                return True
            return False
        is_only_input = len(self.flow.list_inputs(reader)) == 1
        if is_only_input and getattr(self.plugins[reader], "one_to_one", False):
            if isinstance(self.plugins[reader], SplitterTransform):
                return False
            # Counted after the reader, where fewer columns are left.
            self.counter.share(stream, Stream(reader))
            return True
        return False


def persist_frames(plans: Iterable[Plan]) -> None:
    """Have what is to be computed once stored in memory and, where that does not suffice, on disk.

    Spark plans each DataFrame for that, which takes longer than its analysis. It looks for the persisted
    parts of a DataFrame at that time, so that their order matters.
    """
    from pyspark import StorageLevel

    for plan in plans:
        for frame in (*plan.persisted, *plan.connectors.values()):
            frame.persist(StorageLevel.MEMORY_AND_DISK)


def runs_in_python(plugin: type[Plugin]) -> bool:
    """Whether the records of a plugin's stage go through Python."""
    if issubclass(plugin, ErrorTransform):
        return True
    grain = plugin.grain()
    if issubclass(plugin, BatchAggregator):
        return grain is not Grain.DATAFRAME
    return grain in (Grain.RECORD, Grain.BATCH)


def assume_schema(frame: DataFrame, schema: Schema) -> DataFrame:
    """Return the DataFrame with its schema known, so that asking for columns costs no round trip to Spark.

    The schema is still checked, on the DataFrame that the plugin returned: this is another object.
    """
    return spark_internals.assume_schema(frame, spark_schema(schema, nullable=True))
