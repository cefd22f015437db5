"""Joins that localcdap executes: an auto joiner only defines them (CDAP 6 ``etl.api.join``)."""

from localcdap.api.join.definition import (
    JoinDefinition,
    JoinDistribution,
    JoinField,
    JoinKey,
    JoinOnExpression,
    JoinOnKeys,
    JoinPart,
    JoinStage,
)
from localcdap.api.join.joiner import AutoJoiner, AutoJoinerContext

__all__ = [
    "AutoJoiner",
    "AutoJoinerContext",
    "JoinDefinition",
    "JoinDistribution",
    "JoinField",
    "JoinKey",
    "JoinOnExpression",
    "JoinOnKeys",
    "JoinPart",
    "JoinStage",
]
