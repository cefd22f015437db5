"""Joins that localcdap executes: an auto joiner only defines them (CDAP 6 ``etl.api.join``)."""

from localcdap.api.join.definition import (
    JoinDefinition,
    JoinDistribution,
    JoinExpression,
    JoinField,
    JoinKey,
    JoinKeys,
    JoinStage,
)
from localcdap.api.join.failures import JoinPart
from localcdap.api.join.joiner import AutoJoiner, AutoJoinerContext

__all__ = [
    "AutoJoiner",
    "AutoJoinerContext",
    "JoinDefinition",
    "JoinDistribution",
    "JoinExpression",
    "JoinField",
    "JoinKey",
    "JoinKeys",
    "JoinPart",
    "JoinStage",
]
