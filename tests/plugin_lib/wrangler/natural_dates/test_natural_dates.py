"""Dates found in texts, compared with what Natty 0.13 itself found at the same present time."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.natural_dates import (
    UnreadableDateError,
    find_dates,
    read_dates,
)
from localcdap.plugin_lib.wrangler.natural_dates.evaluation import find_phrases
from localcdap.plugin_lib.wrangler.natural_dates.times import HOLIDAYS, SEASONS

NOW = datetime.datetime(2017, 5, 1, 14, 13, 35, tzinfo=datetime.UTC)  # a Monday
NATTY = Path(__file__).with_name("natty.jsonl")
"""Present time, zone, text, and the dates of each phrase: Natty's tests and documentation."""


def read_natty() -> Iterator[tuple[datetime.datetime, str, list[list[str]]]]:
    for line in NATTY.read_text("utf-8").splitlines():
        now, zone, text, groups = json.loads(line)
        yield datetime.datetime.fromisoformat(now).astimezone(ZoneInfo(zone)), text, groups


def find(text: str, now: datetime.datetime = NOW) -> list[list[str]]:
    """The local times that are found."""
    return [[f"{date:%Y-%m-%d %H:%M}" for date in group] for group in find_dates(text, now)]


def test_the_dates_are_those_of_natty() -> None:
    wrong: dict[str, Any] = defaultdict(list)
    count = 0
    for now, text, groups in read_natty():
        found = [
            [date.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for date in group]
            for group in find_dates(text, now)
        ]
        count += 1
        if found != groups:
            wrong[text].append((str(now), groups, found))
    assert count > 1400
    assert not wrong


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12/31/85", [["1985-12-31 14:13"]]),
        ("12/31/37", [["2037-12-31 14:13"]]),
        ("12/31/38", [["1938-12-31 14:13"]]),
        ("monday, 12/25/2017", [["2017-12-25 14:13"]]),
        ("sun, feb 5", [["2017-02-05 14:13"]]),
        ("tue, feb 5", [["2013-02-05 14:13"]]),
        ("1/2/2017 3pm EST", [["2017-01-02 20:00"]]),
        ("3 pm PST on 1/2/2017", [["2017-01-02 23:00"]]),
        ("february twenty-eighth", [["2017-02-28 14:13"]]),
        ("0600h", [["2017-05-01 06:00"]]),
        ("2 fridays before may 25", [["2017-05-12 14:13"]]),
        ("next wed or thurs", [["2017-05-10 14:13", "2017-05-11 14:13"]]),
        ("two thanksgivings ago", [["2015-11-26 14:13"]]),
        ("fall", [["2017-09-22 14:13"]]),
        ("nothing of the kind", []),
        ("", []),
    ],
)
def test_dates_are_found(text: str, found: list[list[str]]) -> None:
    assert find(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("easter", "2027-03-28"),
        ("easter 2030", "2030-04-21"),
        ("good friday 2025", "2025-04-18"),
        ("easter 1985", "1985-04-07"),
        ("thanksgiving 1995", "1995-11-23"),
        ("spring", "2027-03-20"),
        ("winter 2030", "2030-12-21"),
    ],
)
def test_holidays_and_seasons_go_on_where_the_tables_of_natty_end(text: str, found: str) -> None:
    ((date,),) = find(text, datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC))

    assert date[:10] == found


def test_a_holiday_today_is_the_next_one() -> None:
    christmas = datetime.datetime(2026, 12, 25, 12, tzinfo=datetime.UTC)

    assert find("christmas", christmas) == [["2026-12-25 12:00"]]
    assert find("last christmas", christmas) == [["2025-12-25 12:00"]]


@pytest.mark.parametrize("name", [*HOLIDAYS, *SEASONS])
def test_every_holiday_has_a_day_in_every_year(name: str) -> None:
    find_day = HOLIDAYS.get(name) or SEASONS[name]
    for year in range(1900, 2100):
        assert find_day(year).year == year


def test_clocks_that_change_are_followed() -> None:
    now = datetime.datetime(2026, 3, 1, 12, tzinfo=ZoneInfo("America/New_York"))

    def moments(text: str) -> list[str]:
        return [
            date.astimezone(datetime.UTC).isoformat()
            for group in find_dates(text, now)
            for date in group
        ]

    assert moments("3/8/2026 2:30") == ["2026-03-08T07:30:00+00:00"]
    assert moments("11/1/2026 1:30") == ["2026-11-01T06:30:00+00:00"]
    assert moments("3/8/2026 at noon") == ["2026-03-08T16:00:00+00:00"]


def test_dates_before_1582_are_of_the_julian_calendar() -> None:
    assert find("1/2/1500") == [["1500-01-11 14:13"]]


@pytest.mark.parametrize("text", ["9999 years from now", "9999 years ago", "jan 1 0100 to now"])
def test_a_year_that_no_date_has_is_an_error_or_a_date(text: str) -> None:
    if "years" in text:
        with pytest.raises((OverflowError, ValueError)):
            find(text)
    else:
        assert len(find(text)[0]) == 2


@given(st.text(), st.sampled_from([text for _, text, _ in read_natty()]))
def test_any_text_is_searched(noise: str, text: str) -> None:
    for mixed in (noise, f"{text} {noise}", f"{noise}{text}"):
        with contextlib.suppress(OverflowError, ValueError):  # beyond the years of dates
            assert all(find_dates(mixed, NOW))


@pytest.mark.parametrize("word", ["1 ", "the day before ", "the ", "next ", "feb 1, ", "2 days "])
def test_a_long_text_is_searched_in_bounded_steps(word: str) -> None:
    assert find_phrases(word * 3_000 + "x tomorrow")[-1].moments


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2023-01-11", ["2023-01-11 00:00:00"]),
        ("2023-01-11T10:20:30.123Z", ["2023-01-11 10:20:30.123000"]),
        ("2023-01-11 10:20:30,5 +02:00", ["2023-01-11 08:20:30.500000"]),
        ("jan 5 '99", ["1999-01-05 00:00:00"]),
        ("easter 2030", ["2030-04-21 00:00:00"]),
        ("1/2/2016 at 3pm or 5pm", ["2016-01-02 15:00:00", "2016-01-02 17:00:00"]),
        ("1/2/2016 to 1/5/2016", ["2016-01-02 00:00:00", "2016-01-05 00:00:00"]),
    ],
)
@pytest.mark.parametrize("now", [NOW, NOW + datetime.timedelta(days=400, hours=7)])
def test_complete_dates_do_not_depend_on_the_present(
    text: str, found: list[str], now: datetime.datetime
) -> None:
    ((*dates,),) = read_dates(text, now)

    assert [str(date)[:-6] for date in dates] == found


def test_phrases_that_count_from_the_present_depend_on_it() -> None:
    assert read_dates("tomorrow", NOW) == find_dates("tomorrow", NOW)
    assert read_dates("2 hours ago", NOW) == find_dates("2 hours ago", NOW)


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("feb 5", "a year"),
        ("may 1st to may 3rd 2020", "a year"),
        ("Sun Nov 29 07:52:19 UTC 2026", "a year"),
        ("10:30", "a day"),
        ("2016", "a day"),
    ],
)
def test_a_date_that_lacks_a_part_is_an_error(text: str, lacking: str) -> None:
    with pytest.raises(UnreadableDateError, match=f"without {lacking}"):
        read_dates(text, NOW)
