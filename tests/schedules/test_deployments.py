"""The schedule that the document of a pipeline asks for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.schedules.changes import EarlierPipelines
from localcdap.schedules.model import (
    PIPELINE_SCHEDULE,
    ConcurrencyConstraint,
    Schedule,
    ScheduleStatus,
    TimeTrigger,
)
from localcdap.store.migration import SHIPPED
from localcdap.store.store import Store
from tests.schedules.bench import DATABASE, Bench


def document(**config: Any) -> dict[str, Any]:
    return {"name": "q", "config": {"stages": [], "connections": [], **config}}


def find(bench: Bench) -> Schedule | None:
    found = bench.service.list_schedules("default", "q")
    return found[0].schedule if found else None


def test_a_deployment_makes_the_schedule_of_the_document_suspended(bench: Bench):
    bench.deploy("q", document(schedule="0 3 * * *", maxConcurrentRuns=2))
    found = find(bench)
    assert found is not None
    assert found.name == PIPELINE_SCHEDULE
    assert found.description == "Data pipeline schedule"
    assert found.trigger == TimeTrigger("0 3 * * *")
    assert found.constraints == [ConcurrencyConstraint(2)]
    assert found.status is ScheduleStatus.SUSPENDED


def test_a_pipeline_without_a_schedule_has_none(bench: Bench):
    bench.deploy("q", document())
    assert find(bench) is None


def test_a_deployment_keeps_an_enabled_schedule_enabled(bench: Bench):
    bench.deploy("q", document(schedule="0 3 * * *"))
    bench.service.enable("default", "q", PIPELINE_SCHEDULE)
    before = find(bench)
    bench.deploy("q", document(schedule="0 3 * * *"))
    assert find(bench) == before

    bench.deploy("q", document(schedule="0 4 * * *"))
    after = find(bench)
    assert (after.trigger, after.status) == (TimeTrigger("0 4 * * *"), ScheduleStatus.SCHEDULED)
    assert len(bench.service.list_next_runtimes("default", "q")) == 1


def test_a_schedule_that_the_document_does_not_ask_for_any_more_is_deleted(bench: Bench):
    bench.deploy("q", document(schedule="0 3 * * *"))
    bench.add("0 5 * * *", name="own", application="q")
    bench.deploy("q", document())
    assert find(bench).name == "own"


def test_a_document_may_leave_schedules_alone(bench: Bench):
    asked = document(schedule="0 3 * * *") | {"app.deploy.update.schedules": False}
    bench.deploy("q", asked)
    assert find(bench) is None


def test_a_streaming_pipeline_has_no_schedule(bench: Bench):
    asked = document(schedule="0 3 * * *") | {
        "artifact": {"name": "cdap-data-streams", "version": "6.8.0", "scope": "SYSTEM"}
    }
    bench.deploy("q", asked)
    assert find(bench) is None


def test_a_deployment_with_an_invalid_schedule_stores_nothing(bench: Bench):
    with pytest.raises(
        BadRequestError,
        match="The 'schedule' of pipeline 'q' cannot be used: Invalid cron expression '0 99",
    ):
        bench.deploy("q", document(schedule="0 99 * * *"))
    assert bench.store.read("SELECT * FROM applications WHERE name = 'q'") == []


def test_pipelines_of_an_earlier_localcdap_get_their_schedules_once(tmp_path, caplog):
    bench = open_earlier(tmp_path, ("q", "0 3 * * *"), ("wrong", "0 99 * * *"), ("none", None))

    earlier = EarlierPipelines(bench.store, bench.observer)
    earlier.start()
    earlier.close()  # it ends after the first pipelines, which are all

    found = bench.service.list_schedules("default")
    assert [each.schedule.application for each in found] == ["q"]
    assert found[0].schedule.status is ScheduleStatus.SUSPENDED
    assert "pipeline 'wrong' in namespace 'default' cannot be used: Invalid cron" in caplog.text
    bench.service.delete("default", "q", found[0].schedule.name)
    assert not earlier.make_some()
    assert bench.service.list_schedules("default") == []
    bench.close()


def open_earlier(folder: Path, *pipelines: tuple[str, str | None]) -> Bench:
    """Return a bench on a database in which pipelines were deployed before its migration to schedules."""
    last = "0895_unscheduled_pipelines.sql"
    migrations = folder / "migrations"
    shutil.copytree(SHIPPED, migrations, ignore=lambda *_: [last])
    with Store(folder / DATABASE, migrations) as store, store.transaction() as tx:
        for name, schedule in pipelines:
            text = json.dumps(document(schedule=schedule))
            artifact = '{"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}'
            tx.execute(
                "INSERT INTO applications BY NAME SELECT 'default' AS namespace, ? AS name, ? AS version, "
                "1 AS number, ? AS artifact, 'a' AS author, 0 AS created, ? AS document",
                (name, f"version of {name}", artifact, text),
            )
    return Bench(folder)
