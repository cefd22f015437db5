"""The application's own history: nothing is lost, and nothing counts twice."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st
from reports.application import ReportGenerationApp
from reports.history import _merge

from localcdap.api.app import RunStatusChanged
from localcdap.api.app.application import describe_application
from localcdap.apps.model import AppRequest
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import StageCounts
from localcdap.runs.retention import RunRetention
from tests.plugins.reports.conftest import BEGIN, make_event
from tests.runs.stored_runs import write_run

APP = "ReportGenerationApp"


def report(cdap, **changes):
    """Create a report of all runs in the application's process, and return its details by run."""
    import json

    wanted = {
        "start": 0,
        "end": 4_000_000_000,
        "fields": ["run", "status", "user", "numRecordsOut", "runtimeArgs", "startMethod"],
        **changes,
    }
    body = json.dumps(wanted).encode()
    id = cdap.apps.call(APP, AppRequest("POST", "/reports", body=body)).body["id"]
    deadline = time.monotonic() + 60
    while True:
        query = {"report-id": id}
        answer = cdap.apps.call(APP, AppRequest("GET", "/reports/download", query))
        if answer.status != 202:
            assert answer.status == 200, answer.body
            return {each["run"]: each for each in answer.body["details"]}
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_runs_of_an_instance(instance):
    """From before the application first ran, from later, and of which the instance knows no more."""
    cdap = instance.cdap
    with cdap.runs._store.transaction() as tx:
        tx.execute("DELETE FROM messages WHERE topic = 'runs'")
    old = write_run(cdap, user="ada", arguments={"day": "1", "db.password": "hush"})
    running = write_run(cdap, "slow", RunStatus.RUNNING)
    with cdap.runs._store.transaction() as tx:
        tx.execute("DELETE FROM messages WHERE topic = 'runs'")  # as if too old

    first = report(cdap)

    assert first[old.run] == {
        "run": old.run,
        "status": "COMPLETED",
        "user": "ada",
        "program": "DataPipelineWorkflow",
        "runtimeArgs": {"day": "1", "db.password": "********"},
        "startMethod": "MANUAL",
    }
    assert first[running.run]["status"] == "RUNNING"

    cdap.apps.stop(APP)
    running.status, running.end = RunStatus.COMPLETED, running.starting + 5000
    running.sinks, running.stages = ["Out"], {"In": StageCounts(0, 8, 0), "Out": StageCounts(8, 8)}
    with cdap.runs._store.transaction() as tx:
        cdap.runs._records.change(tx, running)
        tx.execute("DELETE FROM messages WHERE topic = 'runs'")  # its end is not told
    later = write_run(cdap, "sales", RunStatus.FAILED)
    second = report(cdap)
    assert second[running.run]["status"] == "COMPLETED"
    assert second[running.run]["numRecordsOut"] == 8
    assert second[later.run]["status"] == "FAILED"
    assert len(second) == len(first) + 1

    cdap.runs.prune("default", RunRetention(newest=1))
    assert report(cdap).keys() == second.keys()


def make_events() -> list[RunStatusChanged]:
    statuses = ("PENDING", "STARTING", "RUNNING", "STOPPING", "KILLED")
    return [
        make_event("default", f"r{run}", status, BEGIN + place, arguments={"n": str(run)})
        for run in range(3)
        for place, status in enumerate(statuses)
    ]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(make_events()), max_size=40), st.integers(1, 7))
def test_repeated_and_disordered_events_give_the_same_rows(more, size):
    """Whatever comes again, in whatever order and in whatever batches."""
    events = [*make_events(), *more]
    rows = {}
    for begin in range(0, len(events), size):
        for event in events[begin : begin + size]:
            rows[event.run] = _merge(rows.get(event.run), [event])

    expected = {run: _merge(None, [e for e in make_events() if e.run == run]) for run in rows}
    assert rows == expected


def test_many_events_after_having_been_away(empty):
    events = [
        make_event("default", f"r{run}", status, BEGIN + run)
        for run in range(700)
        for status in ("STARTING", "COMPLETED")
    ]
    empty.publish(events)
    id = empty.complete(fields=["run"], filters=None, end=BEGIN + 10_000)

    assert empty.download(id).body["total"] == 700
    empty.app.deliver()
    assert (
        empty.download(empty.complete(fields=["run"], filters=None, end=BEGIN + 10_000)).body[
            "total"
        ]
        == 700
    )


def test_its_process_is_not_started_for_each_event():
    detail = describe_application(ReportGenerationApp, "ReportGenerationApp")
    assert [each.patience_s for each in detail.listeners] == [10]
