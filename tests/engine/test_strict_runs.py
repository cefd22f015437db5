"""What runs notice: altered values, dropped rows, differing keys; and strict runs, which fail for it."""

from __future__ import annotations

import json

import pytest

from localcdap.api import NoticeKind
from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import (
    AlteredValues,
    describe_totals,
    explain_noticed,
    is_strict,
)
from localcdap.testing import PipelineTester, artifact_ref
from tests.conftest import REPOSITORY
from tests.plugins.core.support import plugin_ref, schema_text

NOTICED = [
    AlteredValues("a", "values were rounded", 2, "1.5"),
    AlteredValues("b", "no stage collects the error records", 1, "bad", NoticeKind.ROWS),
    AlteredValues("a", "values were cut", 3, "long"),
]


def test_the_error_of_a_strict_run_has_all_that_was_noticed():
    error = explain_noticed(NOTICED)

    assert error.stage == "a"
    assert error.message.splitlines() == [
        "The run is strict, and noticed:",
        "Stage 'a': 2 altered values: values were rounded. The first: 1.5",
        "Stage 'b': 1 dropped row: no stage collects the error records. The first: bad",
        "Stage 'a': 3 altered values: values were cut. The first: long",
    ]
    assert explain_noticed([]) is None
    assert describe_totals(NOTICED) == ["5 altered values", "1 dropped row"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [({}, False), ({"system.strict": "TRUE"}, True), ({"system.strict": "false "}, False)],
)
def test_the_argument_of_strict_runs(arguments, expected):
    assert is_strict(arguments) is expected
    with pytest.raises(BadRequestError, match="'system.strict' is 'yes'"):
        is_strict({"system.strict": "yes"})


IN = Schema.record("in", [("id", Schema.INT), ("body", Schema.STRING.as_nullable)])
ROWS = [
    {"id": 1, "body": '{"n": 1}'},
    {"id": 2, "body": '{"N": 2}'},
    {"id": 3, "body": '{" n": 3}'},
    {"id": 4, "body": "no JSON"},
]
OUT = schema_text(n=["int", "null"])
PYTHON = """
def transform(record, emitter, context):
    if record["id"] in (1, 4):
        emitter.emitError({"errorCode": 7, "errorMsg": "four", "invalidRecord": record})
    if record["id"] != 4:
        emitter.emit({"N" if record["id"] == 2 else "n": record["id"]})
"""
JAVASCRIPT = """
function transform(input, emitter, context) {
  if (input.id == 1 || input.id == 4)
    emitter.emitError({errorCode: 7, errorMsg: 'four', invalidRecord: input});
  if (input.id != 4) emitter.emit(input.id == 2 ? {' N': 2} : {n: input.id});
}
"""
WRANGLER = artifact_ref(REPOSITORY / "plugins_dir/wrangler", "transform", "Wrangler")


def wrangle(directives, mode):
    return {
        "directives": directives,
        "field": "*",
        "precondition": "false",
        "on-error": mode,
        "schema": schema_text(id="int", body=["string", "null"]),
    }


@pytest.mark.spark
def test_dropped_rows_and_differing_keys_are_counted_unless_they_are_asked_for(spark, tmp_path):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", IN, ROWS)
    parser = artifact_ref(REPOSITORY / "plugins_dir/transform-plugins", "transform", "JSONParser")
    pipeline.stage("json", parser, {"field": "body", "schema": OUT}, ["in"])
    script = {"script": PYTHON, "schema": OUT, "mode": "interpreted"}
    python = plugin_ref("transform", "PythonEvaluator")
    pipeline.stage("python", python, script, ["in"])
    javascript = {"script": JAVASCRIPT, "schema": OUT}
    pipeline.stage("javascript", plugin_ref("transform", "JavaScript"), javascript, ["in"])
    pipeline.stage("collected", python, script, ["in"])
    pipeline.collect_errors("errors", "collected")
    failing = "set-type :id integer; fail id > 2"
    recipes = {
        "sent": wrangle(failing, "send-to-error-port"),
        "skipped": wrangle(failing, "skip-error"),
        "filtered": wrangle("send-to-error id > 2", "fail-pipeline"),
        "refused": wrangle("parse-as-fixed-length :body 8", "fail-pipeline"),
    }
    for name, properties in recipes.items():
        pipeline.stage(name, WRANGLER, properties, ["in"])
    for name in ("json", "python", "javascript", "collected", *recipes):
        pipeline.sink(f"{name} out", name)

    pipeline.run()

    found = {(each.stage, each.kind): (each.count, each.first) for each in pipeline.altered}
    record = json.dumps(ROWS[3])
    differing = (2, "'N' for 'n'. Text: {\"N\": 2}")
    assert found[("json", NoticeKind.KEYS)] == differing
    assert found[("json", NoticeKind.ROWS)][0] == 1
    assert found[("python", NoticeKind.KEYS)] == (1, "'N' for 'n'")
    assert found[("python", NoticeKind.ROWS)] == (1, f"four; the record is {record}")
    assert found[("javascript", NoticeKind.KEYS)] == (1, "' N' for 'n'")
    assert found[("javascript", NoticeKind.ROWS)] == (1, f"four; the record is {record}")
    assert found[("sent", NoticeKind.ROWS)][0] == 2
    assert found[("refused", NoticeKind.ROWS)][0] == 1
    stages = {"json", "python", "javascript", "collected", "sent", "refused"}
    assert {stage for stage, _ in found} == stages
    assert ("collected", NoticeKind.ROWS) not in found
    assert [each["n"] for each in pipeline.read("json out")] == [1, 2, None]


@pytest.mark.spark
def test_the_keys_of_a_file_of_json(spark, tmp_path):
    lines = ['{"id": 1, "inner": {"a": 1}}', '{"ID": 2}', '{"id": 3, "inner": {" a": 4}}']
    (tmp_path / "in.json").write_text("\n".join(lines) + "\n")
    inner = Schema.record("inner", [("a", Schema.INT.as_nullable)])
    schema = Schema.record("s", [("id", Schema.INT.as_nullable), ("inner", inner.as_nullable)])
    pipeline = PipelineTester(spark, tmp_path)
    properties = {"referenceName": "r", "path": str(tmp_path / "in.json"), "format": "json"}
    pipeline.stage("in", plugin_ref("batchsource", "File"), {**properties, "schema": str(schema)})
    pipeline.sink("out", "in")

    pipeline.run()

    (keys,) = pipeline.altered
    assert (keys.kind, keys.count) == (NoticeKind.KEYS, 2)
    assert keys.first.startswith("' a' for 'a'. File: ")
    assert keys.first.endswith(f"line: {lines[2]}")
    rows = [
        {"id": 1, "inner": {"a": 1}},
        {"id": 2, "inner": None},
        {"id": 3, "inner": {"a": None}},
    ]
    assert pipeline.read("out") == rows
