"""Sinks that write to one folder, or to one inside another: a failure on both, before anything is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from localcdap.api.errors import InvalidPipelineError
from localcdap.pipeline.editing.service import OpenRequest
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]})
SETTINGS = '[locations]\n"gs://bucket" = "data/bucket"\n"s3n://bucket" = "data/bucket"\n'


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    folder = tmp_path_factory.mktemp("instance")
    (folder / "localcdap.toml").write_text(SETTINGS)
    (folder / "data").mkdir()
    (folder / "link").symlink_to(folder / "data")
    (folder / "in.csv").write_text("x\n")
    with TemporaryInstance(folder) as instance:
        yield instance


def make(*sinks: tuple[str, dict[str, str]], condition: bool = False) -> dict[str, Any]:
    def stage(name: str, type: str, plugin: str, properties: dict[str, str]) -> dict[str, Any]:
        return {"name": name, "plugin": {"name": plugin, "type": type, "properties": properties}}

    read = {"path": "in.csv", "format": "csv", "schema": SCHEMA, "referenceName": "r"}
    stages = [stage("read", "batchsource", "File", read)]
    connections = []
    if condition:
        stages.append(stage("which", "condition", "Conditional", {"expression": "1 == 1"}))
        connections.append({"from": "read", "to": "which"})
    for name, (plugin, properties) in zip("AB", sinks, strict=True):
        type = "sparksink" if plugin.endswith("Trainer") else "batchsink"
        stages.append(stage(name, type, plugin, {"referenceName": name, **properties}))
        branch: dict[str, Any] = {"condition": name == "A"} if condition else {}
        connections.append({"from": "which" if condition else "read", "to": name, **branch})
    return {
        "artifact": {"name": "cdap-data-pipeline", "version": "6.9.0", "scope": "SYSTEM"},
        "config": {"stages": stages, "connections": connections},
    }


def file(path: str, **more: str) -> tuple[str, dict[str, str]]:
    return "File", {"path": path, "format": "json", **more}


def find_failures(instance: TemporaryInstance, document: dict[str, Any]):
    found = instance.cdap.studio.validate_pipeline(PipelineRequest(json.dumps(document)))
    return {each.stage: each for each in found.errors if " write" in each.message}


AT = {"schema": SCHEMA, "basePath": "sets"}


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        (file("out"), file("out"), "path"),
        (file("out"), file("./out/", format="csv"), "path"),
        (file("data/out"), file("link/out", format="parquet", schema=SCHEMA), "path"),
        (file("/tmp/out"), file("file:///tmp/out"), "path"),
        (file("out", suffix="yyyy"), file("out", suffix="yyyy"), "path"),
        (file("data/bucket/x"), ("GCS", {"path": "gs://bucket/x", "format": "json"}), "path"),
        (("GCSText", {"bucket": "bucket", "path": "x"}), file("data/bucket/x"), "path"),
        (
            ("S3Parquet", {"basePath": "s3n://bucket/x", "schema": SCHEMA, "pathFormat": "yyyy"}),
            ("S3Avro", {"basePath": "s3n://bucket/x", "schema": SCHEMA, "pathFormat": "yyyy"}),
            "basePath",
        ),
        (("TPFSAvro", {"name": "set", **AT}), ("TPFSAvro", {"name": "set", **AT}), "name"),
        (("SnapshotAvro", {"name": "s", **AT}), ("SnapshotAvro", {"name": "s", **AT}), "name"),
        (
            (
                "NaiveBayesTrainer",
                {"fileSetName": "m", "path": "p", "fieldToClassify": "a", "predictionField": "b"},
            ),
            (
                "NaiveBayesTrainer",
                {"fileSetName": "m", "path": "p", "fieldToClassify": "a", "predictionField": "b"},
            ),
            "path",
        ),
    ],
)
def test_two_sinks_of_one_folder_are_failures_of_both(instance, first, second, field):
    found = find_failures(instance, make(first, second))
    for stage, other in ("AB", "BA"):
        failure = found[stage]
        assert f"Stages '{stage}' and '{other}' both write" in failure.message
        assert failure.field == field
        assert "folder of its own" in failure.corrective_action


def test_one_folder_inside_another(instance):
    found = find_failures(instance, make(file("out"), file("out/b")))
    assert found["A"].message == "The folder 'out' contains 'out/b', to which stage 'B' writes."
    assert found["B"].message == "The folder 'out/b' is inside 'out', to which stage 'A' writes."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (file("out"), file("out2")),
        (file("out", suffix="yyyy"), file("out", suffix="yyyy-MM")),
        (file("out"), file("${where}")),
        (file("gs://none/x"), file("data/x")),
        (("Table", {"name": "t", "schema.row.field": "a", "schema": SCHEMA}),) * 2,
        (
            ("TPFSAvro", {"name": "set", **AT}),
            ("TPFSAvro", {"name": "set", "partitionOffset": "1h", **AT}),
        ),
    ],
)
def test_other_folders_and_tables_are_none(instance, first, second):
    assert find_failures(instance, make(first, second)) == {}


def test_branches_of_a_condition_may_write_to_one_folder(instance):
    assert find_failures(instance, make(file("out"), file("out"), condition=True)) == {}


def test_the_studio_shows_it_at_both_stages(instance):
    opened = instance.cdap.editing.open(OpenRequest(json.dumps(make(file("out"), file("out")))))
    wrong = {name for name, state in opened.change.stages.items() if state.errors}
    assert wrong == {"A", "B"}


def test_paths_that_arguments_make_equal_are_refused_at_the_start(instance):
    document = make(file("${one}"), file("${two}"))
    assert find_failures(instance, document) == {}
    with pytest.raises(InvalidPipelineError) as caught:
        instance.run(document, {"one": "out", "two": "./out"})
    assert [each["stage"] for each in caught.value.failures] == ["A", "B"]
    assert "both write to the folder 'out'" in caught.value.failures[0]["message"]
