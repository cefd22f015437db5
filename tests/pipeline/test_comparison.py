from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.pipeline import StageConnection
from localcdap.pipeline.comparison import Difference, compare_pipelines
from localcdap.pipeline.document.reader import read_document
from tests.pipeline.pipelines import record, stage


def document(stages, connections=(), **config):
    return read_document(
        {
            "name": "p",
            "artifact": {"name": "cdap-data-pipeline", "version": "6.1.0", "scope": "SYSTEM"},
            "config": {
                "stages": list(stages),
                "connections": [
                    dict(zip(("from", "to"), c.split(">"), strict=True)) for c in connections
                ],
                **config,
            },
        }
    )


A = stage("source", "A", path="/in", schema=record("a", "b"))
T = stage("transform", "T", code="x", mode="fast")
Z = stage("sink", "Z", path="/out")
PLAIN = document([A, T, Z], ["A>T", "T>Z"])


def test_a_pipeline_is_equal_to_itself_in_another_order():
    other = document([Z, T, A], ["T>Z", "A>T"], __ui__={"zoom": 2}, comments=["hello"])

    assert compare_pipelines(PLAIN, other).is_equal


def test_changed_properties_are_reported_one_by_one():
    changed = stage("transform", "T", code="y", extra="1")

    (found,) = compare_pipelines(PLAIN, document([A, changed, Z], ["A>T", "T>Z"])).stages

    assert (found.name, found.kind, found.plugin) == ("T", "changed", "transform Pass")
    assert found.changes == [
        Difference("code", "x", "y"),
        Difference("mode", "fast", None),
        Difference("extra", None, "1"),
    ]


def test_schemas_are_compared_field_by_field():
    spaced = json.dumps(json.loads(record("a", "b")), indent=4)
    same = stage("source", "A", path="/in", schema=spaced)
    other = stage("source", "A", path="/in", schema=record("a", "c"))

    assert compare_pipelines(PLAIN, document([same, T, Z], ["A>T", "T>Z"])).is_equal
    (found,) = compare_pipelines(PLAIN, document([other, T, Z], ["A>T", "T>Z"])).stages
    assert found.changes == [
        Difference("schema.b", "string", None),
        Difference("schema.c", None, "string"),
    ]


def test_the_order_of_fields_counts_when_nothing_else_differs():
    turned = stage("source", "A", path="/in", schema=record("b", "a"))

    (found,) = compare_pipelines(PLAIN, document([turned, T, Z], ["A>T", "T>Z"])).stages

    assert found.changes == [Difference("schema", "a, b", "b, a")]


def test_a_macro_in_the_place_of_a_schema_is_text():
    macro = stage("source", "A", path="/in", schema="${schema}")

    (found,) = compare_pipelines(PLAIN, document([macro, T, Z], ["A>T", "T>Z"])).stages

    assert found.changes == [Difference("schema", record("a", "b"), "${schema}")]


def test_a_renamed_stage_keeps_its_connections():
    renamed = stage("transform", "Better", code="x", mode="slow")

    found = compare_pipelines(PLAIN, document([A, renamed, Z], ["A>Better", "Better>Z"]))

    assert [(s.name, s.before, s.kind) for s in found.stages] == [("Better", "T", "renamed")]
    assert found.stages[0].changes == [Difference("mode", "fast", "slow")]
    assert (found.added_connections, found.removed_connections) == ([], [])


def test_a_stage_with_little_in_common_is_another_one():
    other = stage("transform", "Other", code="y", mode="slow")

    found = compare_pipelines(PLAIN, document([A, other, Z], ["A>Other", "Other>Z"]))

    assert [(s.name, s.kind) for s in found.stages] == [("T", "removed"), ("Other", "added")]
    assert found.added_connections == [StageConnection("A", "Other"), StageConnection("Other", "Z")]
    assert found.removed_connections == [StageConnection("A", "T"), StageConnection("T", "Z")]


def test_settings_are_compared_by_their_meaning():
    other = document([A, T, Z], ["A>T", "T>Z"], engine="spark", processTimingEnabled=True,
                     properties={"system.spark.spark.x": "1"})  # fmt: skip

    assert compare_pipelines(PLAIN, other).settings == [
        Difference("engine", "MAPREDUCE", "SPARK"),
        Difference("properties.system.spark.spark.x", None, "1"),
    ]


names = st.sampled_from("ABCD")
stages = st.lists(
    st.builds(
        lambda name, kind, properties: stage(kind, name, **properties),
        names,
        st.sampled_from(["source", "transform", "sink", "join"]),
        st.dictionaries(st.sampled_from(["p", "schema"]), st.sampled_from(["1", record("a"), "{"])),
    ),
    max_size=4,
    unique_by=lambda each: each["name"],
)
connections = st.lists(st.builds(lambda a, b: f"{a}>{b}", names, names), max_size=5)


@given(stages, connections, stages, connections)
def test_a_comparison_turned_round_gives_the_opposite(a, to_a, b, to_b):
    first, second = document(a, to_a), document(b, to_b)
    there, back = compare_pipelines(first, second), compare_pipelines(second, first)

    assert there.is_equal == back.is_equal
    for one, other in (("added", "removed"), ("changed", "changed"), ("renamed", "renamed")):
        assert len([s for s in there.stages if s.kind == one]) == len(
            [s for s in back.stages if s.kind == other]
        )
    assert compare_pipelines(first, first).is_equal


def test_a_real_pipeline_differs_from_another_and_not_from_itself(corpus):
    files = sorted((corpus / "pipelines").glob("*.json"))[:12]
    documents = [read_document(file.read_text(encoding="utf-8-sig")) for file in files]

    for each in documents:
        assert compare_pipelines(each, each).is_equal
    assert not compare_pipelines(documents[0], documents[1]).is_equal


@pytest.mark.parametrize("broken", [{"stages": []}, {"stages": [{"name": "a"}]}])
def test_pipelines_with_problems_can_be_compared(broken):
    assert not compare_pipelines(PLAIN, read_document(broken)).is_equal
