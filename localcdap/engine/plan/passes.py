"""A fused pass as DataFrames: one for each stream that leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.engine.driver.blame import working_on
from localcdap.engine.driver.contexts import addressable, quoted
from localcdap.engine.plan.counting import pass_counts
from localcdap.engine.plan.fusing import Group, inside, outlets
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.engine.tasks.aggregating import GROUP, grouped_schema, grouping_pass
from localcdap.engine.tasks.fused import fused_pass, outlet_schemas
from localcdap.engine.tasks.layout import OUTLET, REPORT, outlet_column
from localcdap.engine.tasks.plan import PassPlan, PassStage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from localcdap.engine.plan.flow import Stage
    from localcdap.engine.plan.planner import Planner
    from localcdap.engine.tasks.context import StageFacts


def build_pass(planner: Planner, group: Group) -> None:
    """Build a pass and publish the streams that leave it."""
    plan = _plan(planner, group)
    names = plan.feed_schema.field_names
    frame = addressable(planner.united(group.feeds), names)
    if group.grouped:
        frame = addressable(_grouped(planner, frame, plan), [GROUP, *names])
    made = frame.mapInArrow(fused_pass(plan), _columns(plan))
    if planner.counting is not None:
        made = planner.counting.observe_pass(made, plan.counts)
    if len(plan.outlets) == 1:
        _publish_alone(planner, plan, made)
    else:
        _publish_several(planner, plan, made)


def _plan(planner: Planner, group: Group) -> PassPlan:
    flow = planner.flow
    members = [flow.stage(name) for name in group.stages]
    feed = group.feeds[0]
    counts = []
    if planner.counting is not None:
        fed = planner.feeds_alone(feed, group) and not feed.errors
        counts = pass_counts(feed, members, grouped=group.grouped, fed=fed)
    return PassPlan(
        feed=feed,
        feed_schema=planner.united_schema(group.feeds),
        stages=[
            PassStage(
                plugin=planner.run.for_workers(stage.plugin),
                properties=stage.properties,
                facts=_facts(planner, stage),
                inputs=inside(group, flow, stage),
            )
            for stage in members
        ],
        outlets=outlets(group, flow),
        counts=counts,
        grouped=group.grouped,
        channel=planner.run.channel,
    )


def _facts(planner: Planner, stage: Stage) -> StageFacts:
    with working_on(stage.name):
        return planner.run.facts(stage, planner.plugins[stage.name].lookup_tables())


def _grouped(planner: Planner, frame: DataFrame, plan: PassPlan) -> DataFrame:
    """The records sorted by group, each once for each of its groups."""
    from pyspark.sql.types import BinaryType

    columns = spark_schema(grouped_schema(plan.feed_schema), nullable=True)
    counting = planner.counting
    run = grouping_pass(
        plan.stages[0], plan.feed_schema, plan.channel, reported=counting is not None
    )
    if counting is None:
        keyed = frame.mapInArrow(run, columns)
    else:
        reported = frame.mapInArrow(run, columns.add(REPORT, BinaryType()))
        keyed = _without_reports(counting.observe_pass(reported, []))
    return keyed.repartition(GROUP).sortWithinPartitions(GROUP)


def _columns(plan: PassPlan) -> StructType:
    """The columns of the batches that leave the workers, see :mod:`localcdap.engine.tasks.layout`."""
    from pyspark.sql.types import BinaryType, IntegerType, StructType

    schemas = [spark_schema(schema, nullable=True) for schema in outlet_schemas(plan)]
    if len(schemas) == 1:
        columns = schemas[0]
    else:
        columns = StructType().add(OUTLET, IntegerType())
        for index, struct in enumerate(schemas):
            columns = columns.add(outlet_column(index), struct)
    return columns.add(REPORT, BinaryType()) if plan.counts else columns


def _publish_alone(planner: Planner, plan: PassPlan, made: DataFrame) -> None:
    if plan.counts:
        made = _without_reports(made)
    planner.publish(plan.outlets[0], made, counted=True)


def _without_reports(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    rows: DataFrame = frame.where(f.col(REPORT).isNull()).drop(REPORT)
    return rows


def _publish_several(planner: Planner, plan: PassPlan, made: DataFrame) -> None:
    from pyspark.sql import functions as f

    made = planner.persist(made)
    for index, (stream, schema) in enumerate(zip(plan.outlets, outlet_schemas(plan), strict=True)):
        column = outlet_column(index)
        rows = made.where(f.col(OUTLET) == index)
        names = [f.col(f"{column}.{quoted(name)}").alias(name) for name in schema.field_names]
        planner.publish(stream, rows.select(*names), counted=True, kept=True)
