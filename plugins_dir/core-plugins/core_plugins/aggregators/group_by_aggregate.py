"""The GroupByAggregate aggregator: groups records by fields and aggregates each group.

Aggregates as Spark expressions.

Aggregates that depend on the order of records use their order in the input, so that all runs give the same
result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

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
    Type,
    field,
    plugin,
)
from localcdap.api.arrow import to_arrow_type
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.spark.text_units import count_units

from .aggregates import (
    ALL,
    FUNCTIONS,
    Aggregate,
    check_comparable,
    num_partitions_field,
    parse_aggregates,
)
from .conditions import ConditionError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


ORDER: Final = "__localcdap_order"
"""Column with the position of each record in the input."""
_ORDERED: Final = (
    "First",
    "Last",
    "CollectList",
    "Concat",
    "ConcatDistinct",
    "LongestString",
    "ShortestString",
)
_SEPARATOR: Final = ", "


def needs_order(aggregates: list[Aggregate]) -> bool:
    """Return whether one of the aggregates reads :data:`ORDER`."""
    return any(aggregate.function in _ORDERED for aggregate in aggregates)


def build_aggregate(
    aggregate: Aggregate, schema: Schema, raising: Callable[[Column], Column]
) -> Column:
    """Build the expression of an aggregate, with its name and its declared type.

    A sum that does not fit its type fails the run; CDAP would let it overflow.

    :param raising: returns an expression that fails the stage with a message.
    """
    condition = aggregate.compile_condition(schema)
    condition_column = None if condition is None else condition.build_column()
    if aggregate.field == ALL:
        return _build_count_all(condition_column).alias(aggregate.name)
    build, field = _BUILDERS[aggregate.function], schema.field(aggregate.field)
    if aggregate.function == "Avg" and field and field.schema.non_nullable == Schema.DOUBLE:
        build = _build_average_of_doubles
    made = build(get_column(aggregate.field), condition_column)
    return _cast_to_declared(made, aggregate, schema, raising).alias(aggregate.name)


def _cast_to_declared(
    made: Column, aggregate: Aggregate, schema: Schema, raising: Callable[[Column], Column]
) -> Column:
    """Cast a result that Spark widens to the declared type."""
    from pyspark.sql import functions as F  # noqa: N812

    type = aggregate.make_output_field(schema).schema.non_nullable
    if aggregate.function not in ("Sum", "Avg", "CountDistinct"):
        return made
    if type.logical_type is not None:
        return made.cast(str(to_arrow_type(type)).replace("decimal128", "decimal"))
    narrow = made.cast(_SPARK_TYPES[type.type])
    if aggregate.function != "Sum" or type.type is not Type.INT:
        return narrow
    message = F.concat(F.lit(f"The sum '{aggregate.name}' overflows an int: "), made.cast("string"))
    return F.when(made.isNull() | made.between(-(2**31), 2**31 - 1), narrow).otherwise(
        raising(message).cast("int")
    )


_SPARK_TYPES: Final = {
    Type.INT: "int",
    Type.LONG: "bigint",
    Type.FLOAT: "float",
    Type.DOUBLE: "double",
}


def _build_count_all(condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.count(F.lit(1)) if condition_column is None else F.count_if(condition_column)


def _filter_value(value: Column, condition_column: Column | None) -> Column:
    """Return the value if the condition is true, else null."""
    from pyspark.sql import functions as F  # noqa: N812

    return value if condition_column is None else F.when(condition_column, value)


def _box(value: Column, condition_column: Column | None) -> Column:
    """Put the value into a struct, so that a null value is not ignored."""
    from pyspark.sql import functions as F  # noqa: N812

    return _filter_value(F.struct(value.alias("v")), condition_column)


def _build_count(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.count(_filter_value(value, condition_column))


def _build_count_nulls(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    is_null = value.isNull()
    return F.count_if(is_null if condition_column is None else is_null & condition_column)


def _build_count_distinct(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.count_distinct(_box(value, condition_column))


def _make_simple(name: str) -> Callable[[Column, Column | None], Column]:
    def make(value: Column, condition_column: Column | None) -> Column:
        from pyspark.sql import functions as F  # noqa: N812

        made: Column = getattr(F, name)(_filter_value(value, condition_column))
        return made

    return make


def _build_first(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.min_by(_box(value, condition_column), F.col(ORDER)).getField("v")


def _build_last(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.max_by(_box(value, condition_column), F.col(ORDER)).getField("v")


def _build_any(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.first(_filter_value(value, condition_column), ignorenulls=True)


def _build_collect_list(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    placed = _filter_value(F.struct(F.col(ORDER).alias("o"), value.alias("v")), condition_column)

    def compare_order(a: Column, b: Column) -> Column:
        return F.when(a.getField("o") < b.getField("o"), -1).otherwise(1)

    ordered = F.array_sort(F.collect_list(placed), compare_order)
    return F.transform(ordered, lambda element: element.getField("v"))


def _build_collect_set(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    boxes = F.collect_set(_box(value, condition_column))
    return F.transform(boxes, lambda element: element.getField("v"))


def _build_concat(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.array_join(_build_collect_list(value, condition_column), _SEPARATOR)


def _build_concat_distinct(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.array_join(F.array_distinct(_build_collect_list(value, condition_column)), _SEPARATOR)


def _build_longest(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    text = _filter_value(value, condition_column)
    return F.max_by(text, F.when(text.isNotNull(), F.struct(count_units(text), -F.col(ORDER))))


def _build_shortest(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    text = _filter_value(value, condition_column)
    return F.min_by(text, F.when(text.isNotNull(), F.struct(count_units(text), F.col(ORDER))))


def _build_logical_and(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(F.bool_and(_filter_value(value, condition_column)), F.lit(True))


def _build_logical_or(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(F.bool_or(_filter_value(value, condition_column)), F.lit(False))


def _build_average_of_doubles(value: Column, condition_column: Column | None) -> Column:
    """Build an average, which is finite for finite numbers, as the running mean of the original
    (``Avg``), although Spark's sum may overflow.
    """
    from pyspark.sql import functions as F  # noqa: N812

    value = _filter_value(value, condition_column)
    average, small = F.avg(value), F.avg(value * 2.0**-64) * 2.0**64
    return F.when(F.abs(average) < math.inf, average).otherwise(small)


def _build_sum_of_squares(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    number = _filter_value(value, condition_column).cast("double")
    return F.coalesce(F.sum(number * number), F.lit(0.0))


def _build_corrected_sum_of_squares(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    number = _filter_value(value, condition_column).cast("double")
    return F.coalesce(F.var_pop(number) * F.count(number), F.lit(0.0))


_BUILDERS: Final[dict[str, Callable[[Column, Column | None], Column]]] = {
    "Count": _build_count,
    "CountDistinct": _build_count_distinct,
    "CountNulls": _build_count_nulls,
    "Sum": _make_simple("sum"),
    "Avg": _make_simple("avg"),
    "Min": _make_simple("min"),
    "Max": _make_simple("max"),
    "First": _build_first,
    "Last": _build_last,
    "Any": _build_any,
    "Stddev": _make_simple("stddev_pop"),
    "Variance": _make_simple("var_pop"),
    "CollectList": _build_collect_list,
    "CollectSet": _build_collect_set,
    "LongestString": _build_longest,
    "ShortestString": _build_shortest,
    "Concat": _build_concat,
    "ConcatDistinct": _build_concat_distinct,
    "LogicalAnd": _build_logical_and,
    "LogicalOr": _build_logical_or,
    "SumOfSquares": _build_sum_of_squares,
    "CorrectedSumOfSquares": _build_corrected_sum_of_squares,
}


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
