"""Joins that plugins define: their checks, what Spark makes of their hints, and their records."""

from __future__ import annotations

import itertools

import pytest

from localcdap.api import (
    AutoJoiner,
    AutoJoinerContext,
    JoinDefinition,
    JoinDistribution,
    JoinField,
    JoinKey,
    JoinOnExpression,
    JoinOnKeys,
    JoinPart,
    JoinStage,
    PluginConfig,
    Record,
    Schema,
    field,
    plugin,
)
from localcdap.api.errors import BadRequestError
from localcdap.engine.plan.joins import explain_join, join_frames
from localcdap.testing import PipelineTester, StageTester

USERS = Schema.record("users", [("id", Schema.LONG.as_nullable), ("a.name", Schema.STRING)])
SALES = Schema.record("sales", [("user", Schema.LONG.as_nullable), ("price", Schema.DOUBLE)])
LEFT: list[Record] = [{"id": n, "a.name": f"u{n}"} for n in (1, 2, 3, None)]
RIGHT: list[Record] = [
    {"user": n, "price": float(i)} for i, n in enumerate([1, 1, 1, 1, 2, None, 9])
]
SELECTED = [JoinField("users", "a.name", "name"), JoinField("sales", "price")]


@plugin(name="Bought", description="Joins users with their sales.")
class Bought(AutoJoiner):
    class Config(PluginConfig, rename="camel"):
        key: str = field("The key of users.", default="id")
        skewed: str = field("The skewed input.", default="")
        factor: int = field("Parts of a key.", default=3)

    config: Config
    join_properties = {JoinPart.KEYS: "key", JoinPart.DISTRIBUTION_FACTOR: "factor"}

    def define(self, context: AutoJoinerContext) -> JoinDefinition:
        stages = [
            stage.replace(required=stage.name == "sales") for stage in context.stages.values()
        ]
        keys = JoinOnKeys([JoinKey("users", [self.config.key]), JoinKey("sales", ["user"])])
        distribution = JoinDistribution(self.config.factor, self.config.skewed)
        return JoinDefinition(SELECTED, stages, keys, distribution if self.config.skewed else None)


def define(condition=None, distribution=None, **stages: str) -> JoinDefinition:
    """Return a join; each stage is ``required`` or ``optional``, and ``broadcast``."""
    schemas = {"users": USERS, "sales": SALES}
    keys = JoinOnKeys([JoinKey("users", ["id"]), JoinKey("sales", ["user"])])
    joined = [
        JoinStage(name, schemas[name], "required" in how, "broadcast" in how)
        for name, how in stages.items()
    ]
    return JoinDefinition(SELECTED, joined, condition or keys, distribution)


def join_in_python(left_required, right_required, null_safe):
    """Return what a join gives, as the meaning of required and null-safe says."""

    def match(user, sale):
        return user["id"] == sale["user"] and (null_safe or user["id"] is not None)

    found = [(u["a.name"], s["price"]) for u in LEFT for s in RIGHT if match(u, s)]
    if left_required or not right_required:
        alone = [u for u in LEFT if not any(match(u, s) for s in RIGHT)]
        found += [] if right_required else [(u["a.name"], None) for u in alone]
    if right_required or not left_required:
        alone = [s for s in RIGHT if not any(match(u, s) for u in LEFT)]
        found += [] if left_required else [(None, s["price"]) for s in alone]
    return sorted(found, key=str)


def test_an_auto_joiner_is_configured_by_its_definition():
    inputs = {"users": USERS, "sales": SALES}
    sound = StageTester(Bought, {"skewed": "sales"}, inputs)
    wrong = StageTester(Bought, {"key": "a.name", "skewed": "users", "factor": "0"}, inputs)
    unknown = StageTester(Bought, {}, {"users": None, "sales": SALES})
    other = StageTester(Bought, {}, {"users": USERS, "purchases": SALES})

    assert sound.output_schema == Schema.record(
        "joined", [("name", Schema.STRING.as_nullable), ("price", Schema.DOUBLE)]
    )
    assert wrong.problems == [
        (
            "key: Type mismatch on join keys. 'users'.'a.name' is of type 'string' while 'sales'.'user' "
            "is of type 'long'."
        ),
        "factor: Distribution size must be greater than 0",
        "Distribution only supports inner or left outer joins, the skewed stage 'users' must be required",
    ]
    assert (unknown.problems, unknown.output_schema) == ([], None)
    assert other.problems[:2] == [
        "key: There should be one join key from each of the stages",
        "key: Join key for stage 'sales' is invalid. Stage 'sales' is not an input of the join.",
    ]


def test_the_lineage_of_an_auto_joiner():
    traced = StageTester(Bought, {}, {"users": USERS, "sales": SALES}).trace()

    assert [operation.name for operation in traced.operations] == [
        "Join",
        "Rename users.a.name",
        "Identity sales.price",
    ]


def test_a_stage_is_joined_once():
    with pytest.raises(BadRequestError, match="joined twice: users, users"):
        JoinDefinition([], [JoinStage("users", USERS)] * 2, JoinOnKeys([]))


def test_a_join_is_explained():
    keys = define(None, JoinDistribution(4, "sales"), users="optional", sales="required")
    sent = define(users="optional broadcast", sales="required")

    assert explain_join(keys) == [
        "join     'sales', left 'users'",
        "skew     each key of 'sales' in 4 parts",
    ]
    assert explain_join(sent) == ["join     'sales', left 'users'", "hint     broadcast 'users'"]


@pytest.mark.spark
class TestOnSpark:
    @pytest.fixture
    def inputs(self, spark):
        return {
            "users": spark.createDataFrame(
                [tuple(r.values()) for r in LEFT], "id long, `a.name` string"
            ),
            "sales": spark.createDataFrame(
                [tuple(r.values()) for r in RIGHT], "user long, price double"
            ),
        }

    def test_records(self, inputs):
        for left, right, null_safe in itertools.product((True, False), repeat=3):
            how = {True: "required", False: "optional"}
            keys = JoinOnKeys([JoinKey("users", ["id"]), JoinKey("sales", ["user"])], null_safe)
            expected = join_in_python(left, right, null_safe)
            variants = [define(keys, users=how[left], sales=how[right])]
            variants.append(define(keys, users=f"{how[left]} broadcast", sales=how[right]))
            for name in ["users"] * left + ["sales"] * right:
                distribution = JoinDistribution(3, name)
                variants.append(define(keys, distribution, users=how[left], sales=how[right]))
            for join in variants:
                rows = join_frames(inputs, join).collect()
                assert sorted(map(tuple, rows), key=str) == expected, join

    def test_hints_show_in_the_plan(self, spark, inputs):
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
        try:
            plain = self.explain(inputs, define(users="required", sales="required"))
            sent = self.explain(inputs, define(users="required broadcast", sales="required"))
            skewed = self.explain(
                inputs,
                define(None, JoinDistribution(8, "sales"), users="required", sales="required"),
            )
            expression = JoinOnExpression("u.id < sales.user", {"users": "u"})
            other = self.explain(
                inputs, define(expression, users="required broadcast", sales="optional")
            )
        finally:
            spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")

        assert "SortMergeJoin" in plain
        assert "BroadcastHashJoin" not in plain
        assert "BroadcastHashJoin" in sent
        assert "SortMergeJoin" not in sent
        assert "Generate explode" in skewed
        assert "__salt" in skewed
        assert "BroadcastNestedLoopJoin" in other

    def explain(self, inputs, join):
        return join_frames(inputs, join)._explain_string()

    def test_in_a_pipeline(self, spark, tmp_path):
        pipeline = PipelineTester(spark, tmp_path)
        pipeline.source("users", USERS, LEFT)
        pipeline.source("sales", SALES, RIGHT)
        pipeline.stage("join", Bought, {"skewed": "sales"}, ["users", "sales"])
        pipeline.sink("out", "join")

        counts = pipeline.run()

        made = sorted((tuple(r.values()) for r in pipeline.read("out")), key=str)
        assert made == join_in_python(False, True, True)
        assert (counts["join"].in_, counts["join"].out) == (11, len(made))
