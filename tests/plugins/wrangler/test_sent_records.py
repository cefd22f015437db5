"""Records that ``send-to-error`` selects and no stage collects: the version of CDAP decides what happens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localcdap.api.schema import Schema
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

TEXT = Schema.record("r", [("body", Schema.STRING.as_nullable)])
FLAG = "feature.wrangler.fail.pipeline.for.error.enabled"
SELECTED = "No stage collects the records that 'send-to-error' selects: they "
FAIL = "fail the run, as in CDAP since 6.8"
DROP = "are dropped, as in CDAP before 6.8"


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        (made.home.path / "in.txt").write_text("a\nb\n")
        yield made


def build_pipeline(version: str | None, *, mode: str = "", collected: bool = False) -> str:
    text = str(TEXT)
    stages: list[tuple[str, str, str, dict[str, str]]] = [
        (
            "In",
            "batchsource",
            "File",
            {"referenceName": "in", "path": "in.txt", "format": "text", "schema": text},
        ),
        (
            "Clean",
            "transform",
            "Wrangler",
            {"directives": "send-to-error body == 'b'", "schema": text, "on-error": mode},
        ),
        (
            "Out",
            "batchsink",
            "BigQueryTable",
            {"dataset": "d", "table": "t", "truncateTable": "true"},
        ),
    ]
    connections = [("In", "Clean"), ("Clean", "Out")]
    if collected:
        stages.append(("Errors", "errortransform", "ErrorCollector", {}))
        stages.append(("Trash", "batchsink", "Trash", {"referenceName": "t"}))
        connections += [("Clean", "Errors"), ("Errors", "Trash")]
    artifact: dict[str, Any] = {"name": "cdap-data-pipeline", "scope": "SYSTEM"}
    if version is not None:
        artifact["version"] = version
    config = {
        "stages": [
            {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}
            for name, type, plugin, properties in stages
        ],
        "connections": [{"from": a, "to": b} for a, b in connections],
    }
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


@pytest.mark.parametrize(
    ("version", "effect"),
    [
        ("6.7.2", f"{DROP} (the pipeline is of CDAP 6.7.2)"),
        ("3.5.1", f"{DROP} (the pipeline is of CDAP 3.5.1)"),
        ("6.8.0", f"{FAIL} (the pipeline is of CDAP 6.8.0)"),
        ("6.10.1", f"{FAIL} (the pipeline is of CDAP 6.10.1)"),
        ("[6.0.0,7.0.0)", f"{FAIL} (the pipeline names no version)"),
        (None, f"{FAIL} (the pipeline names no version)"),
    ],
)
def test_validation_warns_in_either_case(
    instance: TemporaryInstance, version: str | None, effect: str
):
    answer = instance.cdap.studio.validate_pipeline(PipelineRequest(build_pipeline(version)))
    assert answer.errors == []
    assert [(each.stage, each.message) for each in answer.warnings] == [
        ("Clean", f"{SELECTED}{effect}.")
    ]
    assert FLAG in str(answer.warnings[0].corrective_action)


def test_collected_records_and_other_modes_need_no_warning(instance: TemporaryInstance):
    for document in (
        build_pipeline("6.7.2", collected=True),
        build_pipeline(None, mode="skip-error"),
    ):
        assert instance.cdap.studio.validate_pipeline(PipelineRequest(document)).warnings == []


@pytest.mark.spark
def test_runs_do_what_the_version_or_the_setting_says(instance, cdap_engine_directory):
    def run(version: str | None, **arguments: str) -> str:
        done = instance.run(build_pipeline(version), arguments=arguments)
        if done.error is not None:
            return done.error.message
        return str(instance.cdap.tables.read_rows("default", "d.t", 9).rows)

    failed = "Errors in Wrangler Transformation"
    assert run("6.7.2") == "[['a']]"
    assert failed in run("6.8.0")
    assert failed in run(None)
    assert failed in run("6.7.2", **{FLAG: "true"})
    instance.cdap.preferences.replace(PreferenceLevel("default"), {FLAG: "false"})
    assert run(None) == "[['a']]"
