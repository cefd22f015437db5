"""Stages that use connections: ``${conn(name)}`` in validation, in a run, and nowhere a secret."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from localcdap.api.serialization.value_types import encode_schema
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]})


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        made.settings('[locations]\n"gs://b" = "b"\n')
        given = {"project": "p", "serviceAccountJSON": "top-secret-key"}
        made.cdap.connections.load(
            "default", {"name": "gcp", "plugin": {"name": "GCS", "properties": given}}
        )
        yield made


def pipeline(connection: str) -> str:
    def stage(name: str, type: str, plugin: str, **properties: str) -> dict[str, Any]:
        shared = {"useConnection": "true", "connection": connection}
        return {
            "name": name,
            "plugin": {"type": type, "name": plugin, "properties": shared | properties},
        }

    source = stage("In", "batchsource", "GCSFile", path="gs://b/in", format="csv", schema=SCHEMA)
    sink = stage("Out", "batchsink", "BigQueryTable", dataset="d", table="t")
    config = {"stages": [source, sink], "connections": [{"from": "In", "to": "Out"}]}
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def test_a_connection_that_is_there_is_used_and_its_secret_not_shown(instance):
    request = PipelineRequest(pipeline("${conn(gcp)}"))
    answer = instance.cdap.studio.validate_pipeline(request)
    assert answer.errors == []
    reported = msgspec.json.encode(answer, enc_hook=encode_schema).decode()
    assert "top-secret-key" not in reported


def test_a_connection_that_is_not_there_is_reported_with_those_that_are(instance):
    request = PipelineRequest(pipeline("${conn(gpc)}"))
    answer = instance.cdap.studio.validate_pipeline(request)
    assert [(f.stage, f.message) for f in answer.errors[:1]] == [
        ("In", "There is no connection 'gpc' in namespace 'default'; available: gcp.")
    ]
    assert "localcdap connections put" in answer.errors[0].corrective_action


@pytest.mark.spark
def test_a_run_uses_them(instance, cdap_engine_directory):
    folder = instance.home.path / "b" / "in"
    folder.mkdir(parents=True)
    (folder / "x.csv").write_text("1\n2\n")
    run = instance.run(pipeline("${conn(gcp)}"))
    assert run.error is None
    assert run.stages["Out"].records_in == 2
