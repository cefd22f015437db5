"""Aggregates as Spark expressions.

Where the order of records matters, it is their order in the input, so that a result does not change
from run to run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, Type
from localcdap.api.arrow import arrow_type
from localcdap.plugin_lib.spark.columns import column

from .aggregates import ALL, Aggregate

if TYPE_CHECKING:
    from pyspark.sql import Column

ORDER: Final = "__localcdap_order"
"""Column with the place of each record in the input."""
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
    """Whether one of the aggregates reads :data:`ORDER`."""
    return any(aggregate.function in _ORDERED for aggregate in aggregates)


def aggregate_column(
    aggregate: Aggregate, schema: Schema, raising: Callable[[Column], Column]
) -> Column:
    """The expression of an aggregate, named and of the type that the aggregate declares.

    A sum that does not fit its type fails the run; in CDAP it would wrap around.

    :param raising: an expression that fails the stage with a message.
    """
    condition = aggregate.compiled(schema)
    chosen = None if condition is None else condition.column()
    if aggregate.field == ALL:
        return _count_all(chosen).alias(aggregate.name)
    made = _MAKERS[aggregate.function](column(aggregate.field), chosen)
    return _declared(made, aggregate, schema, raising).alias(aggregate.name)


def _declared(
    made: Column, aggregate: Aggregate, schema: Schema, raising: Callable[[Column], Column]
) -> Column:
    """Numbers that Spark widens are narrowed again."""
    from pyspark.sql import functions as F  # noqa: N812

    type = aggregate.output_field(schema).schema.non_nullable
    if aggregate.function not in ("Sum", "Avg", "CountDistinct"):
        return made
    if type.logical_type is not None:
        return made.cast(str(arrow_type(type)).replace("decimal128", "decimal"))
    narrow = made.cast(_SPARK_TYPES[type.type])
    if aggregate.function != "Sum" or type.type is not Type.INT:
        return narrow
    told = F.concat(F.lit(f"The sum '{aggregate.name}' overflows an int: "), made.cast("string"))
    return F.when(made.isNull() | made.between(-(2**31), 2**31 - 1), narrow).otherwise(
        raising(told).cast("int")
    )


_SPARK_TYPES: Final = {
    Type.INT: "int",
    Type.LONG: "bigint",
    Type.FLOAT: "float",
    Type.DOUBLE: "double",
}


def _count_all(chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.count(F.lit(1)) if chosen is None else F.count_if(chosen)


def _if(value: Column, chosen: Column | None) -> Column:
    """The value of a record that counts, else null."""
    from pyspark.sql import functions as F  # noqa: N812

    return value if chosen is None else F.when(chosen, value)


def _boxed(value: Column, chosen: Column | None) -> Column:
    """The value in a struct, so that a null value is no null."""
    from pyspark.sql import functions as F  # noqa: N812

    return _if(F.struct(value.alias("v")), chosen)


def _count(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.count(_if(value, chosen))


def _count_nulls(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    is_null = value.isNull()
    return F.count_if(is_null if chosen is None else is_null & chosen)


def _count_distinct(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.count_distinct(_boxed(value, chosen))


def _simple(name: str) -> Callable[[Column, Column | None], Column]:
    def make(value: Column, chosen: Column | None) -> Column:
        from pyspark.sql import functions as F  # noqa: N812

        made: Column = getattr(F, name)(_if(value, chosen))
        return made

    return make


def _first(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.min_by(_boxed(value, chosen), F.col(ORDER)).getField("v")


def _last(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.max_by(_boxed(value, chosen), F.col(ORDER)).getField("v")


def _any(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.first(_if(value, chosen), ignorenulls=True)


def _collect_list(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    placed = _if(F.struct(F.col(ORDER).alias("o"), value.alias("v")), chosen)

    def by_place(a: Column, b: Column) -> Column:
        return F.when(a.getField("o") < b.getField("o"), -1).otherwise(1)

    ordered = F.array_sort(F.collect_list(placed), by_place)
    return F.transform(ordered, lambda element: element.getField("v"))


def _collect_set(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    boxes = F.collect_set(_boxed(value, chosen))
    return F.transform(boxes, lambda element: element.getField("v"))


def _concat(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.array_join(_collect_list(value, chosen), _SEPARATOR)


def _concat_distinct(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.array_join(F.array_distinct(_collect_list(value, chosen)), _SEPARATOR)


def _longest(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    text = _if(value, chosen)
    return F.max_by(text, F.when(text.isNotNull(), F.struct(F.length(text), -F.col(ORDER))))


def _shortest(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    text = _if(value, chosen)
    return F.min_by(text, F.when(text.isNotNull(), F.struct(F.length(text), F.col(ORDER))))


def _logical_and(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(F.bool_and(_if(value, chosen)), F.lit(True))


def _logical_or(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(F.bool_or(_if(value, chosen)), F.lit(False))


def _sum_of_squares(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    number = _if(value, chosen).cast("double")
    return F.coalesce(F.sum(number * number), F.lit(0.0))


def _corrected_sum_of_squares(value: Column, chosen: Column | None) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    number = _if(value, chosen).cast("double")
    return F.coalesce(F.var_pop(number) * F.count(number), F.lit(0.0))


_MAKERS: Final[dict[str, Callable[[Column, Column | None], Column]]] = {
    "Count": _count,
    "CountDistinct": _count_distinct,
    "CountNulls": _count_nulls,
    "Sum": _simple("sum"),
    "Avg": _simple("avg"),
    "Min": _simple("min"),
    "Max": _simple("max"),
    "First": _first,
    "Last": _last,
    "Any": _any,
    "Stddev": _simple("stddev_pop"),
    "Variance": _simple("var_pop"),
    "CollectList": _collect_list,
    "CollectSet": _collect_set,
    "LongestString": _longest,
    "ShortestString": _shortest,
    "Concat": _concat,
    "ConcatDistinct": _concat_distinct,
    "LogicalAnd": _logical_and,
    "LogicalOr": _logical_or,
    "SumOfSquares": _sum_of_squares,
    "CorrectedSumOfSquares": _corrected_sum_of_squares,
}
