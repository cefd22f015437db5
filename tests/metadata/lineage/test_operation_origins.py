"""Where the original loses lineage or says nothing: joiners, merges, markers, repeated names, checks."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.api.errors import BadRequestError
from localcdap.api.lineage import EndPoint, FieldOperation
from localcdap.decoders import decode_json
from localcdap.metadata.lineage.pipeline_operations import (
    RecordedStage,
    StageOperationsCheck,
    convert_operations,
    convert_pipeline,
)
from tests.metadata.lineage.pipeline_samples import (
    connect,
    make,
    makes,
    reads,
    taken,
    writes,
)


def test_a_joiner_that_records_nothing_takes_the_fields_of_each_input():
    found = convert_pipeline(
        [
            RecordedStage("a", [reads("r", "a", "id")], {}, ["id"]),
            RecordedStage("b", [reads("r", "b", "id")], {}, ["id"]),
            RecordedStage("j", [], {"a": ["id"], "b": ["id"]}, ["id"], is_joiner=True),
        ],
        connect("a-j", "b-j"),
    )

    (joined,) = [each for each in found.operations if each.name == "j.Transform"]
    assert joined.inputs == taken("a.r:id", "b.r:id")


def test_findings_of_all_stages_come_together():
    found = convert_pipeline(
        [
            RecordedStage("a", [reads("r", "a", "id")], {}, ["id"]),
            RecordedStage(
                "b", [makes("m", ["nope"], "x"), makes("n", ["id"], "x")], {"a": ["id"]}, ["x"]
            ),
            RecordedStage("c", [writes("w", "c", "y")], {"b": ["x"]}),
        ],
        connect("a-b-c"),
    )

    assert found.checks == {
        "b": StageOperationsCheck({"nope": ["m"]}, {"x": ["m"]}),
        "c": StageOperationsCheck({"y": ["w"]}),
    }
    assert [each.name for each in found.operations] == ["a.r", "b.m", "b.n", "c.w"]


def test_a_write_takes_reads_with_its_marker():
    """A stage reads two tables with the same field; a sink writes each to another table."""
    found = convert_operations(
        {
            "in": [reads("r1", "t1", "id", marker="t1"), reads("r2", "t2", "id", marker="t2")],
            "out": [writes("w1", "o1", "id", marker="t1"), writes("w2", "o2", "id", marker="t2")],
            "plain": [writes("w", "o", "id")],
        },
        connect("in-out", "in-plain"),
    )

    by_name = {each.name: each for each in found}
    assert by_name["out.w1"].inputs == taken("in.r1:id")
    assert by_name["out.w2"].inputs == taken("in.r2:id")
    assert by_name["plain.w"].inputs == taken("in.r1:id", "in.r2:id")


def test_a_field_passes_several_merges():
    """The original loses the field at the second merge."""
    found = convert_operations(
        {
            "a": [reads("r", "a", "x")],
            "b": [reads("r", "b", "x")],
            "ab": [],
            "c": [reads("r", "c", "x")],
            "sink": [writes("w", "out", "x")],
        },
        connect("a-ab", "b-ab", "ab-sink", "c-sink"),
    )

    by_name = {each.name: each for each in found}
    assert by_name["a,b.merge.x"].inputs == taken("a.r:x", "b.r:x")
    assert by_name["ab,c.merge.x"].inputs == taken("a,b.merge.x:x", "c.r:x")
    assert by_name["sink.w"].inputs == taken("ab,c.merge.x:x")


def test_a_joiner_takes_a_field_from_the_merge_before_its_input():
    found = convert_operations(
        {
            "a": [reads("r", "a", "x")],
            "b": [reads("r", "b", "x")],
            "ab": [],
            "c": [reads("r", "c", "y")],
            "j": [makes("Join", ["ab.x", "c.y", "c.x"], "x")],
        },
        connect("a-ab", "b-ab", "ab-j", "c-j"),
        joiners={"j"},
    )

    (joined,) = [each for each in found if each.name == "j.Join"]
    assert joined.inputs == taken("a,b.merge.x:x", "c.r:y")


def test_names_of_stages_and_fields_may_contain_dots():
    found = convert_operations(
        {
            "s": [reads("r", "s", "a.id")],
            "s.a": [reads("r", "sa", "id")],
            "j": [makes("Join", ["s.a.id"], "id")],
        },
        connect("s-j", "s.a-j"),
        joiners={"j"},
    )

    (joined,) = [each for each in found if each.name == "j.Join"]
    assert joined.inputs == taken("s.a.r:id")


def test_a_later_operation_of_a_stage_wins():
    found = convert_operations(
        {
            "in": [reads("r", "in", "a")],
            "t": [makes("one", ["a"], "a"), makes("two", ["a"], "a"), makes("drop", ["a"])],
            "out": [writes("w", "out", "a", "unknown")],
        },
        connect("in-t-out"),
    )

    by_name = {each.name: each for each in found}
    assert by_name["t.two"].inputs == taken("t.one:a")
    assert by_name["t.drop"] == make("t.drop", ["t.two:a"])
    assert by_name["out.w"].inputs == taken("t.two:a")


def test_operations_with_the_same_name_get_numbers():
    found = convert_operations(
        {
            "in": [reads("r", "in", "a")],
            "group": [makes("Group a", ["a"], "sum"), makes("Group a", ["a"], "max")],
            "out": [writes("w", "out", "sum", "max")],
        },
        connect("in-group-out"),
    )

    assert [each.name for each in found] == ["in.r", "group.Group a", "group.Group a 2", "out.w"]
    assert found[-1].inputs == taken("group.Group a:sum", "group.Group a 2:max")


def test_a_cycle_of_stages_is_refused():
    with pytest.raises(BadRequestError, match=r"^Invalid DAG\. Stages (a,b|b,a) form a cycle\.$"):
        convert_operations({"a": [], "b": []}, connect("a-b-a"))


def test_a_long_pipeline_is_no_problem():
    names = [f"s{number}" for number in range(2_000)]
    operations = {name: [] for name in names} | {names[0]: [reads("r", "in", "a")]}
    operations[names[-1]] = [writes("w", "out", "a")]

    found = convert_operations(operations, connect("-".join(names)))

    assert found[-1].inputs == taken("s0.r:a")


def test_the_json_of_operations_names_their_type():
    operations = [
        reads("r", "in", "a"),
        makes("m", ["a"], "b"),
        writes("w", "out", "b", marker="x"),
    ]
    text = msgspec.json.encode(operations)

    assert decode_json(text)[0] == {
        "type": "READ",
        "name": "r",
        "description": "reads",
        "source": {"name": "in", "namespace": "ns"},
        "outputFields": ["a"],
    }
    assert [each["type"] for each in decode_json(text)] == ["READ", "TRANSFORM", "WRITE"]
    decoded = decode_json(text, list[FieldOperation])
    assert [type(each) for each in decoded] == [type(each) for each in operations]
    assert decoded[2].sink == EndPoint("out", "ns", {"marker": "x"})
    assert hash(decoded[2].sink) == hash(operations[2].sink)
