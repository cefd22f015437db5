"""Events of real deployments and runs, in a file, checked against the schemas of the standard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.metadata import MetadataEntity
from localcdap.cli.main import run as run_command
from localcdap.engine.messages.spool import RunStatus
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.runs.model import RunRequest
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline, stage
from tests.openlineage.validation import read_events, wait_until

pytestmark = pytest.mark.spark

SCHEMA = (
    '{"type":"record","name":"r","fields":[{"name":"id","type":"string"},'
    '{"name":"name","type":["string","null"]}]}'
)
PARENT = "6f1bd2c0-7a0b-4f5e-9d5a-0c1d2e3f4a5b"


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("openlineage") / "shop") as instance:
        instance.settings(
            '[openlineage]\nfile = "lineage/events.jsonl"\n\n[locations]\n"gs://sales" = "sales"\n'
        )
        folder = instance.home.path / "sales"
        folder.mkdir()
        (folder / "in.csv").write_text("id,name\n1,ada\n2,grace\n", encoding="utf-8")
        yield instance


def list_events(instance: TemporaryInstance, job: str, count: int) -> list[dict[str, Any]]:
    """The events of a job, as soon as there are so many."""
    file = instance.home.path / "lineage" / "events.jsonl"

    def read() -> list[dict[str, Any]]:
        return [each for each in read_events(file) if each["job"]["name"] == job]

    wait_until(lambda: len(read()) >= count)
    return read()


def load(
    name: str, *, path: str = "gs://sales/in.csv", script: str | None = None
) -> dict[str, Any]:
    """A pipeline from a file in a bucket to the table ``people``."""
    source = stage(
        "in",
        "batchsource",
        "File",
        referenceName="raw",
        path=path,
        format="csv",
        skipHeader="true",
        schema=SCHEMA,
    )
    table = stage("out", "batchsink", "Table", schema=SCHEMA, schema__row__field="id")
    table["plugin"]["properties"]["name"] = "people"
    if script is None:
        return pipeline([source, table], ("in", "out")) | {"name": name}
    between = stage("script", "transform", "JavaScript", script=script)
    stages = [source, between, table]
    return pipeline(stages, ("in", "script"), ("script", "out")) | {"name": name}


def load_hashed(name: str) -> dict[str, Any]:
    """As :func:`load`, with stages between that hash names, and keep one record for each id."""
    document = load(name)
    read, write = document["config"]["stages"]
    hashed = stage("hash", "transform", "Hasher", "transform-plugins", hash="MD5", fields="name")
    unique = stage("unique", "batchaggregator", "Deduplicate", uniqueFields="id")
    connections = ("in", "hash"), ("hash", "unique"), ("unique", "out")
    return pipeline([read, hashed, unique, write], *connections) | {"name": name}


def get_identity(event: dict[str, Any]) -> dict[str, Any]:
    return {key: event[key] for key in ("eventTime", "eventType", "run", "inputs", "outputs")}


@pytest.fixture(scope="module")
def events(instance: TemporaryInstance) -> list[dict[str, Any]]:
    """Those of a pipeline that is deployed and run: JobEvent, START, COMPLETE."""
    cdap, document = (
        instance.cdap,
        json.dumps(load_hashed("load") | {"description": "Loads people."}),
    )
    raw = MetadataEntity.of_dataset("raw", "default")
    cdap.metadata.add(raw.append("field", "name"), tags=["pii"])
    deployed = cdap.applications.deploy(DeployRequest(document)).application
    list_events(instance, "load", 1)
    load_entity = MetadataEntity.of_application("load", "default")
    cdap.metadata.add(load_entity, {"owner": "ada"})
    arguments = {
        "openlineage.parentJobNamespace": "airflow",
        "openlineage.parentJobName": "dag.task",
        "openlineage.parentRunId": PARENT,
    }
    run = cdap.runs.start(
        RunRequest(
            document,
            arguments=arguments,
            application="load",
            application_version=deployed.version,
        )
    )
    while not run.status.is_end:
        run = cdap.runs.wait(run.run, run.version, 5.0)
    assert run.status is RunStatus.COMPLETED
    found = list_events(instance, "load", 3)
    assert [each.get("eventType") for each in found] == [None, "START", "COMPLETE"]
    assert [each["run"]["runId"] for each in found[1:]] == [run.run, run.run]
    return found


def test_the_job_of_all_events_is_the_pipeline(events: list[dict[str, Any]]) -> None:
    for event in events:
        job = event["job"]
        assert (job["namespace"], job["name"]) == ("localcdap://shop/default", "load")
        type = job["facets"]["jobType"]
        assert (type["processingType"], type["integration"]) == ("BATCH", "LOCALCDAP")
        assert job["facets"]["documentation"]["description"] == "Loads people."
    tags = events[-1]["job"]["facets"]["tags"]["tags"]
    assert tags == [
        {"key": "cdap-data-pipeline", "value": "true", "source": "INTEGRATION"},
        {"key": "owner", "value": "ada", "source": "USER"},
    ]


def test_datasets_have_their_real_names(
    instance: TemporaryInstance, events: list[dict[str, Any]]
) -> None:
    local = {
        "namespace": "file",
        "name": str(instance.home.path / "sales/in.csv"),
        "type": "LOCATION",
    }
    reference = {"namespace": "localcdap://shop/default", "name": "raw", "type": "DATASET"}
    for event in events:
        (read,), (written,) = event["inputs"], event["outputs"]
        assert (read["namespace"], read["name"]) == ("gs://sales", "in.csv")
        assert read["facets"]["symlinks"]["identifiers"] == [local, reference]
        assert written["namespace"] == f"duckdb://{instance.home.database}"
        assert written["name"] == "default.people"
        for dataset in (read, written):
            fields = dataset["facets"]["schema"]["fields"]
            assert [(each["name"], each["type"]) for each in fields] == [
                ("id", "string"),
                ("name", "string"),
            ]
    tags = events[-1]["inputs"][0]["facets"]["tags"]["tags"]
    assert tags == [{"key": "pii", "value": "true", "source": "USER", "field": "name"}]


def test_columns_have_their_lineage(events: list[dict[str, Any]]) -> None:
    def describe(inputs: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        return [
            (
                each["namespace"],
                each["name"],
                each["field"],
                of["type"],
                of["subtype"],
                of["masking"],
            )
            for each in inputs
            for of in each["transformations"]
        ]

    place = ("gs://sales", "in.csv")
    for event in events:
        facet = event["outputs"][0]["facets"]["columnLineage"]
        fields = {name: describe(each["inputFields"]) for name, each in facet["fields"].items()}
        assert fields == {
            "id": [(*place, "id", "DIRECT", "IDENTITY", False)],
            "name": [(*place, "name", "DIRECT", "TRANSFORMATION", True)],
        }
        assert describe(facet["dataset"]) == [(*place, "id", "INDIRECT", "GROUP_BY", False)]


def test_what_is_assumed_of_a_script_says_so(instance: TemporaryInstance) -> None:
    script = "function transform(i, e) { e.emit(i); }"
    document = json.dumps(load("scripted", script=script))
    assert instance.cdap.applications.deploy(DeployRequest(document)).application
    (event,) = list_events(instance, "scripted", 1)
    facet = event["outputs"][0]["facets"]["columnLineage"]
    for inputs in (facet["fields"]["name"]["inputFields"], facet["dataset"]):
        assert {each["field"] for each in inputs} == {"id", "name"}
        described = [of["description"] for each in inputs for of in each["transformations"]]
        assert all(each.startswith("Assumed") for each in described)
    instance.cdap.applications.delete("default", "scripted")


def test_a_run_has_counts_an_engine_and_a_parent(events: list[dict[str, Any]]) -> None:
    _, start, end = events
    assert "inputFacets" not in start["inputs"][0]
    assert end["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 2
    assert end["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2
    for event in (start, end):
        facets = event["run"]["facets"]
        assert facets["processing_engine"]["name"] == "Spark"
        assert facets["parent"]["run"] == {"runId": PARENT}
        assert facets["parent"]["job"] == {"namespace": "airflow", "name": "dag.task"}
        assert "errorMessage" not in facets
    assert start["eventTime"] < end["eventTime"]


def test_a_failed_run_says_which_stage_failed(instance: TemporaryInstance) -> None:
    script = "function transform(i, e) { throw new Error('asked to fail'); }"
    run = instance.run(load("fail", path="sales/in.csv", script=script))
    assert run.status is RunStatus.FAILED
    start, end = list_events(instance, "fail", 2)
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL")
    error = end["run"]["facets"]["errorMessage"]
    assert error["message"].startswith("Stage 'script'")
    assert "asked to fail" in error["message"]
    assert error["programmingLanguage"] == "PYTHON"
    # It has read the file, and committed nothing.
    (read,) = end["inputs"]
    assert (read["namespace"], read["name"]) == ("file", str(instance.home.path / "sales/in.csv"))
    assert end["outputs"] == []
    assert [each["name"] for each in start["outputs"]] == ["default.people"]


def test_a_stopped_run_is_aborted(instance: TemporaryInstance) -> None:
    run = instance.cdap.runs.start(RunRequest(json.dumps(load("stop"))))
    assert instance.cdap.runs.stop(run.run).status is RunStatus.KILLED
    start, end = list_events(instance, "stop", 2)
    assert (start["eventType"], end["eventType"]) == ("START", "ABORT")
    assert {start["run"]["runId"], end["run"]["runId"]} == {run.run}


def test_the_command_exports_what_was_sent(
    instance: TemporaryInstance,
    events: list[dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def call(*arguments: str) -> int:
        return run_command(["openlineage", *arguments, "--home", str(instance.home.path)])

    file = tmp_path / "past.jsonl"
    assert call("--export", str(file)) == 0
    exported = [each for each in read_events(file) if each["job"]["name"] == "load"]
    assert [each.get("eventType") for each in exported] == [None, "START", "COMPLETE"]
    assert get_identity(exported[-1]) == get_identity(events[-1])
    assert call("--export", str(file), "--pipelines-only") == 0
    assert [each["job"]["name"] for each in read_events(file)] == ["load"]
    assert call("--export", str(tmp_path)) == 2
    wait_until(lambda: not instance.cdap.openlineage.list_destinations()[0].waiting)
    capsys.readouterr()
    assert call("--json") == 0
    (status,) = json.loads(capsys.readouterr().out)
    assert status["target"] == str(instance.home.path / "lineage/events.jsonl")
    assert (status["waiting"], status["tries"]) == (0, 0)
