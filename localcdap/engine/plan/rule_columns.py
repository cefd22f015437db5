"""Rules of expectations as columns of Spark: true where a record violates the rule, and never null.

The local Spark server has functions beside those of Spark, see ``engine/local/LocalServer.java``. They are
for the columns of an observation, where Spark's own functions have no state; each task has a state of its
own. So what they find out needs no helper column, for which Spark would copy each record twice: to add it
below the observation, and to drop it above. A cluster does not have them.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema, Type
from localcdap.engine.plan.spark_types import get_column, spark_schema
from localcdap.engine.tasks.batch_functions import create_condition_pass
from localcdap.expectations.rules import (
    Expectation,
    InRange,
    InSet,
    MatchesPattern,
    MeetsCondition,
    NotNull,
    Reference,
    Unique,
)
from localcdap.expectations.schema_checks import get_column_type, to_column_value
from localcdap.plugin_lib.jexl.row_conditions import build_condition_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame


_PREFIX: Final = "__expectation"
_ORDER: Final = f"{_PREFIX}_order"
_FLOATS: Final = (Type.FLOAT, Type.DOUBLE)


def get_helper_name(index: int) -> str:
    """Return the name of the column that is added for the rule of an index."""
    return f"{_PREFIX}_{index}"


def add_rule_column(
    frame: DataFrame,
    index: int,
    rule: Expectation,
    schema: Schema,
    read_keys: Callable[[Reference, str], DataFrame],
    message_directory: str | None,
) -> tuple[DataFrame, Column]:
    """Return a DataFrame, to which columns may have been added, and the column of a rule.

    :param schema: of the records; the DataFrame may have more columns, of other rules.
    :param read_keys: returns the values of a reference, each once, in a column of the given name.
    """
    helper = get_helper_name(index)
    match rule:
        case Unique():
            return _rank(frame, helper, rule)
        case Reference():
            return _look_up(frame, helper, rule, read_keys(rule, helper))
        case MeetsCondition():
            column = build_condition_column(rule.condition, schema)
            if column is not None:
                return frame, ~column
            return _test_rows(frame, helper, rule, schema, message_directory)
    return frame, _build_value_column(rule, schema)


def _build_value_column(rule: Expectation, schema: Schema) -> Column:
    from pyspark.sql import functions as f

    column = get_column(rule.columns[0])
    if isinstance(rule, NotNull):
        return column.isNull()
    type = get_column_type(schema, rule.columns[0])
    match rule:
        case InRange():
            holds = _build_range(rule, column, type)
        case MatchesPattern():
            holds = column.rlike(rf"\A(?:{rule.pattern})\z")
        case InSet():
            holds = column.isin([f.lit(to_column_value(type, value)) for value in rule.values])
        case _:
            raise AssertionError(rule)
    return f.coalesce(~holds, f.lit(False))


def _build_range(rule: InRange, column: Column, type: Schema) -> Column:
    from pyspark.sql import functions as f

    parts = []
    if rule.min is not None:
        parts.append(column >= f.lit(to_column_value(type, rule.min)))
    if rule.max is not None:
        parts.append(column <= f.lit(to_column_value(type, rule.max)))
    if type.type in _FLOATS:  # Spark orders NaN above all numbers
        parts.append(~f.isnan(column))
    return reduce(lambda one, other: one & other, parts)


def _rank(frame: DataFrame, helper: str, rule: Unique) -> tuple[DataFrame, Column]:
    """Number the records with the same values, in the order in which they come."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    columns = [get_column(name) for name in rule.columns]
    is_compared = reduce(lambda one, other: one & other, (c.isNotNull() for c in columns))
    ordered = frame.withColumn(_ORDER, f.monotonically_increasing_id())
    window = Window.partitionBy(*columns).orderBy(_ORDER)
    ranked = ordered.withColumn(helper, f.row_number().over(window)).drop(_ORDER)
    return ranked, is_compared & (f.col(helper) > 1)


def _look_up(
    frame: DataFrame, helper: str, rule: Reference, keys: DataFrame
) -> tuple[DataFrame, Column]:
    from pyspark.sql import functions as f

    column = get_column(rule.column)
    joined = frame.join(keys, column == f.col(helper), "left")
    return joined, column.isNotNull() & f.col(helper).isNull()


def _test_rows(
    frame: DataFrame,
    helper: str,
    rule: MeetsCondition,
    schema: Schema,
    message_directory: str | None,
) -> tuple[DataFrame, Column]:
    """Have Python evaluate a condition for which Spark has no equal."""
    from pyspark.sql import functions as f

    known = spark_schema(schema, nullable=True)
    names = {field.name for field in known}
    more = [field for field in frame.schema if field.name not in names]
    columns = known
    for field in more:
        columns = columns.add(field)
    run = create_condition_pass(rule.condition, schema, message_directory)
    ordered = frame.select(*(get_column(field.name) for field in columns))
    tested = ordered.mapInArrow(run, columns.add(helper, "boolean"))
    return tested, ~f.col(helper)


_IS_SAMPLED: Final = "localcdap_is_sampled"
_WRITE_HASH: Final = "localcdap_write_hash"


def is_sampled() -> Column:
    """Return whether a record is in the sample that :mod:`localcdap.engine.plan.streams` takes."""
    from pyspark.sql import functions as f

    return f.call_function(_IS_SAMPLED)


def write_hash(directory: str, first: Column, second: Column) -> Column:
    """Have the task append the halves of a hash, two numbers of 64 bits, to a file of its own.

    :param directory: for the files.
    :param first: null when there is no hash.
    :returns: the name of the file for the first hash of the task, null for the others.
    """
    from pyspark.sql import functions as f

    return f.call_function(_WRITE_HASH, f.lit(directory), first, second)
