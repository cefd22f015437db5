"""Aggregates as Spark expressions.

Aggregates that depend on the order of records use their order in the input, so that all runs give the same
result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, Type
from localcdap.api.arrow import to_arrow_type
from localcdap.plugin_lib.spark.columns import get_column

from .aggregates import ALL, Aggregate

if TYPE_CHECKING:
    from pyspark.sql import Column

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
    return F.max_by(text, F.when(text.isNotNull(), F.struct(F.length(text), -F.col(ORDER))))


def _build_shortest(value: Column, condition_column: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    text = _filter_value(value, condition_column)
    return F.min_by(text, F.when(text.isNotNull(), F.struct(F.length(text), F.col(ORDER))))


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
