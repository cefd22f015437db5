"""The streams of a flow as DataFrames: what the builders of stages and of passes both work on.

Profiles of what reaches the sinks of a run, from a sample that is observed while the records pass.

The sample costs no job: an observation collects some records as JSON. Of each part of the data it takes the
first records, and of the others the fewer the more there are: it grows with the logarithm of their number.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.plugin import BatchAggregator, ErrorTransform, Grain, Plugin, SplitterTransform
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.api.sql_names import quote_column
from localcdap.engine import spark_internals
from localcdap.engine.messages.flow import Flow, Stage, Stream
from localcdap.engine.messages.samples import SinkColumn, SinkProfile
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.expectations import ExpectationPlan, add_rule_columns
from localcdap.engine.plan.phases import (
    PassGroup,
    find_needed_fields,
    fuse_stages,
    list_read_fields,
)
from localcdap.engine.plan.record_counter import RecordCounter
from localcdap.engine.plan.rule_columns import is_sampled
from localcdap.engine.plan.spark_types import SchemaCheck, spark_schema
from localcdap.engine.spark_internals import add_below_observations, create_observation
from localcdap.engine.tasks.pass_plan import error_record_schema
from localcdap.expectations.schema_checks import has_diverting_rule

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_PLACE: Final = "__profile_place"
_IS_KEPT: Final = "__profile_kept"
_ROWS: Final = "rows"
_SAMPLE: Final = "sample"
_MOST_COLUMNS: Final = 200
_MOST_SAMPLED: Final = 20_000
_LONGEST: Final = 100
"""Characters of a text that are looked at."""
_KEPT: Final = (
    f"{_PLACE} < if(spark_partition_id() < 8, 1000, 50) or {_PLACE} % 128 = 0 and "
    f"{_PLACE} % cast(power(2, greatest(floor(log2({_PLACE})) - 6, 0)) as bigint) = 0"
)
"""Whether the record of a place, from 0, in its part of the data is in the sample: from place 1,000 on, 64
for each doubling of the place. The local server has the same rule, ``RecordSampler``."""
_PLACE_MASK: Final = (1 << 33) - 1
"""The bits of ``monotonically_increasing_id`` that number the records of a part."""
_NESTED: Final = (Type.ARRAY, Type.MAP, Type.RECORD, Type.UNION, Type.BYTES)


class SinkProfiler:
    """Takes the samples of the sinks of one plan.

    :param prefix: of the names of observations.
    :param is_local: whether the tasks are on this machine, see :mod:`localcdap.engine.plan.rule_columns`.
    """

    def __init__(self, prefix: str, *, is_local: bool) -> None:
        self._prefix: Final = "localcdap_profile_" + re.sub(r"\W", "_", prefix)
        self._is_local: Final = is_local
        self._observed: Final[list[tuple[str, list[tuple[str, Schema]], Any]]] = []

    def observe(
        self, stage: str, schema: Schema, frame: DataFrame, *, is_read_once: bool
    ) -> DataFrame:
        """Return the records of a sink, of which a sample is taken while they are written.

        :param schema: of the records, in the order of the columns.
        :param is_read_once: whether the sink is the only reader of the DataFrame, which is not persisted.
        """
        from pyspark.sql import functions as f

        fields = [(field.name, field.schema.non_nullable) for field in schema][:_MOST_COLUMNS]
        values = [_shorten(name, type).alias(str(i)) for i, (name, type) in enumerate(fields)]
        is_kept = is_sampled() if self._is_local else f.col(_IS_KEPT)
        record = f.when(is_kept, f.to_json(f.struct(*values)))
        observed = f.count(f.lit(1)).alias(_ROWS), f.collect_list(record).alias(_SAMPLE)
        observation = create_observation(f"{self._prefix}_{len(self._observed)}")
        self._observed.append((stage, fields, observation))
        if self._is_local:
            return frame.observe(observation, *observed)
        # Spark copies each record after an observation when columns are added or removed.
        placed = add_below_observations(frame, _add_place) if is_read_once else _add_place(frame)
        return placed.observe(observation, *observed).select(*map(quote_column, schema.field_names))

    def get_profiles(self) -> list[SinkProfile]:
        """Return the profiles in the order of the sinks; waits for the observations."""
        profiles = []
        for stage, fields, observation in self._observed:
            found = observation.get
            sample = [json.loads(text) for text in (found.get(_SAMPLE) or ())[:_MOST_SAMPLED]]
            columns = [
                _profile(name, type, [record.get(str(i)) for record in sample])
                for i, (name, type) in enumerate(fields)
            ]
            profiles.append(SinkProfile(stage, int(found.get(_ROWS) or 0), len(sample), columns))
        return profiles


def _add_place(frame: DataFrame) -> DataFrame:
    """Add whether a record is in the sample: Spark's functions do not find the place in an observation."""
    from pyspark.sql import functions as f

    place = f.monotonically_increasing_id().bitwiseAND(f.lit(_PLACE_MASK))
    return frame.withColumn(_PLACE, place).withColumn(_IS_KEPT, f.expr(_KEPT)).drop(_PLACE)


def _shorten(name: str, type: Schema) -> Column:
    """Return a value as the sample has it: of a nested one, only whether it is there."""
    from pyspark.sql import functions as f

    column = f.col(quote_column(name))
    if type.type in _NESTED and type.logical_type is not LogicalType.DECIMAL:
        return f.when(column.isNotNull(), f.lit(True))
    if type.logical_type is None and type.type in (Type.STRING, Type.ENUM):
        return f.substring(column, 1, _LONGEST)
    return column


def _profile(name: str, type: Schema, values: list[Any]) -> SinkColumn:
    known = [value for value in values if value is not None]
    profile = SinkColumn(name, type.display_name, len(values) - len(known))
    if type.type in _NESTED and type.logical_type is not LogicalType.DECIMAL:
        return profile
    profile.distinct = len(set(known))
    # NaN and infinite numbers are texts in JSON.
    comparable = (
        [v for v in known if isinstance(v, str)] if _has_texts(type) else _list_numbers(known)
    )
    if comparable and type.type is not Type.BOOLEAN:
        profile.lowest, profile.highest = str(min(comparable)), str(max(comparable))
    return profile


def _has_texts(type: Schema) -> bool:
    """Return whether the values of a type are texts in JSON."""
    if type.logical_type is not None:
        return type.logical_type is not LogicalType.DECIMAL
    return type.type in (Type.STRING, Type.ENUM)


def _list_numbers(values: list[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, int | float)]


@dataclasses.dataclass
class PlannedSink:
    """A sink with everything that it needs to write."""

    stage: Stage
    plugin: Any
    frame: DataFrame
    context: DriverContext


@dataclasses.dataclass
class AppliedStage:
    """A stage of DataFrame grain that can be applied to other records than its own."""

    stage: Stage
    inputs: dict[str, DataFrame]
    """Its input records, by the stage that they come from; those of several stages of one schema are one."""
    schemas: dict[str, Schema]
    """The schemas of the inputs."""
    apply: Callable[[Mapping[str, DataFrame]], Sequence[DataFrame]]
    """Returns the outputs for some inputs; what the stage counts then is not reported."""


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
    applied: dict[str, AppliedStage] = dataclasses.field(default_factory=dict)
    """The stages of DataFrame grain with inputs, by name; without sinks."""
    plugins: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The plugins of the stages, by stage."""


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
        self.plan: Final = Plan([], [], self.counter, {}, [], plugins=plugins)
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
        """Have the records of a stream counted: with the violations of its rules, or values that a stage
        altered, if Spark counts these among all of the records.
        """
        rules = self.plan.expectations
        observation = None if rules is None else rules.find_row_count(stream)
        if observation is None:
            observation = self.run.altered.find_row_count(frame)
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
        if has_diverting_rule(self.flow.get_stage(reader).expectations):
            is_counted_after = False  # its rules take records out
        else:
            is_counted_after = getattr(self.plugins[reader], "one_to_one", False)
        group = self.group_of.get(reader)
        if group is not None:
            if self.is_only_feed(stream, group):
                self.counter.count_in_pass(stream)
                return True
            return False
        is_only_input = len(self.flow.list_inputs(reader)) == 1
        if is_only_input and is_counted_after:
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
