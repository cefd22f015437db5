"""One lazy Spark plan for a whole pipeline, built before the first record is read.

Stages of DataFrame grain are applied one by one; stages of record and batch grain run fused, see
:mod:`localcdap.engine.plan.planner`. Spark's optimizer then sees the whole pipeline at once.

A fused pass as DataFrames: one ``mapInArrow``, and one DataFrame for each stream that leaves it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import StageError
from localcdap.api.plugin import BatchSink, SplitterTransform
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_column
from localcdap.api.stage import SinkContext
from localcdap.engine.messages.flow import CONDITION, JOINER, SINKS, SOURCE, Flow, Stage, Stream
from localcdap.engine.plan.contexts import DriverContext, RunContext
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.phases import PassGroup, list_inputs_in_pass, list_outlets
from localcdap.engine.plan.preparation import get_plugin, read_declared
from localcdap.engine.plan.record_counter import RunAlteredValues, list_pass_counts
from localcdap.engine.plan.spark_types import make_addressable, spark_schema
from localcdap.engine.plan.streams import (
    AppliedStage,
    Plan,
    PlannedSink,
    PlannedStreams,
    assume_schema,
)
from localcdap.engine.tasks.aggregation import (
    GROUP,
    build_grouped_schema,
    create_grouping_pass,
    is_reducible,
)
from localcdap.engine.tasks.context import StageContextData
from localcdap.engine.tasks.fused_pass import create_fused_pass
from localcdap.engine.tasks.pass_plan import (
    OUTLET,
    REPORT,
    PassPlan,
    PassStage,
    error_record_schema,
    get_outlet_column,
    list_outlet_schemas,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


_SPARK_COMPUTE: Final = "sparkcompute"


def build_pass(streams: PlannedStreams, group: PassGroup) -> None:
    """Build a pass and publish the streams that leave it."""
    plan = _plan_pass(streams, group)
    names = plan.feed_schema.field_names
    frame = make_addressable(streams.unite(group.feeds), names)
    if group.grouped:
        plugin = type(streams.plugins[group.stages[0]])
        grouped = build_grouped_schema(plugin, plan.feed_schema)
        frame = _group_records(streams, frame, plan, grouped)
        frame = make_addressable(frame, grouped.field_names)
    result = frame.mapInArrow(create_fused_pass(plan), _list_columns(plan))
    if streams.counter is not None:
        result = streams.counter.observe_pass(result, plan.counts)
    if len(plan.outlets) == 1:
        _publish_single(streams, plan, result)
    else:
        _publish_several(streams, plan, result)


def _plan_pass(streams: PlannedStreams, group: PassGroup) -> PassPlan:
    flow = streams.flow
    members = [flow.get_stage(name) for name in group.stages]
    feed = group.feeds[0]
    counts = []
    if streams.counter is not None:
        counts_feed = streams.is_only_feed(feed, group) and not feed.errors
        counts = list_pass_counts(feed, members, grouped=group.grouped, counts_feed=counts_feed)
    return PassPlan(
        feed=feed,
        feed_schema=streams.get_common_schema(group.feeds),
        stages=[
            PassStage(
                plugin=streams.run.locate_for_workers(stage.plugin),
                properties=stage.properties,
                data=_create_stage_data(streams, stage),
                inputs=list_inputs_in_pass(group, flow, stage),
                has_error_reader=bool(flow.list_readers(Stream(stage.name, errors=True))),
            )
            for stage in members
        ],
        outlets=list_outlets(group, flow),
        counts=counts,
        grouped=group.grouped,
        message_directory=streams.run.message_directory,
    )


def _create_stage_data(streams: PlannedStreams, stage: Stage) -> StageContextData:
    with stage_scope(stage.name):
        plugin = streams.plugins[stage.name]
        metadata = read_declared(streams.run, stage, plugin)
        return streams.run.create_stage_data(stage, plugin.lookup_tables(), metadata)


def _group_records(
    streams: PlannedStreams, frame: DataFrame, plan: PassPlan, grouped: Schema
) -> DataFrame:
    """Return the records, or the values that they are reduced to, sorted by group."""
    from pyspark.sql.types import BinaryType

    columns = spark_schema(grouped, nullable=True)
    counter = streams.counter
    run = create_grouping_pass(
        plan.stages[0], plan.feed_schema, plan.message_directory, reports=counter is not None
    )
    if counter is None:
        keyed = frame.mapInArrow(run, columns)
    else:
        reported = frame.mapInArrow(run, columns.add(REPORT, BinaryType()))
        keyed = _remove_reports(counter.observe_pass(reported, []))
    return keyed.repartition(GROUP).sortWithinPartitions(GROUP)


def _list_columns(plan: PassPlan) -> StructType:
    """Return the columns of the batches that leave the workers, see :class:`PassLayout`."""
    from pyspark.sql.types import BinaryType, IntegerType, StructType

    schemas = [spark_schema(schema, nullable=True) for schema in list_outlet_schemas(plan)]
    if len(schemas) == 1:
        columns = schemas[0]
    else:
        columns = StructType().add(OUTLET, IntegerType())
        for index, struct in enumerate(schemas):
            columns = columns.add(get_outlet_column(index), struct)
    return columns.add(REPORT, BinaryType()) if plan.counts else columns


def _publish_single(streams: PlannedStreams, plan: PassPlan, result: DataFrame) -> None:
    if plan.counts:
        result = _remove_reports(result)
    streams.publish(plan.outlets[0], result, counted=True)


def _remove_reports(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    rows: DataFrame = frame.where(f.col(REPORT).isNull()).drop(REPORT)
    return rows


def _publish_several(streams: PlannedStreams, plan: PassPlan, result: DataFrame) -> None:
    from pyspark.sql import functions as f

    result = streams.persist(result)
    schemas = list_outlet_schemas(plan)
    for index, (stream, schema) in enumerate(zip(plan.outlets, schemas, strict=True)):
        column = get_outlet_column(index)
        rows = result.where(f.col(OUTLET) == index)
        names = [f.col(f"{column}.{quote_column(name)}").alias(name) for name in schema.field_names]
        streams.publish(stream, rows.select(*names), counted=True, persisted=True)


class ConditionSink(BatchSink):
    """The end of a phase at a condition: computes the records once, which later phases read.

    CDAP puts a connector at the same place (``PipelinePlanner``).
    """

    def write(self, df: DataFrame, context: SinkContext) -> None:
        """Compute the records, which are persisted, and discard them."""
        df.write.format("noop").mode("overwrite").save()


def plan_flow(
    flow: Flow,
    run: RunContext,
    *,
    counts: bool,
    given: Mapping[str, DataFrame] = MappingProxyType({}),
) -> Plan:
    """Build the plan of a pipeline, or of one phase of it.

    :param counts: whether records are counted.
    :param given: by condition, the records that an earlier phase has persisted.
    :raises StageError: when a stage cannot be planned.
    """
    return _Planner(flow, run, counts=counts, given=given).build()


class _Planner:
    """Builds the DataFrames stage by stage."""

    def __init__(
        self, flow: Flow, run: RunContext, *, counts: bool, given: Mapping[str, DataFrame]
    ) -> None:
        self._flow: Final = flow
        self._run: Final = run
        self._given: Final = given
        self._plugins: Final = {s.name: _get_plugin(run, s) for s in flow.stages}
        self._streams: Final = PlannedStreams(flow, run, self._plugins, counts=counts)
        self._plan: Final = self._streams.plan

    def build(self) -> Plan:
        built: set[int] = set()
        for stage in self._flow.stages:
            group = self._streams.group_of.get(stage.name)
            with stage_scope(stage.name):
                if group is None:
                    self._build_stage(stage)
                elif id(group) not in built:
                    built.add(id(group))
                    build_pass(self._streams, group)
                    self._explain_pass(group, len(built))
        return self._plan

    def _explain_pass(self, group: PassGroup, number: int) -> None:
        line = f"records  in Python, pass {number} of {len(self._streams.groups)}"
        for name in group.stages:
            others = [f"'{other}'" for other in group.stages if other != name]
            suffix = f", together with {', '.join(others)}" if others else ""
            self._plan.explained[name] = [line + suffix]
        first = group.stages[0]
        if is_reducible(type(self._plugins[first])):
            self._plan.explained[first].append("groups   reduced to values before the shuffle")

    def _build_stage(self, stage: Stage) -> None:
        plugin = self._plugins[stage.name]
        context = self._create_context(stage)
        if stage.type in SINKS:
            frame = self._cache_input(plugin, self._get_sink_input(stage))
            self._plan.sinks.append(PlannedSink(stage, plugin, frame, context))
        elif stage.type == CONDITION:
            self._build_condition(stage, plugin, context)
        elif stage.type == SOURCE:
            self._publish_output(stage, plugin.read(context), context)
        elif stage.type == JOINER:
            streams = self._flow.list_inputs(stage.name)
            inputs = {s.stage: self._select_read_fields(stage, [s]) for s in streams}
            schemas = {s.stage: self._get_read_schema(stage, [s]) for s in streams}
            self._publish_output(stage, plugin.apply(inputs, context), context)
            self._note_applied(stage, inputs, schemas)
        else:
            self._build_transform(stage, plugin, context)
        self._plan.explained[stage.name] = context.lines or ["native"]

    def _build_transform(self, stage: Stage, plugin: Any, context: DriverContext) -> None:
        given = self._get_input(stage)
        if isinstance(plugin, SplitterTransform):
            self._publish_ports(stage, plugin.apply(given, context))
        else:
            given = self._cache_input(plugin, given)
            self._publish_output(stage, plugin.apply(given, context), context)
        streams = self._flow.list_inputs(stage.name)
        schema = self._get_read_schema(stage, streams)
        self._note_applied(stage, {streams[0].stage: given}, {streams[0].stage: schema})

    def _note_applied(
        self, stage: Stage, inputs: dict[str, DataFrame], schemas: dict[str, Schema]
    ) -> None:
        """Remember how a stage is applied to other records, unless its plugin may do more than that."""
        if stage.type == _SPARK_COMPUTE:
            return
        plugin = self._plugins[stage.name]
        run = dataclasses.replace(self._run, altered=RunAlteredValues(), metrics={})

        def apply(inputs: Mapping[str, DataFrame]) -> list[DataFrame]:
            context = self._create_context(stage, run)
            if stage.type == JOINER:
                return [plugin.apply(inputs, context)]
            (given,) = inputs.values()
            result = plugin.apply(given, context)
            return list(result.values()) if isinstance(plugin, SplitterTransform) else [result]

        self._plan.applied[stage.name] = AppliedStage(stage, inputs, schemas, apply)

    def _build_condition(self, stage: Stage, plugin: Any, context: DriverContext) -> None:
        """Carry records from one phase to a later one."""
        if stage.name in self._given:
            self._streams.publish(Stream(stage.name), self._given[stage.name], persisted=True)
        else:
            frame = self._get_input(stage)
            self._plan.connectors[stage.name] = frame
            self._plan.sinks.append(PlannedSink(stage, plugin, frame, context))

    def _get_input(self, stage: Stage) -> DataFrame:
        return self._select_read_fields(stage, self._flow.list_inputs(stage.name))

    def _cache_input(self, plugin: Any, frame: DataFrame) -> DataFrame:
        """Have the input of a plugin that reads it several times computed once."""
        return self._streams.persist(frame) if getattr(plugin, "caches_input", False) else frame

    def _get_sink_input(self, stage: Stage) -> DataFrame:
        """Return the records that reach a sink: their expectations are checked, and a sample is taken."""
        streams = self._flow.list_inputs(stage.name)
        frame = None
        if self._plan.expectations is not None and stage.expectations:
            schema = self._streams.get_common_schema(streams)
            checked = self._plan.expectations.check(stage, schema, self._streams.unite(streams))
            frame = assume_schema(checked, schema)
        frame = self._select_read_fields(stage, streams, frame)
        if self._plan.profiler is None:
            return frame
        schema = self._get_read_schema(stage, streams)
        is_read_once = len(streams) == 1 and self._streams.is_read_once(streams[0])
        profiled = self._plan.profiler.observe(stage.name, schema, frame, is_read_once=is_read_once)
        return assume_schema(profiled, schema)

    def _select_read_fields(
        self, stage: Stage, streams: list[Stream], frame: DataFrame | None = None
    ) -> DataFrame:
        """Return the input of a stage with only the fields that it reads.

        :param frame: the records of the streams; by default these are united.
        """
        if frame is None:
            frame = self._streams.unite(streams)
        schema = self._get_read_schema(stage, streams)
        names = schema.field_names
        if names == self._streams.get_common_schema(streams).field_names:
            return frame
        return assume_schema(frame.select(*map(quote_column, names)), schema)

    def _get_read_schema(self, stage: Stage, streams: list[Stream]) -> Schema:
        """Return the fields of the streams that a stage reads."""
        available = self._streams.get_common_schema(streams)
        wanted = self._streams.read_fields[stage.name].get(streams[0].stage, available.field_names)
        fields = [f for f in available if f.name in wanted]
        return Schema.record(available.name or "record", fields)

    def _publish_output(self, stage: Stage, frame: DataFrame, context: DriverContext) -> None:
        stream = Stream(stage.name)
        self._streams.check(stream, frame)
        self._streams.publish(stream, frame)
        if context.wants_errors:
            errors = Stream(stage.name, errors=True)
            rejected = context.errors
            if rejected is None:
                assert stage.own_error_schema is not None
                rejected = context.empty(error_record_schema(stage.own_error_schema))
            self._streams.publish(errors, rejected, counted=True, persisted=True)

    def _create_context(self, stage: Stage, probe: RunContext | None = None) -> DriverContext:
        """Return the context of a stage.

        :param probe: what takes the place of the run when the stage is applied once more; nothing is counted.
        """
        wanted = probe is None and bool(self._flow.list_readers(Stream(stage.name, errors=True)))
        counter = self._streams.counter if probe is None else None

        def share(df: DataFrame, is_error: Column) -> DataFrame:
            if counter is not None:
                df = counter.observe_errors(df, stage.name, is_error)
            return self._streams.persist(df) if wanted else df

        needed = None
        if stage.output_schema is not None:
            needed = self._streams.get_schema(Stream(stage.name)).field_names
        return DriverContext(
            stage, probe or self._run, wants_errors=wanted, shared=share, needed_fields=needed
        )

    def _publish_ports(self, stage: Stage, ports: Mapping[str, DataFrame]) -> None:
        connected = dict.fromkeys(c.port for c in self._flow.connections if c.source == stage.name)
        for port in connected:
            if port is None or port not in ports:
                raise StageError(
                    f"Stage '{stage.name}' has no records for port '{port}'; its ports are: "
                    f"{', '.join(ports)}.",
                    stage=stage.name,
                )
            self._streams.check(Stream(stage.name, port), ports[port])
            self._streams.publish(Stream(stage.name, port), ports[port])


def _get_plugin(run: RunContext, stage: Stage) -> Any:
    return ConditionSink({}) if stage.type == CONDITION else get_plugin(run, stage)
