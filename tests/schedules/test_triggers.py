"""Schedules that other events trigger: ends of runs, new partitions, and several of these."""

from __future__ import annotations

import pytest

from localcdap.api.app.events import PartitionsAdded
from localcdap.api.errors import BadRequestError
from localcdap.engine.messages.spool import RunStatus
from localcdap.schedules.jobs import JobState
from localcdap.schedules.model import (
    AndTrigger,
    EventKind,
    OrTrigger,
    PartitionTrigger,
    ProgramStatusTrigger,
    ScheduleRequest,
    ScheduleStatus,
    TimeTrigger,
    TriggerDataset,
    TriggerProgram,
)
from localcdap.schedules.triggers import describe_trigger
from tests.schedules.bench import HOUR, MINUTE, START, Bench

HOURLY = TimeTrigger("0 * * * *", "UTC")


def after(pipeline: str, *statuses: str) -> ProgramStatusTrigger:
    return ProgramStatusTrigger(TriggerProgram("default", pipeline), [*statuses] or ["COMPLETED"])


def new_in(dataset: str, count: int) -> PartitionTrigger:
    return PartitionTrigger(TriggerDataset("default", dataset), count)


def add_partitions(bench: Bench, dataset: str, count: int) -> None:
    bench.publish(PartitionsAdded("default", dataset, count, bench.now))


def test_the_end_of_a_run_triggers_those_that_wait_for_its_status(bench: Bench):
    bench.deploy("first")
    bench.add(after("first", "FAILED", "KILLED"), name="alarm")
    bench.add(after("first"), name="next")

    ended = bench.end_run("first")
    (request,) = bench.tick()
    assert request.schedule.name == "next"
    assert request.schedule.start_method == "TRIGGERED"
    (info,) = request.schedule.trigger_infos
    assert (info.type, info.application_name, info.run_id, info.program_status) == (
        "PROGRAM_STATUS",
        "first",
        ended.run,
        "COMPLETED",
    )
    assert "logicalStartTime" not in request.arguments

    bench.end_run("first", RunStatus.KILLED)
    assert [each.schedule.name for each in bench.tick()] == ["alarm"]


def test_runs_of_files_and_of_other_pipelines_trigger_nothing(bench: Bench):
    bench.add(after("first"))
    bench.end_run("first", deployed=False)
    bench.end_run("second")
    assert bench.tick() == []
    assert bench.list_jobs() == []


def test_a_suspended_schedule_ignores_events(bench: Bench):
    bench.add(new_in("d", 1), enabled=False)
    add_partitions(bench, "d", 1)
    bench.service.enable("default", "p", "s")
    assert bench.tick() == []
    add_partitions(bench, "d", 1)
    assert len(bench.tick()) == 1


def test_partitions_are_added_up(bench: Bench):
    bench.add(new_in("d", 3))
    add_partitions(bench, "d", 1)
    add_partitions(bench, "other", 5)
    assert bench.tick() == []
    (job,) = bench.list_jobs()
    assert job.state is JobState.PENDING_TRIGGER

    add_partitions(bench, "d", 2)
    (request,) = bench.tick()
    (info,) = request.schedule.trigger_infos
    assert (info.type, info.dataset_name, info.actual_num_partitions) == ("PARTITION", "d", 3)
    assert bench.list_jobs() == []


def test_all_triggers_of_an_and_trigger_belong_to_one_job(bench: Bench):
    bench.add(AndTrigger([HOURLY, after("first"), new_in("d", 2)]))
    add_partitions(bench, "d", 2)
    bench.end_run("first")
    assert bench.tick() == []
    assert len(bench.list_jobs()) == 1

    (request,) = bench.tick(HOUR)
    assert [each.type for each in request.schedule.trigger_infos] == [
        "TIME",
        "PROGRAM_STATUS",
        "PARTITION",
    ]
    assert request.schedule.logical_start == START + HOUR
    assert bench.tick(HOUR) == []  # the next job has the time only


def test_any_trigger_of_an_or_trigger_is_enough(bench: Bench):
    bench.add(OrTrigger([HOURLY, AndTrigger([after("first"), new_in("d", 1)])]))
    (by_time,) = bench.tick(HOUR)
    assert [each.type for each in by_time.schedule.trigger_infos] == ["TIME"]
    bench.end_run("first")
    assert bench.tick() == []
    add_partitions(bench, "d", 1)
    (by_both,) = bench.tick()
    assert by_both.schedule.start_method == "TRIGGERED"


def test_a_trigger_that_takes_too_long_is_reported(bench: Bench):
    bench.add(new_in("d", 2), timeout_millis=HOUR)
    add_partitions(bench, "d", 1)
    bench.tick(HOUR)
    assert len(bench.list_jobs()) == 1

    bench.tick(1000)
    assert bench.list_jobs() == []
    (event,) = bench.list_events()
    assert event.kind is EventKind.TIMED_OUT
    assert (
        event.message
        == "A job waited for the rest of its trigger longer than its time-out of 1 h 0 min."
    )


def test_a_notification_after_the_timeout_begins_a_new_job(bench: Bench):
    bench.add(new_in("d", 2), timeout_millis=HOUR)
    add_partitions(bench, "d", 1)
    bench.now += HOUR + 1
    add_partitions(bench, "d", 1)
    assert [each.kind for each in bench.list_events()] == [EventKind.TIMED_OUT]
    assert len(bench.list_jobs()) == 1
    assert bench.tick() == []


@pytest.mark.parametrize("change", ["update", "suspend", "delete"])
def test_a_change_drops_the_jobs_and_says_so(bench: Bench, change: str):
    bench.add(new_in("d", 2))
    add_partitions(bench, "d", 1)
    if change == "update":
        changed = bench.service.update("default", "p", "s", ScheduleRequest(new_in("d", 1)))
        assert changed.status is ScheduleStatus.SCHEDULED
    else:
        getattr(bench.service, change)("default", "p", "s")
    assert bench.tick(MINUTE) == []
    assert bench.list_jobs() == []
    (event,) = bench.list_events()
    assert event.kind is EventKind.DROPPED
    assert event.message.startswith(
        "A job waited for the rest of its trigger when the schedule was"
    )


def test_the_deletion_of_a_pipeline_deletes_its_schedules(bench: Bench):
    bench.add(new_in("d", 2))
    add_partitions(bench, "d", 1)
    bench.undeploy("p")
    add_partitions(bench, "d", 1)
    assert bench.tick(HOUR) == []
    assert bench.service.list_schedules("default") == []
    assert bench.store.read("SELECT * FROM schedule_triggers") == []
    assert [each.kind for each in bench.list_events()] == [EventKind.DROPPED]


def test_the_deletion_of_a_pipeline_changes_the_triggers_that_wait_for_it(bench: Bench):
    bench.deploy("first")
    bench.add(OrTrigger([after("first"), HOURLY]), name="either")
    bench.add(AndTrigger([after("first"), HOURLY]), name="both")
    bench.undeploy("first")

    (left,) = bench.service.list_schedules("default")
    assert (left.schedule.name, left.schedule.trigger) == ("either", HOURLY)
    assert left.schedule.status is ScheduleStatus.SCHEDULED
    reasons = {each.schedule: each.message for each in bench.list_events()}
    assert reasons["both"].startswith("The schedule was deleted: pipeline default.first")
    assert reasons["either"].startswith("The trigger was changed: pipeline default.first")
    assert len(bench.tick(HOUR)) == 1


def test_schedules_are_found_by_the_program_that_triggers_them(bench: Bench):
    bench.add(OrTrigger([after("first", "FAILED"), HOURLY]), name="alarm")
    bench.add(after("first"), name="next", enabled=False)
    program = TriggerProgram("default", "first")

    def names(*args) -> list[str]:
        return [each.name for each in bench.service.list_triggered_by("default", program, *args)]

    assert names() == ["alarm", "next"]
    assert names(["COMPLETED"]) == ["next"]
    assert names(["COMPLETED", "FAILED"], ScheduleStatus.SCHEDULED) == ["alarm"]


@pytest.mark.parametrize(
    ("trigger", "problem"),
    [
        (
            OrTrigger([]),
            "Triggers passed in to construct a trigger of type OR cannot be null or empty",
        ),
        (AndTrigger([OrTrigger([])]), "of type OR cannot be null"),
        (after("first", "RUNNING"), "Program status 'RUNNING' cannot be the trigger"),
        (
            ProgramStatusTrigger(TriggerProgram("default", "x"), []),
            "programStatuses must be specified",
        ),
        (new_in("d", 0), "numPartitions must be greater than or equal to 1 but is 0"),
        (
            TimeTrigger("0 25 * * *"),
            "Invalid cron expression '0 25 * * *': '25' is not a valid hour",
        ),
        (AndTrigger([TimeTrigger("x"), new_in("d", -1)]), "numPartitions must be"),
    ],
)
def test_an_invalid_trigger_is_refused(bench: Bench, trigger, problem: str):
    with pytest.raises(BadRequestError) as caught:
        bench.add(trigger)
    assert problem in caught.value.message


def test_all_that_is_wrong_is_named_at_once(bench: Bench):
    trigger = AndTrigger([TimeTrigger("0 25 * * *"), new_in("d", 0)])
    with pytest.raises(BadRequestError) as caught:
        bench.add(trigger, timeout_millis=0, name="a/b")
    assert len(caught.value.message.splitlines()) == 4


def test_triggers_are_described_in_a_few_words():
    trigger = OrTrigger([TimeTrigger("0 3 * * *"), AndTrigger([after("a"), new_in("d", 2)])])
    assert describe_trigger(trigger) == (
        "0 3 * * * or (after default.a COMPLETED and 2 new in default.d)"
    )
