"""Events of real deployments and runs, in a file, checked against the schemas of the standard."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.metadata import MetadataEntity
from localcdap.cli.main import run as run_command
from localcdap.engine.messages.spool import RunStatus
from localcdap.metadata.lineage.column_edges import (
    ColumnEdge,
    DatasetField,
    EdgeKind,
    Influence,
)
from localcdap.metadata.lineage.edge_records import EdgeRecords
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.runs.model import RunRequest
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline, stage
from tests.openlineage.validation import read_events

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


def eventually(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def list_events(instance: TemporaryInstance, job: str, count: int) -> list[dict[str, Any]]:
    """The events of a job, as soon as there are so many."""
    file = instance.home.path / "lineage" / "events.jsonl"

    def read() -> list[dict[str, Any]]:
        return [each for each in read_events(file) if each["job"]["name"] == job]

    eventually(lambda: len(read()) >= count)
    return read()


def load(name: str, *, path: str = "gs://sales/in.csv", script: str | None = None) -> dict[str, Any]:
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


def write_edges(instance: TemporaryInstance, application: str) -> None:
    raw, people = DatasetId("default", "raw"), DatasetId("default", "people")
    name, key = DatasetField(raw, "name"), DatasetField(raw, "id")
    edges = [
        ColumnEdge(key, DatasetField(people, "id")),
        ColumnEdge(name, DatasetField(people, "name"), Influence(EdgeKind.TRANSFORMATION, True)),
        ColumnEdge(key, DatasetField(people, "name"), Influence(EdgeKind.CONDITIONAL, assumed=True)),
        ColumnEdge(key, DatasetField(people), Influence(EdgeKind.FILTER)),
    ]
    with instance.cdap.runs._store.transaction() as tx:
        EdgeRecords(tx).replace("default", application, edges)


def test_a_run_of_a_deployed_pipeline(instance: TemporaryInstance) -> None:
    cdap, document = instance.cdap, json.dumps(load("load") | {"description": "Loads people."})
    cdap.metadata.add_tags(MetadataEntity.of_application("load", "default"), ["nightly"]) if False else None
    deployed = cdap.applications.deploy(DeployRequest(document)).application
    (job,) = list_events(instance, "load", 1)
    write_edges(instance, "load")
    request = RunRequest(
        document,
        arguments={
            "openlineage.parentJobNamespace": "airflow",
            "openlineage.parentJobName": "dag.task",
            "openlineage.parentRunId": PARENT,
        },
        application="load",
        application_version=deployed.version,
    )
    run = cdap.runs.start(request)
    while not run.status.is_end:
        run = cdap.runs.wait(run.run, run.version, 5.0)
    assert run.status is RunStatus.COMPLETED

    job, start, end = list_events(instance, "load", 3)
    print(json.dumps([job, start, end], indent=1))
