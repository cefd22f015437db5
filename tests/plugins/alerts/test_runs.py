"""Alerts in runs: from the stages that emit them to the publishers, the record of the run and its screens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.schema import Schema
from localcdap.cli.records import print_alerts
from localcdap.runs.model import StoredAlert
from localcdap.runs.preview.model import DebugRequest, GivenRecords, PreviewRequest
from localcdap.testing import TemporaryInstance

pytestmark = pytest.mark.spark
PEOPLE = Schema.record("people", [("name", Schema.STRING), ("age", Schema.INT)])
JAVASCRIPT = """function transform(input, emitter, context) {
  if (input.age < 18) emitter.emitAlert({name: input.name, age: input.age});
  emitter.emit(input);
}"""
PYTHON = """def transform(record, emitter, context):
    emitter.emitAlert({'seen': record['name']})
    emitter.emit(record)
"""
FILE = {"referenceName": "file", "format": "csv"}


def stage(name: str, type: str, plugin: str, **properties: str) -> dict[str, Any]:
    return {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}


def document(*publishers: dict[str, Any], sink: dict[str, Any] | None = None) -> dict[str, Any]:
    """A pipeline whose stages 'young' and 'all' emit alerts; each publisher is connected to both."""
    write = sink or stage("write", "batchsink", "File", **FILE, path="out")
    stages = [
        stage("read", "batchsource", "File", **FILE, path="people.csv", schema=str(PEOPLE)),
        stage("young", "transform", "JavaScript", script=JAVASCRIPT, schema=str(PEOPLE)),
        stage("all", "transform", "PythonEvaluator", script=PYTHON, schema=str(PEOPLE)),
        write,
        *publishers,
    ]
    pairs = [("read", "young"), ("young", "all"), ("all", write["name"])]
    pairs += [(emitter, each["name"]) for each in publishers for emitter in ("young", "all")]
    connections = [{"from": source, "to": target} for source, target in pairs]
    after = stage("Late", "postaction", "HTTPCallback", url="http://127.0.0.1:9/", method="GET")
    config = {"stages": stages, "connections": connections, "postActions": [after]}
    return {"name": "Alarms", "config": config}


@pytest.fixture
def instance(cdap_instance: TemporaryInstance, engine: object) -> TemporaryInstance:
    people = "ada,36\nbob,7\ncem,17\n"
    (cdap_instance.home.path / "people.csv").write_text(people, encoding="utf-8")
    return cdap_instance


def test_alerts_are_published_after_the_post_actions_and_failures_change_nothing(
    instance: TemporaryInstance,
):
    run = instance.run(
        document(
            stage("tms", "alertpublisher", "TMS", topic="alarms", autoCreateTopic="true"),
            stage("file", "alertpublisher", "FileAlerts", path="alerts.jsonl"),
            stage("gone", "alertpublisher", "TMS", topic="none"),
        )
    )

    assert (run.status, run.error) == ("COMPLETED", None)
    counts = {name: (c.records_in, c.records_out, c.alerts) for name, c in run.stages.items()}
    unset = run.stages["read"].alerts
    assert counts["young"] == (3, 3, 2)
    assert counts["all"] == (3, 3, 3)
    assert counts["tms"] == counts["file"] == counts["gone"] == (5, 0, unset)
    assert counts["write"] == (3, 0, unset)
    alerts = instance.cdap.runs.read_alerts(run.run)
    assert sorted(alerts, key=str) == sorted(
        [
            StoredAlert("young", {"name": "bob", "age": "7"}),
            StoredAlert("young", {"name": "cem", "age": "17"}),
            *(StoredAlert("all", {"seen": name}) for name in ("ada", "bob", "cem")),
        ],
        key=str,
    )
    messages = instance.cdap.messaging.fetch("default", "alarms", 0)
    expected = [{"stageName": each.stage, "payload": each.payload} for each in alerts]
    assert sorted((m.payload for m in messages), key=str) == sorted(expected, key=str)
    lines = (instance.home.path / "alerts.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted((json.loads(line)["payload"] for line in lines), key=str) == sorted(
        (each.payload for each in alerts), key=str
    )
    log = [line.text for line in instance.cdap.runs.read_log(run.run)]
    post_action = next(i for i, text in enumerate(log) if "Post action 'Late'" in text)
    failed = next(i for i, text in enumerate(log) if "errors publishing alerts" in text)
    assert post_action < failed
    assert "Stage 'gone' had errors" in log[failed]
    assert "no topic 'none'" in log[failed]

    assert run.sinks == ["write"]


@pytest.mark.slow
def test_a_failed_run_without_counts_publishes_the_alerts_of_phases_that_ended(
    instance: TemporaryInstance,
):
    instance.settings("[engine]\ncounts = false\n")
    made = document(stage("file", "alertpublisher", "FileAlerts", path="alerts.jsonl"))
    fail = stage("fail", "action", "FileMove", sourcePath="nowhere.csv", destPath="x")
    made["config"]["stages"].append(fail)
    made["config"]["connections"].append({"from": "write", "to": "fail"})

    run = instance.run(made)

    assert run.status == "FAILED"
    assert run.error is not None
    assert run.error.stage == "fail"
    lines = (instance.home.path / "alerts.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 5


@pytest.mark.slow
def test_a_run_without_alerts_does_not_call_its_publishers(instance: TemporaryInstance):
    (instance.home.path / "people.csv").write_text("", encoding="utf-8")
    run = instance.run(document(stage("gone", "alertpublisher", "TMS", topic="none")))

    assert run.status == "COMPLETED"
    assert not Path(instance.home.path / "alerts.jsonl").exists()
    assert not any("alerts" in line.text for line in instance.cdap.runs.read_log(run.run))


@pytest.mark.slow
def test_previews_and_debugging_show_alerts(
    instance: TemporaryInstance, capsys: pytest.CaptureFixture[str]
):
    made = document(stage("file", "alertpublisher", "FileAlerts", path="alerts.jsonl"))
    people = [{"name": "ada", "age": 36}, {"name": "bob", "age": 7}]
    previews = instance.cdap.previews

    preview = previews.start(PreviewRequest(json.dumps(made)))
    while not preview.status.is_end:
        preview = previews.wait("default", preview.preview, preview.version, 5.0)
    request = DebugRequest(
        stage="young", input=[GivenRecords(records=people)], document=json.dumps(made)
    )
    answer = instance.cdap.debugging.debug(request)

    young, everyone = preview.stages["young"], preview.stages["all"]
    assert young.alerts == [{"name": "bob", "age": "7"}, {"name": "cem", "age": "17"}]
    assert (young.alert_count, everyone.alert_count) == (2, 3)
    assert preview.stages["read"].alert_count == 0
    assert answer.errors == []
    assert answer.alerts == [{"name": "bob", "age": "7"}]
    assert not (instance.home.path / "alerts.jsonl").exists()
    print_alerts(young.alerts, 5, 1)
    assert capsys.readouterr().out == "! alert: name=bob, age=7\n… and 4 more alerts\n"
