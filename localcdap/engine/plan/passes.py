"""A fused pass as DataFrames: one ``mapInArrow``, and one DataFrame for each stream that leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_column
from localcdap.engine.messages.flow import Stage
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.flow_analysis import PassGroup, list_inputs_in_pass, list_outlets
from localcdap.engine.plan.preparation import read_declared
from localcdap.engine.plan.record_counter import list_pass_counts
from localcdap.engine.plan.spark_types import make_addressable, spark_schema
from localcdap.engine.plan.streams import PlannedStreams
from localcdap.engine.tasks.aggregation import GROUP
from localcdap.engine.tasks.context import StageContextData
from localcdap.engine.tasks.fused_pass import create_fused_pass
from localcdap.engine.tasks.group_pass import build_grouped_schema, create_grouping_pass
from localcdap.engine.tasks.pass_plan import (
    OUTLET,
    REPORT,
    PassPlan,
    PassStage,
    get_outlet_column,
    list_outlet_schemas,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


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
