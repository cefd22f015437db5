"""What a run gets from its schedule, and that each job starts one run, whatever is killed meanwhile."""

from __future__ import annotations

import json

import pytest

from localcdap.api.errors import BadRequestError, InvalidPipelineError, UnauthorizedError
from localcdap.api.security import Principal
from localcdap.schedules.jobs import JobState
from localcdap.schedules.model import MAPPING, EventKind, OrTrigger
from localcdap.security.principals import act_as
from tests.e2e.pipelines import pipeline, stage
from tests.schedules.bench import HOUR, MINUTE, Bench
from tests.schedules.test_triggers import HOURLY, after, new_in


def map_values(arguments=(), properties=()) -> dict[str, str]:
    mapping = {"arguments": [*arguments], "pluginProperties": [*properties]}
    return {MAPPING: json.dumps(mapping)}


def test_arguments_of_the_triggering_run_are_passed_on(bench: Bench):
    mapping = map_values(
        [{"source": "day", "target": "date"}, {"source": "region"}, {"source": "absent"}]
    )
    bench.add(after("first"), properties={"region": "default", "own": "1", **mapping})
    run = bench.end_run("first", arguments={"day": "friday", "region": "north"})

    (request,) = bench.tick()

    # What comes from the trigger wins over the schedule's own properties, and the mapping is left out.
    assert request.arguments == {"own": "1", "region": "north", "date": "friday"}
    (event,) = bench.list_events()
    assert event.message == (
        "A run was started. Runtime argument 'absent' is not found in run "
        f"{run.run} of default.first."
    )


def test_properties_of_the_triggering_pipeline_are_passed_on_as_it_saw_them(bench: Bench):
    sink = stage("Sink", "batchsink", "File", path="/out/${day}", key="${secure(k)}")
    document = json.dumps(pipeline([sink]))
    mapping = map_values(
        properties=[
            {"stageName": "Sink", "source": "path", "target": "input"},
            {"stageName": "Sink", "source": "key", "target": "secret"},
            {"stageName": "None", "source": "path", "target": "x"},
        ]
    )
    bench.add(after("first"), properties=mapping)
    bench.end_run("first", arguments={"day": "friday"}, document=document)

    (request,) = bench.tick()

    assert request.arguments == {"input": "/out/friday"}
    message = bench.list_events()[0].message
    assert "Property 'key' of stage 'Sink'" in message
    assert "cannot be passed on" in message
    assert "No property 'path' is found in stage 'None'" in message


def test_a_time_gives_no_arguments_of_a_run(bench: Bench):
    bench.add(OrTrigger([HOURLY, after("first")]), properties=map_values([{"source": "day"}]))
    (request,) = bench.tick(HOUR)
    assert set(request.arguments) == {"logical.start.time"}
    assert "No run has triggered this one" in bench.list_events()[0].message


def test_the_pipeline_of_a_value_may_be_named(bench: Bench):
    named = {"source": "day", "pipelineId": {"namespace": "default", "pipelineName": "second"}}
    bench.add(OrTrigger([after("first"), after("second")]), properties=map_values([named]))
    bench.end_run("second", arguments={"day": "friday"})
    (request,) = bench.tick()
    assert request.arguments == {"day": "friday"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"arguments": [1]}'])
def test_a_mapping_that_is_none_is_refused(bench: Bench, text: str):
    with pytest.raises(BadRequestError, match="is not a valid mapping"):
        bench.add(HOURLY, properties={MAPPING: text})


def test_a_run_that_cannot_be_started_is_reported(bench: Bench):
    bench.add(HOURLY)
    bench.failure = InvalidPipelineError("The pipeline has 1 failure; nothing was run.")
    assert bench.tick(HOUR) == []
    (event,) = bench.list_events()
    assert event.kind is EventKind.FAILED
    assert "The pipeline has 1 failure" in event.message
    assert bench.list_jobs() == []

    bench.failure = ZeroDivisionError("a bug")
    bench.tick(HOUR)
    assert "ZeroDivisionError: a bug" in bench.list_events()[-1].message


class KilledError(BaseException):
    """Ends the host at a point."""


@pytest.mark.parametrize("moment", ["before the run", "after the run"])
def test_a_host_that_is_killed_during_a_launch_starts_one_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, moment: str
):
    bench.add(new_in("d", 1))
    launcher = bench.scheduler._launcher
    launch = launcher.launch

    def die(schedule, job):
        if moment == "after the run":
            launch(schedule, job)
        raise KilledError

    monkeypatch.setattr(launcher, "launch", die)
    bench.now += MINUTE
    from localcdap.api.app.events import PartitionsAdded

    bench.publish(PartitionsAdded("default", "d", 1, bench.now))
    with pytest.raises(KilledError):
        bench.scheduler.run_jobs()
    (job,) = bench.list_jobs()
    assert job.state is JobState.PENDING_LAUNCH
    bench.close()
    bench.open()

    bench.tick()
    bench.tick(MINUTE)

    assert [each.run for each in bench.started] == [job.run]
    assert bench.list_jobs() == []
    assert [each.kind for each in bench.list_events()] == [EventKind.STARTED]


def test_a_job_outlives_its_host(bench: Bench):
    bench.add(new_in("d", 2))
    from localcdap.api.app.events import PartitionsAdded

    bench.publish(PartitionsAdded("default", "d", 1, bench.now))
    bench.close()
    bench.open()
    bench.publish(PartitionsAdded("default", "d", 1, bench.now))
    assert len(bench.tick()) == 1


def test_a_schedule_that_is_deleted_while_its_run_is_started_goes_on(bench: Bench):
    bench.add(HOURLY)
    start = bench.scheduler._launcher._start_run

    def delete_and_start(request):
        bench.service.delete("default", "p", "s")
        return start(request)

    bench.scheduler._launcher._start_run = delete_and_start
    assert len(bench.tick(HOUR)) == 1
    assert bench.list_jobs() == []
    assert [each.kind for each in bench.list_events()] == [EventKind.STARTED]


def test_a_run_acts_as_who_has_enabled_its_schedule_last(bench: Bench):
    with act_as(Principal("ada")):
        bench.add(HOURLY)
    bench.tick(HOUR)
    with act_as(Principal("bob")):
        bench.service.suspend("default", "p", "s")
        bench.service.enable("default", "p", "s")
    bench.tick(HOUR)
    assert bench.users == ["ada", "bob"]


def test_a_right_that_was_lost_is_reported(bench: Bench):
    bench.add(HOURLY)
    bench.failure = UnauthorizedError("Principal 'ada' lacks EXECUTE on application p.")
    bench.tick(HOUR)
    assert "lacks EXECUTE" in bench.list_events()[-1].message
