"""``localcdap validate``: answers and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, stage, write
from tests.e2e.program import Program

pytestmark = pytest.mark.usefixtures("hosted")

ROW = schema(id="int", name="string")


def test_a_valid_pipeline_gives_its_specification(program: Program, tmp_path: Path):
    source = csv_source("In", tmp_path / "in.csv", ROW)
    document = pipeline([source, json_sink("Out", tmp_path / "out")], ("In", "Out"))

    answer = program("validate", write(document, tmp_path / "p.json"), "--json")

    assert answer.code == 0
    assert answer.json["errors"] == []
    assert [s["name"] for s in answer.json["spec"]["stages"]] == ["In", "Out"]
    assert answer.json["spec"]["stages"][1]["inputSchemas"]["In"] == json.loads(ROW)


def test_all_failures_come_at_once(program: Program, tmp_path: Path):
    stages = [
        csv_source("In", tmp_path / "in.csv", ROW),
        stage(
            "Group",
            "batchaggregator",
            "GroupByAggregate",
            groupByFields="nme",
            aggregates="n:sum(x)",
        ),
        stage("Lonely", "transform", "Projection"),
        stage("Out", "batchsink", "Fil", referenceName="out"),
    ]
    document = pipeline(stages, ("In", "Group"), ("Group", "Out"))

    answer = program("validate", write(document, tmp_path / "p.json"), "--json")

    messages = {failure["message"] for failure in answer.json["errors"]}
    assert answer.code == 1
    assert answer.json["spec"] is None
    assert "Cannot group by field 'nme' because it does not exist in input schema." in messages
    assert any("Plugin named 'Fil' of type 'batchsink' not found." in m for m in messages)
    assert "Stage Lonely is unreachable, it has no incoming connections." in messages


def test_another_version_is_suggested_and_can_be_taken(program: Program, tmp_path: Path):
    source = csv_source("In", tmp_path / "in.csv", ROW)
    source["plugin"]["artifact"]["version"] = "1.5.0"
    document = pipeline([source, json_sink("Out", tmp_path / "out")], ("In", "Out"))
    file = write(document, tmp_path / "p.json")

    refused = program("validate", file, "--json")
    repaired = program("validate", file, "--json", "--fix")

    (failure,) = refused.json["errors"]
    assert failure["type"] == "Artifact Not Found"
    assert failure["stage"] == "In"
    assert failure["suggestedArtifact"]["name"] == "core-plugins"
    assert repaired.code == 0


def test_malformed_json_is_reported_with_line_and_column(program: Program, tmp_path: Path):
    file = tmp_path / "p.json"
    file.write_text('{\n  "config": {,}\n}')

    answer = program("validate", str(file), "--json")

    assert answer.code == 2
    assert f"File '{file}' is not valid JSON" in answer.json["error"]["message"]
    assert (answer.json["error"]["line"], answer.json["error"]["column"]) == (2, 14)


@pytest.mark.slow
def test_what_is_no_pipeline_is_wrong_input(program: Program, tmp_path: Path):
    file = tmp_path / "p.json"
    file.write_text('{"hello": "world"}')

    assert program("validate", str(file)).code == 2
    assert program("validate", str(tmp_path / "missing.json")).code == 2
    assert program("validate", str(tmp_path)).code == 2
    assert program("validate").code == 2


def test_wrong_settings_are_reported_with_line_and_key(program: Program, tmp_path: Path):
    program.settings("plugin.memory_mb = -1\nengine.croes = 2\n")
    document = pipeline([csv_source("In", tmp_path / "x", ROW)])

    answer = program("validate", write(document, tmp_path / "p.json"))

    assert answer.code == 2
    assert "localcdap.toml:1: plugin.memory_mb" in answer.err
    assert (
        "localcdap.toml:2: unknown setting 'engine.croes'. Did you mean 'engine.cores'?"
        in answer.err
    )


def test_one_stage_can_be_asked_for(program: Program, tmp_path: Path):
    source = csv_source("In", tmp_path / "in.csv", "no schema")
    document = pipeline([source, json_sink("Out", tmp_path / "out")], ("In", "Out"))
    file = write(document, tmp_path / "p.json")

    of_source = program("validate", file, "--stage", "In", "--json")
    unknown = program("validate", file, "--stage", "Inn", "--json")

    assert {failure["stage"] for failure in of_source.json["errors"]} == {"In"}
    assert unknown.code == 1
    assert "Its stages: In, Out." in unknown.json["error"]["correctiveAction"]


@pytest.mark.slow
def test_the_answer_for_one_stage_is_its_own(program: Program, tmp_path: Path):
    source = csv_source("In", tmp_path / "in.csv", ROW)
    source["plugin"]["properties"]["delimter"] = ","
    broken = stage("Out", "batchsink", "Fil", referenceName="out")
    document = pipeline([source, broken], ("In", "Out"))
    file = write(document, tmp_path / "p.json")

    answer = program("validate", file, "--stage", "In", "--json")
    shown = program("validate", file, "--stage", "In")

    assert answer.code == 0
    assert answer.json["spec"]["outputSchema"] == json.loads(ROW)
    assert [warning["field"] for warning in answer.json["warnings"]] == ["delimter"]
    assert "out: id int, name string" in shown.out
    assert "Did you mean 'delimiter'?" in shown.out
    assert "In: valid, 1 warning" in shown.out
