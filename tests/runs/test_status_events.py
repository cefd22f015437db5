"""What the events about runs say of them."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.api.app.events import RunStageCounts, RunStatusChanged, SystemEvent
from localcdap.api.failures import ArtifactId
from localcdap.decoders import convert
from localcdap.engine.driver.progress_report import create_status
from localcdap.engine.messages.spool import LogLine, RunStatus
from localcdap.runs.effects import RunEffects
from localcdap.testing.instance import TemporaryInstance
from tests.runs.stored_runs import write_run


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        yield made


def read_events(instance: TemporaryInstance, run: str) -> list[RunStatusChanged]:
    found = instance.cdap.messaging.fetch("system", "runs", 0, 1000)
    return [convert(each.payload, SystemEvent) for each in found if each.payload["run"] == run]


def test_events_say_who_runs_what_with_which_result(instance):
    arguments = {"input": "a.csv", "db.password": "hush"}
    run = write_run(instance.cdap, status=RunStatus.PENDING, user="alice", arguments=arguments)
    service = instance.cdap.runs
    effects = RunEffects(service._store, service._records, run.run)
    for message in (
        create_status(RunStatus.STARTING),
        create_status(RunStatus.RUNNING),
        LogLine(1.0, "WARNING", None, "careful"),
        LogLine(2.0, "ERROR", None, "wrong"),
        LogLine(3.0, "INFO", None, "fine"),
        create_status(RunStatus.COMPLETED),
    ):
        with service._store.transaction() as tx:
            effects.apply(tx, message)

    events = read_events(instance, run.run)
    assert [each.status for each in events] == ["PENDING", "STARTING", "RUNNING", "COMPLETED"]
    for each in events:
        assert each.user == "alice"
        assert each.artifact == ArtifactId("cdap-data-pipeline", "6.10.0", "SYSTEM")
        assert (each.program_type, each.program) == ("Workflow", "DataPipelineWorkflow")
        assert each.start_method == "MANUAL"
    shown = {"input": "a.csv", "db.password": "********"}
    assert [each.arguments for each in events] == [shown, shown, None, None]
    end = events[-1]
    assert (end.log_warnings, end.log_errors) == (1, 1)
    assert end.counts == {"In": RunStageCounts(0, 10, 0), "Out": RunStageCounts(10, 10, 0)}
    assert events[0].counts is None


def test_events_of_earlier_versions_can_be_read():
    old = {
        "kind": "runStatusChanged",
        "namespace": "default",
        "pipeline": "p",
        "run": "r",
        "status": "RUNNING",
        "time": 1,
    }
    assert convert(old, SystemEvent) == RunStatusChanged("default", "p", "r", "RUNNING", 1)
    assert msgspec.to_builtins(RunStatusChanged("default", "p", "r", "RUNNING", 1))["kind"]
