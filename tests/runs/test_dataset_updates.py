"""Datasets that pipelines declare, from the file to the rows (stories 6 and 7 of document 004)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import InvalidPipelineError, NotFoundError
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.pipeline.library.application_model import Deployment, DeployRequest
from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.model import Run, RunRequest
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, stage

OLD = {"id": "int", "name": ["string", "null"]}
WIDER = {"id": "int", "name": ["string", "null"], "city": ["string", "null"]}


@pytest.fixture
def cdap(
    tmp_path: Path, fresh_home: Callable[[Path], Path], engine_directory: Path
) -> Iterator[Cdap]:
    home = fresh_home(tmp_path / "home")
    (home / "localcdap.toml").write_text(f'engine.directory = "{engine_directory}"\n')
    with open_in_process(Home(home)) as cdap:
        yield cdap


@pytest.fixture
def filling(tmp_path: Path):
    """Makes a pipeline that writes the rows of a file into the table ``people``."""

    def fill(fields: dict[str, Any], *rows: str) -> dict[str, Any]:
        file = tmp_path / f"{len(fields)}.csv"
        file.write_text("".join(f"{row}\n" for row in rows))
        stages = [
            csv_source("In", file, schema(**fields)),
            stage("People", "batchsink", "Table", name="people", schema__row__field="id"),
        ]
        return pipeline(stages, ("In", "People"))

    return fill


def run(cdap: Cdap, document: dict[str, Any], **more: Any) -> Run:
    started = cdap.runs.start(RunRequest(document, **more))
    while not started.status.is_end:
        started = cdap.runs.wait(started.run, started.version, 30)
    return started


def deploy(cdap: Cdap, document: dict[str, Any], name: str = "fill") -> Deployment:
    return cdap.applications.deploy(DeployRequest(document, name=name))


@pytest.mark.slow
@pytest.mark.spark
def test_a_run_of_a_file_changes_a_dataset_only_when_asked(cdap: Cdap, filling):
    assert run(cdap, filling(OLD, "1,ann")).status is RunStatus.COMPLETED
    made = cdap.datasets.describe("default", "people")
    assert (made.type, made.rows) == ("table", 1)
    wider = filling(WIDER, "2,bob,Rome")

    with pytest.raises(InvalidPipelineError) as refused:
        cdap.runs.start(RunRequest(wider))
    (failure,) = refused.value.failures
    assert failure["message"] == (
        "Dataset 'people' must change before the run can write it: it adds 'city' (string or null)."
    )
    assert failure["stage"] == "People"
    assert len(cdap.runs.list_runs("default")) == 1
    (warning,) = cdap.studio.validate_pipeline(PipelineRequest(wider)).warnings
    assert "--update-datasets" in warning.corrective_action

    done = run(cdap, wider, update_datasets=True)
    assert done.status is RunStatus.COMPLETED, done.error
    rows = cdap.tables.read_rows("default", "people", 9)
    assert rows.columns == ["id", "name", "city"]
    assert rows.rows == [[1, "ann", None], [2, "bob", "Rome"]]
    narrow = run(cdap, filling(OLD, "3,cleo"))
    assert narrow.status is RunStatus.COMPLETED, "rows may lack a field that allows null"


@pytest.mark.spark
def test_a_key_may_be_null_in_the_schema_but_not_in_a_record(cdap: Cdap, filling, tmp_path: Path):
    fields = {"id": ["int", "null"], "name": ["string", "null"]}
    document = filling(fields, "1,ann")
    out = tmp_path / "out"
    document["config"]["stages"].append(json_sink("Files", out))
    document["config"]["connections"].append({"from": "In", "to": "Files"})
    deploy(cdap, document)

    done = run(cdap, document, name="fill")
    assert done.status is RunStatus.COMPLETED, done.error
    assert cdap.tables.read_rows("default", "people", 9).rows == [[1, "ann"]]
    shutil.rmtree(out)

    filling(fields, "2,bob", ",cleo")
    failed = run(cdap, document, name="fill")
    assert failed.status is RunStatus.FAILED
    assert failed.error.stage == "People"
    assert "'id'" in failed.error.message
    assert not out.exists()
    assert cdap.tables.read_rows("default", "people", 9).rows == [[1, "ann"]]
    assert failed.written == []


def test_a_deployment_creates_and_updates_its_dataset(cdap: Cdap, filling):
    first = deploy(cdap, filling(OLD))
    second = deploy(cdap, filling(WIDER))
    third = deploy(cdap, filling(WIDER))

    assert [each.is_new for each in first.datasets] == [True]
    assert [each.describe() for each in second.datasets] == ["adds 'city' (string or null)"]
    assert third.datasets == []
    assert cdap.tables.read_rows("default", "people", 9).columns == ["id", "name", "city"]


@pytest.mark.slow
def test_nothing_of_an_incompatible_deployment_takes_effect(cdap: Cdap, filling):
    deploy(cdap, filling(OLD))
    before = cdap.datasets.describe("default", "people")
    changed = {"id": "int", "name": "int", "new": ["string", "null"]}

    refused = deploy(cdap, filling(changed))
    other = deploy(cdap, filling(changed), name="other")
    checked = cdap.studio.validate_pipeline(PipelineRequest(filling(changed), name="fill"))

    for errors in (refused.errors, other.errors, checked.errors):
        (failure,) = errors
        assert failure.message.startswith(
            "Dataset 'people': field 'name' cannot change from string or null to int"
        )
        assert (failure.stage, failure.field) == ("People", "name")
    assert checked.spec is None
    assert refused.application is other.application is None
    assert len(cdap.applications.list_versions("default", "fill")) == 1
    with pytest.raises(NotFoundError):
        cdap.applications.describe("default", "other")
    assert cdap.datasets.describe("default", "people") == before


@pytest.mark.slow
def test_a_pipeline_may_not_write_a_dataset_of_another_type(cdap: Cdap, filling):
    cdap.datasets.create(DatasetRequest("people", "fileSet"))

    (failure,) = deploy(cdap, filling(OLD)).errors

    assert failure.message == (
        "Existing dataset 'people' of type 'fileSet' may not be updated to type 'table'"
    )


@pytest.mark.slow
@pytest.mark.spark
def test_the_commit_of_a_run_compares_its_rows_with_the_new_schema(cdap: Cdap, filling):
    deploy(cdap, filling(OLD))
    document = filling(OLD, "1,ann")
    started = cdap.runs.start(RunRequest(document))
    wider = {"schema": schema(**WIDER)}
    cdap.datasets.update(DatasetUpdate("people", wider, replaces=False))
    while not started.status.is_end:
        started = cdap.runs.wait(started.run, started.version, 30)

    assert started.status is RunStatus.COMPLETED, started.error
    assert cdap.tables.read_rows("default", "people", 9).rows == [[1, "ann", None]]


@pytest.mark.slow
@pytest.mark.spark
def test_the_settings_may_let_every_run_change_datasets(
    tmp_path: Path, engine_directory: Path, filling
):
    home = tmp_path / "changing"
    home.mkdir()
    (home / "localcdap.toml").write_text(
        f'engine.directory = "{engine_directory}"\nruns.update_datasets = true\n'
    )
    with open_in_process(Home(home)) as cdap:
        deploy(cdap, filling(OLD))
        done = run(cdap, filling(WIDER, "2,bob,Rome"))
        assert done.status is RunStatus.COMPLETED, done.error
        assert cdap.tables.read_rows("default", "people", 9).rows == [[2, "bob", "Rome"]]
