"""Runs, previews and debugging send the same records to error, and count the same."""

from __future__ import annotations

import pytest

from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.engine.messages.flow import Flow, Stream
from localcdap.engine.preview.stage_debug import encode_inputs
from localcdap.engine.preview.stage_runner import StageByStageRunner
from localcdap.expectations.rules import read_rules
from localcdap.testing import PipelineTester, artifact_ref
from tests.conftest import REPOSITORY
from tests.plugins.core.support import plugin_ref, schema_text

pytestmark = pytest.mark.spark

PEOPLE = Schema.record(
    "people",
    [
        ("id", Schema.INT),
        ("age", Schema.STRING.as_nullable),
        ("n", Schema.LONG.as_nullable),
        ("part", Schema.DOUBLE.as_nullable),
    ],
)
RECORDS = [
    {"id": 1, "age": "30", "n": 1, "part": 0.5},
    {"id": 2, "age": "200", "n": 2, "part": 1e10},
    {"id": 3, "age": None, "n": 3, "part": None},
    {"id": 4, "age": "150", "n": 2**53 + 1, "part": 2.0},
]
OLD = {"rule": "range", "column": "age", "max": 120, "action": "error"}
PYTHON = """
def transform(record, emitter, context):
    if record["id"] == 1:
        emitter.emitError({"errorCode": 7, "errorMsg": "first", "invalidRecord": record})
        return
    record["age"] = None if record["age"] is None else int(record["age"])
    emitter.emit(record)
"""
JAVASCRIPT = """
function transform(input, emitter, context) {
  if (input.id == 1) {
    emitter.emitError({'errorCode': 7, 'errorMsg': 'first', 'invalidRecord': input});
    return;
  }
  input.age = input.age === null ? null : parseInt(input.age);
  emitter.emit(input);
}
"""
TYPED = schema_text(id="int", age=["int", "null"], n=["long", "null"], part=["double", "null"])
STAGES = {
    "wrangler": (
        "transform",
        "Wrangler",
        {
            "directives": "set-type :age integer",
            "schema": TYPED,
            "field": "*",
            "precondition": "false",
        },
        OLD,
        {(2, "200"), (4, "150")},
    ),
    "projection": (
        "transform",
        "Projection",
        {"convert": "age:int"},
        OLD,
        {(2, "200"), (4, "150")},
    ),
    "texts": (
        "transform",
        "Projection",
        {"convert": "n:string,part:string"},
        {"rule": "in-set", "column": "part", "values": ["0.5"], "action": "error"},
        {(2, "200"), (4, "150")},
    ),
    "python": (
        "transform",
        "PythonEvaluator",
        {"script": PYTHON, "schema": TYPED, "mode": "interpreted"},
        OLD,
        {(1, "30"), (2, "200"), (4, "150")},
    ),
    "javascript": (
        "transform",
        "JavaScript",
        {"script": JAVASCRIPT, "schema": TYPED},
        OLD,
        {(1, "30"), (2, "200"), (4, "150")},
    ),
    "everything": (
        "transform",
        "Projection",
        {"convert": "age:int"},
        {"rule": "row", "condition": "id > 9", "action": "error"},
        {(1, "30"), (2, "200"), (3, None), (4, "150")},
    ),
    "groups": (
        "batchaggregator",
        "GroupByAggregate",
        {"groupByFields": "id,age", "aggregates": "sum:sum(n)"},
        {"rule": "range", "column": "sum", "max": 2, "action": "error"},
        {(3, None), (4, "150")},
    ),
}


def find_plugin(type, name):
    if name == "Wrangler":
        return artifact_ref(REPOSITORY / "plugins_dir/wrangler", type, name)
    return plugin_ref(type, name)


def read_rule(node):
    rules, problems = read_rules([node])
    assert problems == []
    return rules


def build(spark, folder):
    folder.mkdir()
    pipeline = PipelineTester(spark, folder)
    pipeline.source("in", PEOPLE, RECORDS)
    for name, (type, plugin, properties, rule, _) in STAGES.items():
        pipeline.stage(
            name, find_plugin(type, plugin), properties, ["in"], expectations=read_rule(rule)
        )
        pipeline.stage(f"{name} same", plugin_ref("transform", "Projection"), {}, [name])
        pipeline.sink(f"{name} out", f"{name} same")
        pipeline.collect_errors(f"{name} errors", name)
    return pipeline


@pytest.fixture(autouse=True)
def one_task(spark):
    yield
    spark.conf.unset("spark.sql.leafNodeDefaultParallelism")


def preview(pipeline, flow, given):
    samples = {}
    runner = StageByStageRunner(
        flow,
        pipeline.build_run_context(),
        limit=100,
        shown=100,
        on_sample=samples.__setitem__,
        given=given,
    )
    runner.run()
    assert runner.problems == []
    return samples


def sort(records):
    return sorted((encode_json_record(each) for each in records), key=str)


def list_errors(rows):
    return sort({"record": r["record"], "code": r["code"], "message": r["message"]} for r in rows)


@pytest.mark.slow
def test_every_door_diverts_the_same_records_with_their_values(spark, tmp_path):
    pipeline = build(spark, tmp_path / "counted")
    counts = pipeline.run()
    ran = {name: list_errors(pipeline.read(f"{name} errors")) for name in STAGES}
    kept = {name: sort(pipeline.read(f"{name} out")) for name in STAGES}
    violations = {each.stage: each.violations for each in pipeline.results}

    for name, (*_, expected) in STAGES.items():
        assert {(e["record"]["id"], e["record"]["age"]) for e in ran[name]} == expected, name
        out, error = counts[name].out, counts[name].error
        assert (out, error) == (len(kept[name]), len(ran[name])), name
        assert counts[f"{name} same"].in_ == counts[f"{name} same"].out == out
        assert counts[f"{name} errors collector"].in_ == error
        assert counts[f"{name} out"].in_ == out
        assert counts[name].in_ == counts["in"].out == 4
    assert [e["record"]["sum"] for e in ran["groups"]] == [3, 2**53 + 1]
    texts = [(e["record"]["n"], e["record"]["part"]) for e in ran["texts"]]
    assert texts == [("2", "1.0E10"), (str(2**53 + 1), "2.0")]

    seen = preview(pipeline, pipeline.flow, {})
    for name in STAGES:
        stage = pipeline.flow.get_stage(name)
        given = encode_inputs(stage, {"in": RECORDS})
        alone = Flow([stage], [c for c in pipeline.flow.connections if c.target == name])
        for sample in (seen[name], preview(pipeline, alone, given)[name]):
            errors = [
                {"record": e.record, "code": e.code, "message": e.message} for e in sample.errors
            ]
            assert sort(errors) == ran[name], name
            assert sort(sample.records) == kept[name], name
            assert (sample.count, sample.error_count) == (counts[name].out, counts[name].error)
            assert [each.violations for each in sample.expectations] == [violations[name]]
        assert seen[f"{name} errors collector"].count == counts[name].error

    pipeline = build(spark, tmp_path / "uncounted")
    assert pipeline.run(counts=False) == {}
    assert {name: list_errors(pipeline.read(f"{name} errors")) for name in STAGES} == ran
    assert {each.stage: each.violations for each in pipeline.results} == violations


@pytest.mark.parametrize("column", ["id", "part"])
def test_the_errors_of_a_source_are_its_records(spark, tmp_path, column):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", PEOPLE, RECORDS)
    pipeline.flow.get_stage("in").expectations = read_rule(
        {"rule": "range", "column": column, "min": 3, "action": "error"}
    )
    pipeline.sink("out", "in")
    pipeline.collect_errors("errors", "in")

    counts = pipeline.run()

    wrong = [r for r in RECORDS if r[column] is not None and r[column] < 3]
    assert [each["record"] for each in pipeline.read("errors")] == wrong
    assert counts["in"].error == counts["errors collector"].in_ == len(wrong)
    assert counts["in"].out == counts["out"].in_ == len(RECORDS) - len(wrong)
    sample = preview(pipeline, pipeline.flow, {})["in"]
    assert [each.record for each in sample.errors] == wrong
    assert Stream("in", errors=True) in pipeline.flow.list_inputs("errors collector")


def test_a_stage_that_shares_its_count_has_its_own_count_beside_rules(spark, tmp_path):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", PEOPLE, RECORDS)
    pipeline.stage(
        "ages",
        plugin_ref("transform", "Projection"),
        {"convert": "age:int"},
        ["in"],
        expectations=read_rule(OLD),
    )
    pipeline.sink("out", "ages")
    pipeline.stage("all", plugin_ref("transform", "Projection"), {"convert": "age:int"}, ["in"])
    pipeline.flow.get_stage("all").expectations = read_rule(
        {"rule": "row", "condition": "id > 9", "action": "error"}
    )
    pipeline.sink("none", "all")
    pipeline.collect_errors("errors", "all")

    counts = pipeline.run()

    assert counts["in"].out == counts["ages"].in_ == 4
    assert (counts["ages"].out, counts["ages"].error, counts["out"].in_) == (2, 2, 2)
    assert (counts["all"].out, counts["all"].error, counts["none"].in_) == (0, 4, 0)
    ages = [each["record"]["age"] for each in pipeline.read("errors")]
    assert ages == ["30", "200", None, "150"]
    sample = preview(pipeline, pipeline.flow, {})["all"]
    assert [each.record["age"] for each in sample.errors] == ages
    assert (sample.count, sample.error_count) == (0, 4)
