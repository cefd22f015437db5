"""Schedules that are due at times: also after sleep, a change of the clock, or without a host."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.schedules.model import EventKind, TimeTrigger
from tests.schedules.bench import DAY, HOUR, MINUTE, START, Bench

HOURLY = "0 * * * *"


def test_a_schedule_starts_a_run_when_it_is_due_and_once(bench: Bench):
    bench.add(
        HOURLY, properties={"day": "friday", "logical.start.time": "5"}
    )  # the planned time wins

    assert bench.tick(59 * MINUTE) == []
    (request,) = bench.tick(MINUTE)
    assert bench.tick(1000) == []

    assert (request.application, request.namespace) == ("p", "default")
    assert request.arguments == {"day": "friday", "logical.start.time": str(START + HOUR)}
    assert request.schedule.start_method == "SCHEDULED"
    assert request.schedule.logical_start == START + HOUR
    assert bench.list_jobs() == []
    (event,) = bench.list_events()
    assert (event.kind, event.run) == (EventKind.STARTED, request.run)
    assert [each.time for each in bench.service.list_next_runtimes("default", "p")] == [
        START + 2 * HOUR
    ]
    assert [each.time for each in bench.service.list_previous_runtimes("default", "p")] == [
        START + HOUR
    ]


def test_a_new_schedule_is_suspended(bench: Bench):
    bench.add(HOURLY, enabled=False)
    assert bench.tick(2 * HOUR) == []
    assert bench.service.list_next_runtimes("default", "p") == []
    assert bench.list_events() == []


def test_a_run_that_is_a_little_late_is_started_and_one_that_is_later_is_reported(bench: Bench):
    bench.add(HOURLY)
    (late,) = bench.tick(HOUR + 59_000)
    assert late.schedule.logical_start == START + HOUR

    assert bench.tick(HOUR + 5 * MINUTE) == []  # the machine has slept
    event = bench.list_events()[-1]
    assert event.kind is EventKind.MISSED
    assert event.message.startswith("1 run was not started: ")


def test_times_without_a_host_are_reported_and_not_run(bench: Bench):
    bench.add(HOURLY)
    bench.close()
    bench.now += 5 * HOUR + 30 * MINUTE
    bench.open()

    assert bench.tick() == []
    (event,) = bench.list_events()
    assert event.kind is EventKind.MISSED
    assert event.message.startswith("5 runs were not started: ")
    assert len(bench.tick(30 * MINUTE)) == 1


def test_the_last_missed_time_is_made_up_for_when_the_settings_say_so(make_bench):
    bench = make_bench(catches_up=True)
    bench.add(HOURLY)

    (request,) = bench.tick(5 * HOUR + 30 * MINUTE)

    assert request.schedule.logical_start == START + 5 * HOUR
    missed, started = bench.list_events()
    assert missed.message.startswith("4 runs were not started: ")
    assert started.kind is EventKind.STARTED
    assert bench.tick(1000) == []


@pytest.mark.slow
def test_missed_times_of_each_second_are_counted_up_to_a_limit(bench: Bench):
    bench.add("* * * * * ?")
    started = bench.tick(DAY)
    assert bench.list_events()[0].message.startswith("More than 1,000 runs were not started: ")
    assert [each.schedule.logical_start for each in started] == [
        START + DAY - 60_000 + 1000 * at for at in range(61)
    ]


def test_a_clock_that_is_put_back_a_little_repeats_nothing(bench: Bench):
    bench.add("*/10 * * * *")
    assert len(bench.tick(30 * MINUTE)) == 1
    assert bench.tick(-25 * MINUTE) == []
    assert bench.tick(24 * MINUTE) == []
    assert len(bench.tick(11 * MINUTE)) == 1


def test_a_clock_that_was_far_ahead_does_not_silence_schedules(bench: Bench):
    bench.add(HOURLY)
    bench.tick(400 * DAY)
    bench.close()
    bench.now = START + 30 * MINUTE
    bench.open()

    assert bench.tick() == []
    (request,) = bench.tick(30 * MINUTE)
    assert request.schedule.logical_start == START + HOUR


def test_the_zone_of_the_machine_may_change(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    bench.add(TimeTrigger("0 15 * * *"))
    due = datetime.datetime(2026, 11, 27, 15, tzinfo=ZoneInfo("Europe/Berlin"))
    assert bench.service.list_next_runtimes("default", "p")[0].time == due.timestamp() * 1000

    monkeypatch.setenv("TZ", "America/New_York")
    bench.scheduler._ticks = 0
    bench.tick()
    there = datetime.datetime(2026, 11, 27, 15, tzinfo=ZoneInfo("America/New_York"))
    assert bench.service.list_next_runtimes("default", "p")[0].time == there.timestamp() * 1000


def test_a_schedule_has_the_zone_that_it_names(bench: Bench):
    bench.add(TimeTrigger("0 9 * * *", "Asia/Tokyo"))
    (found,) = bench.service.list_planned("default", START + DAY)
    assert found.text == "Sat 2026-11-28 09:00:00 JST"


@pytest.mark.slow
def test_many_schedules_of_one_second_are_started_together(bench: Bench):
    for number in range(30):
        bench.add(HOURLY, name=f"s{number}")
    found = bench.tick(HOUR)
    assert len({each.run for each in found}) == 30
    assert sorted({each.schedule.name for each in found}) == sorted(f"s{n}" for n in range(30))


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd"])
def test_a_zone_that_is_none_is_refused(bench: Bench, zone: str):
    with pytest.raises(BadRequestError, match="is not a time zone"):
        bench.add(TimeTrigger(HOURLY, zone))


def test_a_time_that_comes_never_again_is_no_next_runtime(bench: Bench):
    bench.add("0 0 13 27 11 ? 2026")
    assert len(bench.tick(HOUR)) == 1
    assert bench.service.list_next_runtimes("default", "p") == []
    assert bench.tick(400 * DAY) == []
