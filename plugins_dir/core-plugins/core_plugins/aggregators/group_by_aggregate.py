"""The GroupByAggregate aggregator: groups records by fields and aggregates each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import (
    BatchAggregator,
    EdgeKind,
    FailureCollector,
    Field,
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column

from .aggregate_columns import ORDER, build_aggregate, needs_order
from .aggregates import ALL, FUNCTIONS, Aggregate, parse_aggregates
from .conditions import ConditionError
from .keys import check_comparable, num_partitions_field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@plugin(
    name="GroupByAggregate",
    description="Groups records by one or more fields and computes aggregates of each group.",
)
class GroupByAggregate(BatchAggregator):
    class Config(PluginConfig, macros=True):
        group_by_fields: list[str] = field(
            "Fields to group by, comma-separated. They are the first output fields. Null is an ordinary "
            "value.",
            name="groupByFields",
            form="{input-field}",
        )
        aggregates: str = field(
            "Aggregates, a comma-separated list of 'name:function(field)'. Functions: count, "
            "count(*), countDistinct, countNulls, sum, avg, min, max, first, last, any, stddev, "
            "variance, collectList, collectSet, longestString, shortestString, concat, "
            "concatDistinct, logicalAnd, logicalOr, sumOfSquares, correctedSumOfSquares. All except "
            "first, last and countNulls have a form with a condition: "
            "\"total:sumIf(price):condition(city.equals('LA'))\".",
            form="{name}:{function:" + "|".join(FUNCTIONS) + "}({input-field}),",
        )
        num_partitions: int | None = num_partitions_field()

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        aggregates: list[Aggregate] = []
        if self.config.aggregates:
            aggregates = parse_aggregates(self.config.aggregates, stage.failures)
        schema = stage.input_schema
        if schema is None or self.config.macros & {"groupByFields", "aggregates"}:
            return
        keys = self._find_keys(stage, schema)
        for aggregate in aggregates:
            aggregate.check(schema, stage.failures)
            if aggregate.name in [key.name for key in keys]:
                stage.failures.add(
                    f"Aggregate '{aggregate.name}' has the name of a field to group by.",
                    "Give it another name.",
                ).with_config_property("aggregates", element=str(aggregate))
        if not len(stage.failures):
            added = [aggregate.make_output_field(schema) for aggregate in aggregates]
            stage.output_schema = Schema.record(f"{schema.name}.agg", [*keys, *added])

    def _find_keys(self, stage: StageConfigurer, schema: Schema) -> list[Field]:
        keys: list[Field] = []
        names = self.config.group_by_fields
        if names is not None and not names:
            stage.failures.add("The 'groupByFields' property must be set.").with_config_property(
                "groupByFields"
            )
        for name in names or ():
            found = schema.field(name)
            if found is None:
                stage.failures.add(
                    f"Cannot group by field '{name}' because it does not exist in input schema."
                ).with_config_property("groupByFields", element=name)
            elif check_comparable(stage, name, found.schema, "groupByFields"):
                keys.append(found)
        return keys

    def _parse_aggregates(self) -> list[Aggregate]:
        return parse_aggregates(self.config.aggregates, FailureCollector())

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        schema = stage.input_schema
        if schema is None or not self.config.aggregates:
            return None
        needed = set(self.config.group_by_fields)
        for aggregate in self._parse_aggregates():
            if aggregate.field != ALL:
                needed.add(aggregate.field)
            try:
                condition = aggregate.compile_condition(schema)
            except ConditionError:
                return None
            needed |= condition.fields if condition is not None else frozenset()
        return [name for name in schema.field_names if name in needed]

    def record_lineage(self, lineage: LineageRecorder) -> None:
        schema = lineage.stage.input_schema
        if schema is None or self.config.macros & {"groupByFields", "aggregates"}:
            return
        lineage.influence(EdgeKind.GROUP_BY, self.config.group_by_fields)
        for aggregate in self._parse_aggregates():
            inputs = [] if aggregate.field == ALL else [aggregate.field]
            lineage.derive(
                aggregate.name,
                inputs,
                f"Group {aggregate.field} {aggregate.name}",
                f"Aggregate function applied: '{aggregate.display_name}'.",
                kind=EdgeKind.AGGREGATION,
                masking=aggregate.function.startswith("Count"),
            )
            condition = aggregate.compile_condition(schema)
            if condition is not None:
                lineage.influence(EdgeKind.CONDITIONAL, sorted(condition.fields), aggregate.name)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        schema, aggregates = context.input_schema, self._parse_aggregates()
        keys = [get_column(name) for name in self.config.group_by_fields]
        if needs_order(aggregates):
            df = df.withColumn(ORDER, F.monotonically_increasing_id())
        if self.config.num_partitions:
            df = df.repartition(self.config.num_partitions, *keys)
        columns = [build_aggregate(a, schema, context.raising) for a in aggregates]
        return df.groupBy(*keys).agg(*columns)
