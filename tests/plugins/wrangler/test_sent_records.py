"""Records that ``send-to-error`` selects: dropped where no stage collects them, unless the flag is set."""

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
DROPPED = "No stage collects the records that 'send-to-error' selects: they are dropped."


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        (made.home.path / "in.txt").write_text("a\nb\n")
        yield made


def build_pipeline(
    version: str | None,
    *,
    mode: str = "",
    collected: bool = False,
    recipe: str = "send-to-error body == 'b'",
) -> str:
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
            {"directives": recipe, "schema": text, "on-error": mode},
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


@pytest.mark.parametrize("version", ["3.5.1", "6.7.2", "6.8.0", "6.10.0-SNAPSHOT", None])
def test_validation_warns_whatever_the_version_is(instance: TemporaryInstance, version: str | None):
    answer = instance.cdap.studio.validate_pipeline(PipelineRequest(build_pipeline(version)))
    assert answer.errors == []
    assert [(each.stage, each.message) for each in answer.warnings] == [("Clean", DROPPED)]
    assert FLAG in str(answer.warnings[0].corrective_action)


@pytest.mark.parametrize(
    ("recipe", "mode", "message"),
    [
        (
            "parse-as-csv :body ','",
            "",
            "No stage collects the records that 'parse-as-csv' cannot read: they are dropped.",
        ),
        (
            "parse-as-simple-date :body 'yyyy'; parse-as-currency :body :b 'en_US'",
            "fail-pipeline",
            (
                "No stage collects the records that 'parse-as-simple-date', 'parse-as-currency' cannot read: "
                "they are dropped."
            ),
        ),
        (
            "uppercase :body",
            "send-to-error-port",
            "No stage collects the records for which a directive fails: they are dropped.",
        ),
        ("parse-as-csv :body ','", "skip-error", None),
        ("uppercase :body", "", None),
    ],
)
def test_validation_warns_of_records_that_would_be_lost(
    instance: TemporaryInstance, recipe: str, mode: str, message: str | None
):
    given = build_pipeline("6.11.0", mode=mode, recipe=recipe)
    collected = build_pipeline("6.11.0", mode=mode, recipe=recipe, collected=True)

    def warn_of(document: str) -> list[str]:
        warnings = instance.cdap.studio.validate_pipeline(PipelineRequest(document)).warnings
        return [each.message for each in warnings if each.message.startswith("No stage collects")]

    assert warn_of(given) == ([message] if message else [])
    assert warn_of(collected) == []


def test_collected_records_and_other_modes_need_no_warning(instance: TemporaryInstance):
    for document in (
        build_pipeline("6.7.2", collected=True),
        build_pipeline(None, mode="skip-error"),
    ):
        assert instance.cdap.studio.validate_pipeline(PipelineRequest(document)).warnings == []


@pytest.mark.slow
@pytest.mark.spark
def test_runs_drop_the_records_unless_the_flag_is_set(instance, cdap_engine_directory):
    def run(version: str | None, *, collected: bool = False, **arguments: str) -> str:
        document = build_pipeline(version, collected=collected)
        done = instance.run(document, arguments=arguments)
        if done.error is not None:
            return done.error.message
        return str(instance.cdap.tables.read_rows("default", "d.t", 9).rows)

    failed = "Errors in Wrangler Transformation"
    assert run("6.7.2") == run("6.10.0-SNAPSHOT") == run(None) == "[['a']]"
    assert failed in run("6.7.2", **{FLAG: "true"})
    assert failed in run(None, collected=True, **{FLAG: "true"})
    instance.cdap.preferences.replace(PreferenceLevel("default"), {FLAG: "true"})
    assert failed in run(None)
    assert run(None, **{FLAG: "false"}) == "[['a']]"
