"""Times in lineage requests, as in CDAP's TimeMathParserTest and LineageHTTPHandler."""

from __future__ import annotations

import time

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.metadata.lineage.time_range import TimeRange, parse_time, parse_time_range

NOW = 1_234_567_890


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1234567890", 1234567890),
        ("0", 0),
        ("now", NOW),
        ("NOW", NOW),
        ("now-7s", NOW - 7),
        ("now-7m", NOW - 7 * 60),
        ("now-7h", NOW - 7 * 3600),
        ("now-7d", NOW - 7 * 86400),
        ("now+7s", NOW + 7),
        ("now+7d", NOW + 7 * 86400),
        ("Now-1D+4H", NOW - 20 * 3600),
        ("now-7d+3h-13m+11s", NOW - 7 * 86400 + 3 * 3600 - 13 * 60 + 11),
        ("now-500ms", NOW - 1),
    ],
)
def test_a_time_is_a_number_of_seconds_or_an_expression(text, expected):
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize(
    "text",
    ["now 6h", "now-3d+23lnkfasd-6h", "now/1d", "now-1w", "", "-5", "now-", "1e9", "9" * 30, "٣"],
)
def test_another_text_is_no_time(text):
    with pytest.raises(BadRequestError, match="^invalid time format"):
        parse_time(text, NOW)


def test_now_is_the_time_of_the_clock():
    assert abs(parse_time("now") - time.time()) < 60


def test_a_range_is_in_milliseconds_and_may_be_empty():
    assert parse_time_range("1", "now", 5) == TimeRange(1_000, 5_999)
    assert parse_time_range("now", "now", 5) == TimeRange(5_000, 5_999)


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (None, "1", "Start time is required."),
        ("1", None, "End time is required."),
        ("now-2s", "now", "Invalid start time (now-2s -> -1000), should be >= 0."),
        ("1", "now-2s", "Invalid end time (now-2s -> -1000), should be >= 0."),
        ("5", "1", "Start time (5 -> 5000) should be lesser than end time (1 -> 1000)."),
    ],
)
def test_a_wrong_range_is_refused_in_the_original_words(start, end, message):
    with pytest.raises(BadRequestError) as raised:
        parse_time_range(start, end, 1)

    assert str(raised.value) == message
