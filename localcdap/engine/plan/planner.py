"""One lazy Spark plan for a whole pipeline, built before the first record is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import StageError
from localcdap.api.plugin import BatchAggregator, ErrorTransform, Grain, Plugin, SplitterTransform
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.driver.blame import working_on
from localcdap.engine.driver.contexts import DriverContext, Surroundings, quoted
from localcdap.engine.plan.checking import Check
from localcdap.engine.plan.connector import Connector
from localcdap.engine.plan.counting import Counting
from localcdap.engine.plan.fields import needed_fields, read_fields
from localcdap.engine.plan.flow import (
    CONDITION,
    JOINER,
    SINKS,
    SOURCE,
    Flow,
    Stage,
    Stream,
    instantiate,
)
from localcdap.engine.plan.fusing import Group, fuse
from localcdap.engine.plan.passes import build_pass
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.engine.tasks.plan import error_record_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclasses.dataclass
class Sink:
    """A sink with everything that it needs to write."""

    stage: Stage
    plugin: Any
    frame: DataFrame
    context: DriverContext


@dataclasses.dataclass
class Plan:
    """A pipeline as DataFrames; nothing was read yet."""

    sinks: list[Sink]
    checks: list[Check]
    counting: Counting | None
    frames: dict[Stream, DataFrame]
    """What the readers of each stream get."""
    persisted: list[DataFrame]
    """Computed once for several readers; to be released at the end."""
    connectors: dict[str, DataFrame] = dataclasses.field(default_factory=dict)
    """By condition: the records that reach it, for later phases; to be released at the end of the run."""
    explained: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """By stage, how it runs, line by line."""


def plan(
    flow: Flow,
    run: Surroundings,
    *,
    counts: bool,
    given: Mapping[str, DataFrame] = MappingProxyType({}),
) -> Plan:
    """Build the plan of a pipeline, or of one phase of it.

    :param counts: whether records are counted.
    :param given: by condition, the records that an earlier phase has kept.
    :raises StageError: when a stage cannot be planned.
    """
    return Planner(flow, run, counts=counts, given=given).build()


class Planner:
    """Builds the DataFrames stage by stage. Use :func:`plan`."""

    def __init__(
        self, flow: Flow, run: Surroundings, *, counts: bool, given: Mapping[str, DataFrame]
    ) -> None:
        self.flow: Final = flow
        self.run: Final = run
        self.given: Final = given
        self.plugins: Final = {s.name: _instance(s) for s in flow.stages}
        # Plans of one run may hold parts of each other, so that names are not used twice.
        prefix = f"{run.run_id}_{next(run.numbers)}"
        self.counting: Final = Counting(prefix) if counts else None
        self.result: Final = Plan([], [], self.counting, {}, [])
        self._read: Final = {s.name: read_fields(self.plugins[s.name], s) for s in flow.stages}
        self._needed: Final = needed_fields(flow, self._read)
        in_python = {name for name, plugin in self.plugins.items() if runs_in_python(plugin)}
        self.groups: Final = fuse(flow, in_python)
        self._home: Final = {name: group for group in self.groups for name in group.stages}
        self._built: Final[set[int]] = set()

    def build(self) -> Plan:
        for stage in self.flow.stages:
            group = self._home.get(stage.name)
            with working_on(stage.name):
                if group is None:
                    self._build(stage)
                elif id(group) not in self._built:
                    self._built.add(id(group))
                    build_pass(self, group)
                    self._explain_pass(group, len(self._built))
        return self.result

    def _explain_pass(self, group: Group, number: int) -> None:
        line = f"records  in Python, pass {number} of {len(self.groups)}"
        for name in group.stages:
            others = [f"'{other}'" for other in group.stages if other != name]
            together = f", together with {', '.join(others)}" if others else ""
            self.result.explained[name] = [line + together]

    # -- what passes need too ---------------------------------------------------------------

    def schema(self, stream: Stream) -> Schema:
        """The schema of a stream as its readers get it: error records wrapped, needless fields gone."""
        full = self.flow.stage(stream.stage).schema(stream)
        if stream.errors:
            return error_record_schema(full)
        names = self._needed.get(stream, full.field_names)
        return Schema.record(full.name or "record", [f for f in full if f.name in names])

    def united_schema(self, streams: list[Stream]) -> Schema:
        """The fields that are there of all of the streams; other readers may need more of one."""
        schemas = [self.schema(stream) for stream in streams]
        common = [f for f in schemas[0] if all(s.field(f.name) for s in schemas)]
        return Schema.record(schemas[0].name or "record", common)

    def united(self, streams: list[Stream]) -> DataFrame:
        """The records of streams that have the same schema."""
        frames = []
        schema = self.united_schema(streams)
        for stream in streams:
            frame = self.result.frames[stream]
            if self.schema(stream).field_names != schema.field_names:
                frame = frame.select(*map(quoted, schema.field_names))
            frames.append(frame)
        return assume_schema(reduce(lambda one, other: one.union(other), frames), schema)

    def publish(
        self, stream: Stream, frame: DataFrame, *, counted: bool = False, kept: bool = False
    ) -> None:
        """Give a stream to its readers: needed fields only, counted once, computed once.

        :param counted: whether the records are counted already.
        :param kept: whether what they are taken from is computed once already.
        """
        schema = self.schema(stream)
        if not stream.errors:
            full = self.flow.stage(stream.stage).schema(stream)
            if schema.field_names != full.field_names:
                frame = frame.select(*map(quoted, schema.field_names))
        if self.counting is not None and not counted and not self._counted_elsewhere(stream):
            frame = self.counting.observe(frame, stream)
        if self.uses(stream) > 1 and not kept:
            frame = self.persist(frame)
        self.result.frames[stream] = assume_schema(frame, schema)

    def persist(self, frame: DataFrame) -> DataFrame:
        """Have a DataFrame computed once while this plan is executed."""
        kept = self.keep(frame)
        self.result.persisted.append(kept)
        return kept

    def keep(self, frame: DataFrame) -> DataFrame:
        """Have a DataFrame computed once, kept in memory and, where that is short, on disk."""
        from pyspark import StorageLevel

        kept: DataFrame = frame.persist(StorageLevel.MEMORY_AND_DISK)
        return kept

    def uses(self, stream: Stream) -> int:
        """How often Spark would compute a stream if it were not kept."""
        total = 0
        groups: set[int] = set()
        for name in self.flow.readers(stream):
            group = self._home.get(name)
            if group is not None and id(group) not in groups:
                groups.add(id(group))
                total += 1
            elif group is None and isinstance(self.plugins[name], SplitterTransform):
                total += len({c.port for c in self.flow.connections if c.source == name})
            elif group is None:
                total += 1
        return total

    def feeds_alone(self, stream: Stream, group: Group) -> bool:
        """Whether a pass reads this stream only and is the stream's only reader."""
        return group.feeds == [stream] and not group.grouped and self.uses(stream) == 1

    # -- stages of DataFrame grain ----------------------------------------------------------

    def _build(self, stage: Stage) -> None:
        plugin = self.plugins[stage.name]
        context = self._context(stage)
        if stage.type in SINKS:
            frame = self._input(stage)
            self.result.sinks.append(Sink(stage, plugin, frame, context))
        elif stage.type == CONDITION:
            self._build_condition(stage, plugin, context)
        elif stage.type == SOURCE:
            self._publish_made(stage, plugin.read(context), context)
        elif stage.type == JOINER:
            inputs = {s.stage: self._narrowed(stage, [s]) for s in self.flow.inputs(stage.name)}
            self._publish_made(stage, plugin.apply(inputs, context), context)
        elif isinstance(plugin, SplitterTransform):
            self._publish_ports(stage, plugin.apply(self._input(stage), context))
        else:
            self._publish_made(stage, plugin.apply(self._input(stage), context), context)
        self.result.explained[stage.name] = context.lines or ["native"]

    def _build_condition(self, stage: Stage, plugin: Any, context: DriverContext) -> None:
        """Records on their way from a phase to a later one."""
        if stage.name in self.given:
            self.publish(Stream(stage.name), self.given[stage.name], kept=True)
        else:
            frame = self.keep(self._input(stage))
            self.result.connectors[stage.name] = frame
            self.result.sinks.append(Sink(stage, plugin, frame, context))

    def _input(self, stage: Stage) -> DataFrame:
        return self._narrowed(stage, self.flow.inputs(stage.name))

    def _narrowed(self, stage: Stage, streams: list[Stream]) -> DataFrame:
        """The input of a stage, with the fields that it reads."""
        frame = self.united(streams)
        given = self.united_schema(streams)
        wanted = self._read[stage.name].get(streams[0].stage, given.field_names)
        names = [name for name in given.field_names if name in wanted]
        if names == given.field_names:
            return frame
        kept = Schema.record(given.name or "record", [f for f in given if f.name in names])
        return assume_schema(frame.select(*map(quoted, names)), kept)

    def _publish_made(self, stage: Stage, frame: DataFrame, context: DriverContext) -> None:
        stream = Stream(stage.name)
        self._check(stream, frame)
        self.publish(stream, frame)
        if context.wants_errors:
            errors = Stream(stage.name, errors=True)
            made = context.errors
            if made is None:
                made = context.empty(self.schema(errors))
            self.publish(errors, made, counted=True, kept=True)

    def _context(self, stage: Stage) -> DriverContext:
        wanted = bool(self.flow.readers(Stream(stage.name, errors=True)))

        def shared(df: DataFrame, is_error: Column) -> DataFrame:
            if self.counting is not None:
                df = self.counting.observe_errors(df, stage.name, is_error)
            return self.persist(df) if wanted else df

        return DriverContext(stage, self.run, wants_errors=wanted, shared=shared)

    def _publish_ports(self, stage: Stage, ports: Mapping[str, DataFrame]) -> None:
        connected = dict.fromkeys(c.port for c in self.flow.connections if c.source == stage.name)
        for port in connected:
            if port is None or port not in ports:
                raise StageError(
                    f"Stage '{stage.name}' has no records for port '{port}'; its ports are: "
                    f"{', '.join(ports)}.",
                    stage=stage.name,
                )
            self._check(Stream(stage.name, port), ports[port])
            self.publish(Stream(stage.name, port), ports[port])

    def _check(self, stream: Stream, frame: DataFrame) -> None:
        schema = self.flow.stage(stream.stage).schema(stream)
        self.result.checks.append(Check(stream, schema, frame))

    def _counted_elsewhere(self, stream: Stream) -> bool:
        """Leave the counting to the stream's one reader where that is cheaper."""
        assert self.counting is not None
        if self.uses(stream) != 1:
            return False
        reader = self.flow.readers(stream)[0]
        group = self._home.get(reader)
        if group is not None:
            if self.feeds_alone(stream, group):
                self.counting.feeds(stream)
                return True
            return False
        alone = len(self.flow.inputs(reader)) == 1
        if alone and getattr(self.plugins[reader], "one_to_one", False):
            if isinstance(self.plugins[reader], SplitterTransform):
                return False
            # Counted behind the reader, where fewer columns are left.
            self.counting.share(stream, Stream(reader))
            return True
        return False


def runs_in_python(plugin: Plugin) -> bool:
    """Whether the records of a plugin's stage go through Python."""
    if isinstance(plugin, ErrorTransform):
        return True
    grain = type(plugin).grain()
    if isinstance(plugin, BatchAggregator):
        return grain is not Grain.DATAFRAME
    return grain in (Grain.RECORD, Grain.BATCH)


def assume_schema(frame: DataFrame, schema: Schema) -> DataFrame:
    """The DataFrame with its schema known, so that asking for columns costs no round trip to Spark.

    The schema is checked all the same, on what the plugin returned: this is another object.
    """
    known: DataFrame = type(frame)(frame._plan, frame._session)
    known._cached_schema = spark_schema(schema, nullable=True)
    return known


def _instance(stage: Stage) -> Any:
    if stage.type == CONDITION:
        return Connector({})
    with working_on(stage.name):
        return instantiate(load_plugin(stage.plugin), stage.name, stage.properties)
