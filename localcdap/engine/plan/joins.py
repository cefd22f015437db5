"""Joins as Spark executes them (CDAP 6 ``etl.spark.batch.DataframeCollection.join``).

Required stages are joined first, so that records of optional ones are compared with keys that are there. With
optional stages only, the keys of each further one are compared with the first key that is not null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from localcdap.api.join import (
    JoinDefinition,
    JoinDistribution,
    JoinOnExpression,
    JoinOnKeys,
    JoinStage,
)
from localcdap.api.sql_names import quote_column
from localcdap.engine.plan.spark_types import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SALT: Final = "__salt"
_SEED: Final = 20
"""Salts are random, but the same when a task is repeated."""


def join_frames(inputs: Mapping[str, DataFrame], join: JoinDefinition) -> DataFrame:
    """Return the joined records.

    :param inputs: by stage; of each at least the fields that the join reads.
    """
    if isinstance(join.condition, JoinOnExpression):
        return _join_on_expression(inputs, join, join.condition)
    return _join_on_keys(inputs, join, join.condition)


def explain_join(join: JoinDefinition) -> list[str]:
    """Return how a join is executed, as lines for ``run --explain``."""
    first, *others = _order_stages(join)
    steps = [f"'{first.name}'", *(f"{_get_type(first, each)} '{each.name}'" for each in others)]
    lines = [f"join     {', '.join(steps)}"]
    sent = [f"'{stage.name}'" for stage in join.stages if stage.broadcast]
    if sent:
        lines.append(f"hint     broadcast {', '.join(sent)}")
    if join.distribution is not None:
        skewed, factor = join.distribution.skewed_stage, join.distribution.factor
        lines.append(f"skew     each key of '{skewed}' in {factor} parts")
    return lines


def _order_stages(join: JoinDefinition) -> list[JoinStage]:
    """Return the stages in join order, see the module."""
    return sorted(join.stages, key=lambda stage: not stage.required)


def _get_type(first: JoinStage, stage: JoinStage) -> str:
    """Return Spark's type of the join with a further stage.

    :param first: the first stage in join order, which is required if any stage is.
    """
    if not first.required:
        return "full"
    return "inner" if stage.required else "left"


def _join_on_keys(
    inputs: Mapping[str, DataFrame], join: JoinDefinition, condition: JoinOnKeys
) -> DataFrame:
    """Join on keys. All columns are named ``stage.field``, so that names are unique."""
    first, *others = _order_stages(join)
    joined = _select_side(inputs[first.name], join, first, condition)
    left_keys = _get_key_columns(condition, first)
    for stage in others:
        right_keys = _get_key_columns(condition, stage)
        pairs = list(zip(left_keys, right_keys, strict=True))
        compared = [a.eqNullSafe(b) if condition.null_safe else a == b for a, b in pairs]
        side = _select_side(inputs[stage.name], join, stage, condition)
        if join.distribution is not None:
            compared.append(
                get_column(f"{first.name}.{_SALT}") == get_column(f"{stage.name}.{_SALT}")
            )
        how = _get_type(first, stage)
        joined = joined.join(side, reduce(lambda a, b: a & b, compared), how)
        if how == "full":
            left_keys = _coalesce(pairs)
    return joined.select(*[get_column(f"{s.stage}.{s.field}").alias(s.name) for s in join.selected])


def _select_side(
    frame: DataFrame, join: JoinDefinition, stage: JoinStage, condition: JoinOnKeys
) -> DataFrame:
    """Return the columns of a stage that the join needs, with its hints."""
    from pyspark.sql import functions as f

    needed = {s.field for s in join.selected if s.stage == stage.name}
    needed.update(condition.get_fields(stage.name))
    columns = [
        get_column(name).alias(f"{stage.name}.{name}") for name in frame.columns if name in needed
    ]
    if join.distribution is not None:
        columns.append(_create_salt(join.distribution, stage).alias(f"{stage.name}.{_SALT}"))
    side = frame.select(*columns)
    return f.broadcast(side) if stage.broadcast else side


def _create_salt(distribution: JoinDistribution, stage: JoinStage) -> Column:
    """Return the part of its key that a record of the skewed stage is in; each part for one of another."""
    from pyspark.sql import functions as f

    if stage.name == distribution.skewed_stage:
        return f.floor(f.rand(_SEED) * distribution.factor).cast("int")
    return f.explode(f.sequence(f.lit(0), f.lit(distribution.factor - 1)))


def _get_key_columns(condition: JoinOnKeys, stage: JoinStage) -> list[Column]:
    return [get_column(f"{stage.name}.{key}") for key in condition.get_fields(stage.name)]


def _coalesce(pairs: Sequence[tuple[Column, Column]]) -> list[Column]:
    from pyspark.sql import functions as f

    return [f.coalesce(a, b) for a, b in pairs]


def _join_on_expression(
    inputs: Mapping[str, DataFrame], join: JoinDefinition, condition: JoinOnExpression
) -> DataFrame:
    from pyspark.sql import functions as f

    sides = []
    left, right = _order_stages(join)
    for stage in (left, right):
        frame = f.broadcast(inputs[stage.name]) if stage.broadcast else inputs[stage.name]
        sides.append(frame.alias(condition.get_alias(stage.name)))
    joined = sides[0].join(sides[1], f.expr(condition.expression), _get_type(left, right))
    aliases = [quote_column(condition.get_alias(s.stage)) for s in join.selected]
    columns = [
        f.col(f"{alias}.{quote_column(s.field)}").alias(s.name)
        for alias, s in zip(aliases, join.selected, strict=True)
    ]
    return joined.select(*columns)
