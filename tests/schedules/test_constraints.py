"""Constraints: what a job waits for, and what drops it."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.engine.messages.spool import RunStatus
from localcdap.schedules.constraints import is_in_range
from localcdap.schedules.jobs import JobState
from localcdap.schedules.model import (
    ConcurrencyConstraint,
    DelayConstraint,
    EventKind,
    LastRunConstraint,
    TimeRangeConstraint,
)
from tests.schedules.bench import HOUR, MINUTE, START, Bench
from tests.schedules.test_triggers import add_partitions, new_in

HOURLY = "0 * * * *"


def end(bench: Bench, run: str, status: RunStatus = RunStatus.COMPLETED) -> None:
    found = bench.records.get(run)
    found.status, found.end = status, bench.now
    with bench.store.transaction() as tx:
        bench.records.change(tx, found)


def test_a_concurrency_constraint_drops_a_job(bench: Bench):
    bench.add(HOURLY, constraints=[ConcurrencyConstraint(1)])
    (first,) = bench.tick(HOUR)
    assert bench.tick(HOUR) == []
    event = bench.list_events()[-1]
    assert event.kind is EventKind.DROPPED
    assert event.message == (
        "No run was started: 1 run of the pipeline are active, and at most 1 may be."
    )

    end(bench, first.run)
    assert len(bench.tick(HOUR)) == 1


def test_a_concurrency_constraint_that_waits_lets_jobs_through_one_by_one(bench: Bench):
    bench.add(new_in("d", 1), constraints=[ConcurrencyConstraint(1, wait_until_met=True)])
    for _ in range(3):
        add_partitions(bench, "d", 1)
    (first,) = bench.tick()
    assert bench.tick(MINUTE) == []
    assert [each.state for each in bench.list_jobs()] == [JobState.PENDING_CONSTRAINT] * 2
    end(bench, first.run)
    (second,) = bench.tick()
    end(bench, second.run)
    assert len(bench.tick()) == 1
    assert bench.list_jobs() == []


def test_a_job_that_waits_too_long_is_reported(bench: Bench):
    waits = ConcurrencyConstraint(1, wait_until_met=True)
    bench.add(HOURLY, constraints=[waits], timeout_millis=10 * MINUTE)
    bench.tick(HOUR)
    bench.tick(HOUR)
    bench.tick(11 * MINUTE)
    assert bench.list_jobs() == []
    event = bench.list_events()[-1]
    assert event.kind is EventKind.TIMED_OUT
    assert (
        event.message == "A job waited for its constraints longer than its time-out of 10 min 0 s."
    )


def test_a_delay_is_counted_from_the_trigger(bench: Bench):
    bench.add(new_in("d", 1), constraints=[DelayConstraint(10 * MINUTE)])
    add_partitions(bench, "d", 1)
    assert bench.tick(9 * MINUTE) == []
    assert len(bench.tick(MINUTE)) == 1


@pytest.mark.parametrize(
    ("status", "ended", "is_started"),
    [
        (RunStatus.COMPLETED, 30 * MINUTE, False),
        (RunStatus.COMPLETED, 90 * MINUTE, True),
        (RunStatus.FAILED, 30 * MINUTE, True),
        (RunStatus.KILLED, 30 * MINUTE, True),
        (RunStatus.RUNNING, 0, False),
    ],
)
def test_a_last_run_constraint_looks_at_runs_that_have_completed_or_are_active(
    bench: Bench, status: RunStatus, ended: int, is_started: bool
):
    bench.store_run("p", status, starting=START - 3 * HOUR, took_ms=3 * HOUR - ended)
    bench.add(new_in("d", 1), constraints=[LastRunConstraint(HOUR)])
    add_partitions(bench, "d", 1)
    assert len(bench.tick()) == is_started
    if not is_started:
        assert "in the last 1 h 0 min" in bench.list_events()[-1].message


def test_a_last_run_constraint_may_wait(bench: Bench):
    bench.store_run("p", RunStatus.COMPLETED, took_ms=0)
    bench.add(new_in("d", 1), constraints=[LastRunConstraint(HOUR, wait_until_met=True)])
    add_partitions(bench, "d", 1)
    assert bench.tick(59 * MINUTE) == []
    assert len(bench.tick(2 * MINUTE)) == 1


@pytest.mark.parametrize(
    ("start", "end", "time", "is_met"),
    [
        ("06:00", "22:00", "05:59:59", False),
        ("06:00", "22:00", "06:00:00", True),
        ("06:00", "22:00", "21:59:59", True),
        ("06:00", "22:00", "22:00:00", False),
        ("22:00", "06:00", "21:59:59", False),
        ("22:00", "06:00", "22:00:00", True),
        ("22:00", "06:00", "00:30:00", True),
        ("22:00", "06:00", "06:00:00", False),
    ],
)
def test_a_time_range_may_go_over_midnight(start: str, end: str, time: str, is_met: bool):
    zone = ZoneInfo("Europe/Berlin")
    moment = datetime.datetime.fromisoformat(f"2026-11-27 {time}").replace(tzinfo=zone)
    constraint = TimeRangeConstraint(start, end, "Europe/Berlin")
    assert is_in_range(constraint, int(moment.timestamp() * 1000)) is is_met


def test_a_time_range_may_wait_or_drop(bench: Bench):
    night = TimeRangeConstraint("22:00", "06:00", "UTC", wait_until_met=True)
    bench.add(new_in("d", 1), constraints=[night])
    bench.add(
        new_in("d", 1), name="dropped", constraints=[TimeRangeConstraint("22:00", "06:00", "UTC")]
    )
    add_partitions(bench, "d", 1)  # at noon
    assert bench.tick() == []
    assert (
        bench.list_events()[-1].message == "No run was started: it is not between 22:00 and 06:00."
    )
    (request,) = bench.tick(10 * HOUR)
    assert request.schedule.name == "s"


def test_a_constraint_that_drops_wins_over_one_that_waits(bench: Bench):
    bench.add(
        new_in("d", 1),
        constraints=[DelayConstraint(HOUR), TimeRangeConstraint("22:00", "23:00", "UTC")],
    )
    add_partitions(bench, "d", 1)
    bench.tick()
    assert bench.list_jobs() == []


@pytest.mark.parametrize(
    ("constraint", "problem"),
    [
        (ConcurrencyConstraint(0), "maxConcurrency must be greater than or equal to 1 but is 0"),
        (DelayConstraint(0), "millisAfterTrigger must be greater"),
        (DelayConstraint(5, wait_until_met=False), "DelayConstraint must always wait until met."),
        (LastRunConstraint(-1), "millisSinceLastRun must be greater"),
        (TimeRangeConstraint("6", "22:00"), "Failed to parse start time '6'"),
        (TimeRangeConstraint("06:00", "24:00"), "Failed to parse end time '24:00'"),
        (TimeRangeConstraint("06:00", "06:00"), "(06:00) must not equal the end time (06:00)."),
        (TimeRangeConstraint("06:00", "07:00", "Mars"), "'Mars' is not a time zone"),
    ],
)
def test_an_invalid_constraint_is_refused(bench: Bench, constraint, problem: str):
    with pytest.raises(BadRequestError) as caught:
        bench.add(HOURLY, constraints=[constraint])
    assert problem in caught.value.message
