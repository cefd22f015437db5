"""Cron expressions: what they say, when they are due, and what is wrong with those that say nothing."""

from __future__ import annotations

import datetime
import itertools
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import example, given, settings
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.java.cron import parse_cron

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")  # half an hour of daylight saving


def at(text: str, zone: datetime.tzinfo = datetime.UTC, fold: int = 0) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


def list_times(
    cron: str, after: str, count: int, zone: datetime.tzinfo = datetime.UTC, fold: int = 0
) -> list[str]:
    found = itertools.islice(parse_cron(cron).list_next(at(after, zone, fold), zone), count)
    return [f"{datetime.datetime.fromtimestamp(each, zone):%Y-%m-%d %H:%M:%S}" for each in found]


@pytest.mark.parametrize(
    ("cron", "after", "times"),
    [
        ("0 3 * * *", "2026-11-27 03:00:00", ["2026-11-28 03:00:00", "2026-11-29 03:00:00"]),
        ("*/20 * * * *", "2026-11-27 23:30:00", ["2026-11-27 23:40:00", "2026-11-28 00:00:00"]),
        ("*/20 * * * * ?", "2026-11-27 23:59:30", ["2026-11-27 23:59:40", "2026-11-28 00:00:00"]),
        # Quartz: 1 is Sunday, in five fields too.
        ("0 3 * * 1", "2026-11-27 00:00:00", ["2026-11-29 03:00:00", "2026-12-06 03:00:00"]),
        ("0 3 ? * mon", "2026-11-27 00:00:00", ["2026-11-30 03:00:00", "2026-12-07 03:00:00"]),
        ("0 3 * * FRI-MON", "2026-11-27 12:00:00", ["2026-11-28 03:00:00", "2026-11-29 03:00:00"]),
        ("0 22-1 * * *", "2026-11-27 22:30:00", ["2026-11-27 23:00:00", "2026-11-28 00:00:00"]),
        ("0 0 3 L * ?", "2026-01-31 04:00:00", ["2026-02-28 03:00:00", "2026-03-31 03:00:00"]),
        ("0 0 3 L-3 * ?", "2026-01-31 04:00:00", ["2026-02-25 03:00:00", "2026-03-28 03:00:00"]),
        # Its last day is a Saturday; that of March is a Tuesday.
        ("0 0 3 LW * ?", "2026-02-01 00:00:00", ["2026-02-27 03:00:00", "2026-03-31 03:00:00"]),
        # The 15th is a Sunday in both months; the 1st of August 2026 a Saturday.
        ("0 0 3 15W 2,3 ?", "2026-01-01 00:00:00", ["2026-02-16 03:00:00", "2026-03-16 03:00:00"]),
        ("0 0 3 1W 8 ?", "2026-07-01 00:00:00", ["2026-08-03 03:00:00", "2027-08-02 03:00:00"]),
        ("0 0 3 ? * 6L", "2026-11-01 00:00:00", ["2026-11-27 03:00:00", "2026-12-25 03:00:00"]),
        ("0 0 3 ? * FRI#5", "2026-11-01 00:00:00", ["2027-01-29 03:00:00", "2027-04-30 03:00:00"]),
        ("0 0 3 ? * L", "2026-11-27 00:00:00", ["2026-11-28 03:00:00", "2026-12-05 03:00:00"]),
        ("0 0 3 29 2 ?", "2026-11-27 00:00:00", ["2028-02-29 03:00:00", "2032-02-29 03:00:00"]),
        (
            "0 0 3 1 1 ? 2027-2028",
            "2026-11-27 00:00:00",
            ["2027-01-01 03:00:00", "2028-01-01 03:00:00"],
        ),
        ("0 5/25 8 * * ?", "2026-11-27 00:00:00", ["2026-11-27 08:05:00", "2026-11-27 08:30:00"]),
        (
            "0 10-30/10 8 * JAN-MAR ?",
            "2026-11-27 00:00:00",
            ["2027-01-01 08:10:00", "2027-01-01 08:20:00"],
        ),
    ],
)
def test_an_expression_is_due_as_quartz_says(cron, after, times):
    assert list_times(cron, after, 2) == times


def test_years_that_are_over_are_never_due():
    assert list_times("0 0 3 1 1 ? 2020", "2026-11-27 00:00:00", 2) == []


@pytest.mark.parametrize(
    ("cron", "problem"),
    [
        ("", "Cron entry must contain 5 or 6 fields"),
        ("0 3 * *", "Cron entry must contain 5 or 6 fields"),
        ("@daily", "Cron entry must contain 5 or 6 fields"),
        ("60 3 * * *", "'60' is not a valid minute: use 0 to 59"),
        ("x 3 * * *", "'x' is not a valid minute"),
        ("0 24 * * *", "'24' is not a valid hour: use 0 to 23"),
        ("0 3 32 * *", "'32' is not a valid day of month"),
        ("0 3 * 13 *", "'13' is not a valid month: use 1 to 12, or JAN to DEC"),
        ("0 3 * * 0", "'0' is not a valid day of week: use 1 to 7, or SUN to SAT"),
        ("0 3 * * FUN", "'FUN' is not a valid day of week"),
        ("0 3 1 * 2", "must be '?'"),
        ("0 0 3 * * *", "must be '?'"),
        ("0 0 3 ? * ?", "must be '?'"),
        ("*/0 3 * * *", "has no step"),
        ("*/60 3 * * *", "has no step"),
        ("*/ 3 * * *", "has no step"),
        ("5- 3 * * *", "'' is not a valid minute"),
        ("1,,2 3 * * *", "'' is not a valid minute"),
        ("0 0 3 L,1 * ?", "stand alone"),
        ("0 0 3 1-5W * ?", "stand alone"),
        ("0 0 3 L-31 * ?", "-0 to -30"),
        ("0 0 3 1L * ?", "'L' stands first"),
        ("0 0 3 ? * 6#6", "after '#' comes 1 to 5"),
        ("0 0 3 ? * FOO#1", "'FOO' is not a valid day of week"),
        ("0 0 3 30 2 ?", "no such day exists"),
        ("0 0 3 1 1 ? 1969", "'1969' is not a valid year"),
        ("0 ３ * * *", "'３' is not a valid hour"),
    ],
)
def test_an_expression_that_cannot_be_read_says_why(cron, problem):
    with pytest.raises(BadRequestError) as caught:
        parse_cron(cron)
    assert problem.lower() in caught.value.message.lower()
    assert cron in caught.value.message
    assert caught.value.corrective_action


def test_clocks_that_are_put_forward_make_a_fixed_time_due_after_the_gap():
    found = list_times("30 2 * * *", "2026-03-28 12:00:00", 2, BERLIN)
    assert found == ["2026-03-29 03:00:00", "2026-03-30 02:30:00"]


def test_clocks_that_are_put_back_make_a_fixed_time_due_once():
    found = list_times("30 2 * * *", "2026-10-24 12:00:00", 2, BERLIN)
    assert found == ["2026-10-25 02:30:00", "2026-10-26 02:30:00"]
    first = parse_cron("30 2 * * *").find_next(at("2026-10-25 00:00:00", BERLIN), BERLIN)
    assert first == at("2026-10-25 00:30:00")  # in UTC: the first of the two


def test_a_periodic_expression_goes_on_through_both_changes():
    assert list_times("0 * * * *", "2026-03-29 01:00:00", 2, BERLIN) == [
        "2026-03-29 03:00:00",
        "2026-03-29 04:00:00",
    ]
    times = list(
        itertools.islice(parse_cron("*/30 * * * *").list_next(at("2026-10-24 23:30:00"), BERLIN), 6)
    )
    assert [each - times[0] for each in times] == [0, 1800, 3600, 5400, 7200, 9000]


def test_a_change_of_half_an_hour_counts_too():
    # At 2 o'clock of 2026-04-05 clocks show half past one again.
    times = list(
        itertools.islice(
            parse_cron("*/10 * * * *").list_next(at("2026-04-05 01:20:00", LORD_HOWE), LORD_HOWE), 9
        )
    )
    assert {after - before for before, after in itertools.pairwise(times)} == {600}


def _values(lowest: int, highest: int) -> st.SearchStrategy[str]:
    value = st.integers(lowest, highest)
    pair = st.tuples(value, value).map(sorted).filter(lambda each: each[0] < each[1])
    return st.one_of(
        st.just("*"),
        st.integers(2, max(2, highest // 2)).map(lambda step: f"*/{step}"),
        st.lists(value, min_size=1, max_size=3, unique=True).map(
            lambda each: ",".join(map(str, each))
        ),
        pair.map(lambda each: f"{each[0]}-{each[1]}"),
        st.tuples(pair, st.integers(1, 5)).map(lambda each: f"{each[0][0]}-{each[0][1]}/{each[1]}"),
    )


ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca")
_MOMENTS = st.one_of(
    st.datetimes(datetime.datetime(2020, 1, 1), datetime.datetime(2034, 1, 1)),
    st.tuples(
        st.sampled_from(["2026-03-08", "2026-03-29", "2026-10-25", "2026-11-01", "2026-04-05"]),
        st.integers(-86400, 86400),
    ).map(lambda e: datetime.datetime.fromisoformat(e[0]) + datetime.timedelta(seconds=e[1])),
)


@settings(max_examples=300, deadline=None)
@given(
    minutes=_values(0, 59),
    hours=_values(0, 23).filter(lambda each: each != "0-23"),
    days=_values(1, 28),
    months=_values(1, 12),
    weekdays=st.one_of(
        st.just("*"),
        st.lists(st.integers(1, 7), min_size=1, max_size=3, unique=True).map(
            lambda each: ",".join(map(str, each))
        ),
    ),
    moment=_MOMENTS,
    zone=st.sampled_from(ZONES),
)
@example("30", "2", "*", "*", "*", datetime.datetime(2026, 3, 29, 0, 0), "Europe/Berlin")
@example("*/7", "2", "*", "*", "*", datetime.datetime(2026, 10, 25, 0, 30), "Europe/Berlin")
def test_five_plain_fields_are_due_as_in_debians_cron(
    minutes, hours, days, months, weekdays, moment, zone
):
    if weekdays != "*":
        days = "*"
    # Cron numbers the days of the week from 0.
    theirs = (
        ",".join(str(int(each) - 1) for each in weekdays.split(",")) if weekdays != "*" else "*"
    )
    info = ZoneInfo(zone)
    start = moment.replace(microsecond=0, tzinfo=datetime.UTC).astimezone(info)
    ours = parse_cron(f"{minutes} {hours} {days} {months} {weekdays}")
    expected: list[float] = []
    for each in CronSim(f"{minutes} {hours} {days} {months} {theirs}", start):
        stamp = each.timestamp()
        # It repeats a time for each that a gap moves there, or that clocks put back have passed.
        if stamp > start.timestamp() and stamp not in expected:
            expected.append(stamp)
        if len(expected) == 5:
            break
    assert list(itertools.islice(ours.list_next(start.timestamp(), info), 5)) == expected
