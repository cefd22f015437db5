"""Schedules of a real host: their runs on Spark, their triggers from real events, and the server."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.cli.main import run as run_command
from localcdap.datasets.model import DatasetRequest
from localcdap.engine.messages.spool import RunStatus
from localcdap.host import open_in_process
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.runs.model import Run
from localcdap.schedules.model import (
    EventKind,
    PartitionTrigger,
    ProgramStatusTrigger,
    ScheduleRequest,
    TimeTrigger,
    TriggerDataset,
    TriggerProgram,
)
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema

PARTITIONED = {
    "partitioning.fields.": "day",
    "partitioning.field.day": "STRING",
    "format": "text",
}


@pytest.fixture
def instance(tmp_path: Path, engine_directory: Path) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path / "home") as made:
        made.settings(f'engine.directory = "{engine_directory}"\n')
        yield made


def deploy(instance: TemporaryInstance, name: str, folder: Path, source: str) -> None:
    stages = [csv_source("In", source, schema(id="int")), json_sink("Out", folder / name)]
    document = pipeline(stages, ("In", "Out"))
    answer = instance.cdap.applications.deploy(DeployRequest(json.dumps(document), name=name))
    assert answer.errors == []


def add(instance: TemporaryInstance, pipeline: str, name: str, request: ScheduleRequest) -> None:
    instance.cdap.schedules.add("default", pipeline, name, request)
    instance.cdap.schedules.enable("default", pipeline, name)


def wait_for_run(instance: TemporaryInstance, pipeline: str) -> Run:
    """Return the only run of a pipeline when it has ended."""
    deadline = time.monotonic() + 60
    while not (found := instance.cdap.runs.list_runs("default", pipeline)):
        assert time.monotonic() < deadline, instance.cdap.schedules.list_events("default")
        time.sleep(0.05)
    (run,) = found
    while not run.status.is_end:
        run = instance.cdap.runs.wait(run.run, run.version, 1.0)
    return run


@pytest.mark.spark
def test_a_new_partition_starts_a_run_whose_end_starts_another(
    instance: TemporaryInstance, tmp_path: Path
):
    (tmp_path / "in.csv").write_text("1\n2\n")
    deploy(instance, "first", tmp_path, "${in}")
    deploy(instance, "second", tmp_path, "${input}")
    instance.cdap.datasets.create(DatasetRequest("days", "partitionedFileSet", PARTITIONED))
    days = PartitionTrigger(TriggerDataset("default", "days"), 1)
    given = {"in": str(tmp_path / "in.csv")}
    add(instance, "first", "daily", ScheduleRequest(days, properties=given))
    mapping = {"pluginProperties": [{"stageName": "In", "source": "path", "target": "input"}]}
    after = ProgramStatusTrigger(TriggerProgram("default", "first"), ["COMPLETED"])
    passed = {"triggering.properties.mapping": json.dumps(mapping)}
    add(instance, "second", "chained", ScheduleRequest(after, properties=passed))

    instance.cdap.transactions.run(
        lambda tx: tx.dataset("days").add_partition({"day": "friday"}, "friday")
    )
    first, second = (wait_for_run(instance, name) for name in ("first", "second"))

    assert (first.status, second.status) == (RunStatus.COMPLETED, RunStatus.COMPLETED)
    assert (first.start_method, first.schedule.name) == ("TRIGGERED", "daily")
    assert first.schedule.trigger_infos[0].dataset_name == "days"
    assert second.schedule.trigger_infos[0].run_id == first.run
    assert second.arguments["input"] == given["in"]
    assert [each["id"] for each in json_records(tmp_path / "second")] == [1, 2]
    runs = instance.cdap.statistics.read_dashboard(first.starting // 1000, 600, ["default"])
    assert [each.start_method for each in runs] == ["TRIGGERED", "TRIGGERED"]
    # A change of a partition does not count as a new one.
    instance.cdap.transactions.run(
        lambda tx: tx.dataset("days").add_metadata({"day": "friday"}, {"seen": "yes"})
    )
    assert instance.cdap.schedules.list_jobs("default") == []


@pytest.mark.slow
def test_a_second_program_at_an_instance_does_not_act_too(instance: TemporaryInstance):
    _ = instance.cdap
    with open_in_process(instance.home) as other:
        assert not other.is_host
        assert other.schedules.list_schedules("default") == []


@pytest.mark.slow
def test_schedules_go_with_their_namespace(instance: TemporaryInstance, tmp_path: Path):
    instance.cdap.namespaces.create("n")
    document = pipeline([csv_source("In", "/in", schema(id="int")), json_sink("Out", tmp_path)])
    document["config"] |= {"schedule": "0 3 * * *", "connections": [{"from": "In", "to": "Out"}]}
    instance.cdap.applications.deploy(DeployRequest(json.dumps(document), "n", name="p"))
    assert len(instance.cdap.schedules.list_schedules("n")) == 1
    instance.cdap.namespaces.delete("n")
    instance.cdap.namespaces.create("n")
    assert instance.cdap.schedules.list_schedules("n") == []


def ask(address: str, method: str, path: str, body: Any = None) -> Any:
    connection = http.client.HTTPConnection(address.removeprefix("http://"))
    connection.request(method, path, None if body is None else json.dumps(body))
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    assert response.status == 200, text
    return json.loads(text) if text else None


@pytest.mark.spark
@pytest.mark.slow
def test_the_server_keeps_a_host_up_in_which_schedules_act(
    instance: TemporaryInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LOCALCDAP_HOST_IDLE_SECONDS", "1")
    (tmp_path / "in.csv").write_text("1\n")
    deploy(instance, "p", tmp_path, str(tmp_path / "in.csv"))
    request = ScheduleRequest(TimeTrigger("* * * * * ?"), constraints=[])
    instance.cdap.schedules.add("default", "p", "often", request)
    instance.close()

    def run_program(*arguments: str) -> Any:
        command = [sys.executable, "-m", "localcdap.cli", "server", *arguments]
        command += ["--home", str(instance.home.path), "--json"]
        return json.loads(subprocess.run(command, capture_output=True, check=False).stdout)

    address = run_program("start", "--port", "0", "--open")["address"]
    try:
        app = "/v3/namespaces/default/apps/p"
        assert ask(address, "POST", f"{app}/schedules/often/enable") == "OK"
        runs_path, deadline = f"{app}/workflows/DataPipelineWorkflow/runs", time.monotonic() + 60
        # A host without the server would end after a second, so between two runs.
        while len(ask(address, "GET", runs_path)) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert ask(address, "POST", f"{app}/schedules/often/suspend") == "OK"
        runs = ask(address, "GET", runs_path)
        (last,) = ask(address, "GET", f"{app}/workflows/DataPipelineWorkflow/previousruntime")
    finally:
        run_program("stop")
        # A host with active runs goes on, also when their folder is removed after the test.
        for each in reversed(instance.cdap.runs.list_active("default", "p")):
            instance.cdap.runs.stop(each)

    assert len(runs) >= 3
    assert time.time() * 1000 - last["time"] < 60_000
    events = instance.cdap.schedules.list_events("default")
    assert {each.kind for each in events} == {EventKind.STARTED}


@pytest.mark.slow
def test_doctor_says_which_schedules_missed_their_times(
    instance: TemporaryInstance, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    deploy(instance, "p", tmp_path, str(tmp_path / "in.csv"))
    minute = (time.gmtime().tm_min + 30) % 60  # never due while the test runs
    add(instance, "p", "hourly", ScheduleRequest(TimeTrigger(f"{minute} * * * *", "UTC")))
    store = instance.cdap.runs._store
    with store.transaction() as tx:
        tx.execute("UPDATE schedule_times SET next = next - 7_200_000")
    instance.close()  # as after two hours without a host

    deadline = time.monotonic() + 60
    while not (events := instance.cdap.schedules.list_events("default")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert events[0].kind is EventKind.MISSED
    assert instance.cdap.runs.list_runs("default") == []
    run_command(["doctor", "--home", str(instance.home.path)])
    assert "p hourly, " in (shown := capsys.readouterr().out)
    assert "2 runs were not started: " in shown
