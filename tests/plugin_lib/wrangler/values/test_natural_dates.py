"""Dates found in texts."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.values.natural_dates import find_dates

NOW = datetime.datetime(2017, 5, 1, 14, 13, 35, tzinfo=datetime.UTC)  # a Monday

FOUND = [
    ("now", ["2017-05-01 14:13:35"]),
    ("today", ["2017-05-01 14:13:35"]),
    ("tomorrow at 5pm", ["2017-05-02 17:00:00"]),
    ("12/10/2016", ["2016-12-10 14:13:35"]),
    ("12/10/2016 06:45 AM", ["2016-12-10 06:45:00"]),
    ("02/28/1979", ["1979-02-28 14:13:35"]),
    ("september 7th 2016", ["2016-09-07 14:13:35"]),
    ("oct 1st", ["2017-10-01 14:13:35"]),
    ("7 of Sept, 2016", ["2016-09-07 14:13:35"]),
    ("1485800109", ["2017-01-30 18:15:09"]),
    ("1485800109000", ["2017-01-30 18:15:09"]),
    ("2017-02-02T21:06:44Z", ["2017-02-02 21:06:44"]),
    ("2011-12-03T10:15:30.25+01:00", ["2011-12-03 09:15:30.250000"]),
    ("20170203", ["2017-02-03 14:13:35"]),
    ("the day before next thursday", ["2017-05-10 14:13:35"]),
    ("two weeks after 1/2/2017", ["2017-01-16 14:13:35"]),
    ("next wed or thurs", ["2017-05-10 14:13:35", "2017-05-04 14:13:35"]),
    ("last friday", ["2017-04-28 14:13:35"]),
    ("3 days ago", ["2017-04-28 14:13:35"]),
    ("a month from now", ["2017-06-01 14:13:35"]),
    ("in two weeks at noon", ["2017-05-15 12:00:00"]),
    ("next year", ["2018-05-01 14:13:35"]),
    ("5:30pm", ["2017-05-01 17:30:00"]),
    ("8am on 1/2/2017", ["2017-01-02 08:00:00"]),
    ("10:00 PST", ["2017-05-01 18:00:00"]),
    ("we met on 5 march 2018, 3pm and tomorrow", ["2018-03-05 15:00:00", "2017-05-02 14:13:35"]),
    ("13/45/2016", []),
    ("nothing of the kind", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "moments"), FOUND)
def test_dates_are_found(text, moments):
    found = find_dates(text, NOW)

    assert [str(moment.replace(tzinfo=None)) for moment in found] == moments
    assert all(moment.tzinfo is NOW.tzinfo for moment in found)


@given(st.text(), st.sampled_from([text for text, _ in FOUND]))
def test_any_text_is_searched(noise, text):
    find_dates(noise, NOW)
    find_dates(f"{text} {noise}", NOW)
    find_dates(f"{noise}{text}", NOW)


def test_a_long_text_is_searched_in_time():
    assert find_dates("1 " * 100_000 + "today", NOW)
