"""Patterns of ``SimpleDateFormat`` when they write."""

from __future__ import annotations

import datetime

import pytest

from localcdap.java.simple_date import format_date

EARLY = datetime.datetime(2024, 3, 7, 0, 5, 9, 42_000, tzinfo=datetime.UTC)
LATER = datetime.datetime(2024, 2, 3, 4, 5, 6, 789_000, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("moment", "pattern", "text"),
    [
        (EARLY, "yy yyyy y", "24 2024 2024"),
        (EARLY, "M MM MMM MMMM", "3 03 Mar March"),
        (EARLY, "d dd D DDD", "7 07 67 067"),
        (EARLY, "E EEEE u", "Thu Thursday 4"),
        (EARLY, "H HH k K h hh a", "0 00 24 0 12 12 AM"),
        (EARLY, "m mm s ss S SSS", "5 05 9 09 42 042"),
        (EARLY, "z Z X XXX", "UTC +0000 Z Z"),
        (EARLY, "'year' yyyy ''", "year 2024 '"),
        (EARLY, "'it''s'", "it's"),
        (LATER, "yyyy-MM-dd-HH-mm-ss", "2024-02-03-04-05-06"),
        (LATER, "yy/M/d", "24/2/3"),
        (LATER, "yyyyMMdd'T'HHmmssSSS'Z'", "20240203T040506789Z"),
        (LATER, "''yyyy''", "'2024'"),
        (LATER, "'o''clock' h a", "o'clock 4 AM"),
        (LATER, "MMM EEE D", "Feb Sat 34"),
        (LATER, "EEEE, MMMM", "Saturday, February"),
        (LATER, "", ""),
        (datetime.datetime(2023, 12, 31), "Y YYYY yyyy w ww", "2024 2024 2023 1 01"),
        (datetime.datetime(2024, 1, 7), "YY w", "24 2"),
    ],
)
def test_patterns(moment, pattern, text):
    assert format_date(moment, pattern) == text


def test_offsets_of_zones():
    zone = datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))
    moment = datetime.datetime(2024, 3, 7, tzinfo=zone)
    assert format_date(moment, "Z X XX XXX") == "-0330 -03 -0330 -03:30"


@pytest.mark.parametrize(("pattern", "message"), [("yyyy'T", "quote"), ("bogus", "'b'")])
def test_what_is_no_pattern(pattern, message):
    with pytest.raises(ValueError, match=message):
        format_date(EARLY, pattern)
