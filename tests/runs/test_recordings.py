"""Recordings in runs, previews and tests: the pipeline itself stays as it is, and clusters refuse them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.api.errors import ConflictError
from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.pipeline_tests.cases import CaseRequest, CaseStatus
from localcdap.pipeline_tests.service import run_cases
from localcdap.runs.model import RunRequest, describe_stand_ins
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, stage
from tests.e2e.program import wait_until

ROW = schema(id="int", name=["string", "null"])
OTHERS = {"Out": "discard"}


@pytest.fixture
def cdap(tmp_path: Path, engine_directory: Path, fresh_home, monkeypatch):
    monkeypatch.setenv("LOCALCDAP_ENGINE_DIRECTORY", str(engine_directory))
    home = fresh_home(tmp_path / "home")
    (home / "localcdap.toml").write_text('[profiles.cluster]\nremote = "sc://127.0.0.1:9"\n')
    with open_in_process(Home(home)) as opened:
        yield opened


def document():
    stages = [
        stage("In", "batchsource", "SapOdp", referenceName="sap", schema=ROW),
        stage("Out", "batchsink", "Kudu"),
    ]
    return pipeline(stages, ("In", "Out"))


def finish(cdap, run):
    while not run.status.is_end:
        run = cdap.runs.wait(run.run, run.version, 30)
    return run


@pytest.mark.spark
def test_a_run_keeps_the_pipeline_as_it_is_and_says_what_stood_in(cdap, tmp_path):
    text = json.dumps(document())
    run = finish(cdap, cdap.runs.start(RunRequest(text, recordings={"In": "generate:7"} | OTHERS)))
    assert run.status is RunStatus.COMPLETED, run.error
    assert (run.stages["In"].records_out, run.stages["Out"].records_in) == (7, 7)
    assert cdap.runs.get_document(run.run) == text
    assert describe_stand_ins(run) == "recorded"
    folder = tmp_path / "home" / "runs"
    wait_until(lambda: not list(folder.rglob("*.parquet")), "the records are removed")


@pytest.mark.spark
def test_a_deployed_pipeline_runs_on_recordings_and_is_exported_without_them(cdap, tmp_path):
    (tmp_path / "in.csv").write_text("1,a\n")
    stages = [csv_source("In", tmp_path / "in.csv", ROW), json_sink("Out", tmp_path / "out")]
    given = pipeline(stages, ("In", "Out"))
    cdap.applications.deploy(DeployRequest(json.dumps(given)))
    before = cdap.applications.export("default", "test_pipeline", None)
    request = RunRequest(
        before, application="test_pipeline", recordings={"In": "generate:3", "Out": "discard"}
    )
    run = finish(cdap, cdap.runs.start(request))
    assert run.status is RunStatus.COMPLETED, run.error
    assert run.stages["Out"].records_in == 3
    assert not (tmp_path / "out").exists()
    assert cdap.applications.export("default", "test_pipeline", None) == before


@pytest.mark.spark
def test_tests_of_pipelines_use_recordings_where_they_give_no_records(cdap):
    cases = [
        CaseRequest(
            json.dumps(document()), recordings={"In": "generate:4", "Gone": "skip"} | OTHERS
        ),
        CaseRequest(json.dumps(document()), recordings={"In": "gone.csv"} | OTHERS),
    ]
    first, second = sorted(run_cases(cdap.cases, "default", cases), key=lambda each: each.case)
    assert first.status is CaseStatus.COMPLETED, first
    assert first.stages["Out"].count == 4
    assert [each.stage for each in first.stand_ins] == ["In", "Out"]
    assert second.status is CaseStatus.INVALID
    assert "There is no recording" in second.errors[0].message


def test_a_cluster_refuses_recordings_and_nothing_is_recorded(cdap):
    recordings = {"In": "generate:7"} | OTHERS
    with pytest.raises(ConflictError) as error:
        cdap.runs.start(RunRequest(document(), profile="cluster", recordings=recordings))
    assert "'cluster' is a cluster" in error.value.message
    assert "runs.recorded_on_clusters = true" in (error.value.corrective_action or "")
    assert cdap.runs.list_runs("default") == []
