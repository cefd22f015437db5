"""Patterns of ``SimpleDateFormat``, written and read as the JDK (17) does; the tables were made with it."""

from __future__ import annotations

import datetime

import pytest

from localcdap.java.dates.simple_date_format import (
    check_simple_date,
    format_simple_date,
    parse_simple_date,
)
from localcdap.java.strings import format_datetime

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
def test_moments_are_written(moment, pattern, text):
    assert format_simple_date(moment, pattern) == text


def test_offsets_of_zones():
    zone = datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))
    moment = datetime.datetime(2024, 3, 7, tzinfo=zone)
    assert format_simple_date(moment, "Z X XX XXX") == "-0330 -03 -0330 -03:30"


@pytest.mark.parametrize(
    ("pattern", "message"), [("yyyy'T", "quote"), ("bogus", "'b'"), ("XXXX", "length=4")]
)
def test_what_is_no_pattern_writes_nothing(pattern, message):
    with pytest.raises(ValueError, match=message):
        format_simple_date(EARLY, pattern)


SIMPLE = [
    ("MM/dd/yyyy", "12/10/2016", "2016-12-10T00:00"),
    ("MM-dd-yy", "12-10-16", "2016-12-10T00:00"),
    ("yyyy-MM-dd HH:mm:ss", "2016-12-10 06:45:11", "2016-12-10T06:45:11"),
    ("MM-dd-yyyy 'at' HH:mm:ss z", "12-10-2016 at 06:45:11 PST", "2016-12-10T14:45:11"),
    ("dd/MM/yy HH:mm:ss", "10/12/2016 06:45:11", "2016-12-10T06:45:11"),
    ("yyyy,MM.dd'T'HH:mm:ss.SSSZ", "2016,12.10T06:45:11.111-0800", "2016-12-10T14:45:11.111"),
    ("EEE, d MMM yyyy HH:mm:ss", "Sat, 10 Dec 2016 06:45:11", "2016-12-10T06:45:11"),
    ("EEE, MMM d, ''yy", "Sat, Dec 10, '16", "2016-12-10T00:00"),
    ("h:mm a", "06:45 PM", "1970-01-01T18:45"),
    ("K:mm a, z", "06:45 PM, PST", "1970-01-02T02:45"),
    ("yyyy.MM.dd G 'at' HH:mm:ss z", "2016.12.10 AD at 06:45:11 PST", "2016-12-10T14:45:11"),
    ("yyyy-MM-dd'T'HH:mm:ss", "2017-02-02T21:06:44Z", "2017-02-02T21:06:44"),
    ("yyyyMMdd", "20161210", "2016-12-10T00:00"),
    ("yyyyMMdd", "2016121", "2016-12-01T00:00"),
    ("yyyyMMddHHmm", "201612101530", "2016-12-10T15:30"),
    ("MM/dd/yyyy", "13/40/2016", "2017-02-09T00:00"),
    ("yyyy-MM-dd", "2016-1-5 trailing", "2016-01-05T00:00"),
    ("yyyy-MM-dd", "16-01-05", "0016-01-05T00:00"),
    ("MM/dd/yy", "1/2/45", "2045-01-02T00:00"),
    ("MM/dd/yy", "1/2/50", "1950-01-02T00:00"),
    ("dd MMMM yyyy", "5 january 2020", "2020-01-05T00:00"),
    ("dd MMM yyyy", "5 January 2020", "2020-01-05T00:00"),
    ("YYYY-MM-dd", "2020-05-06", "2019-12-29T00:00"),
    ("yyyy-D", "2020-60", "2020-02-29T00:00"),
    ("HH:mm:ss.SSS", "01:02:03.1", "1970-01-01T01:02:03.001"),
    ("yyyy-MM-dd'T'HH:mm:ssXXX", "2020-01-01T00:00:00+05:30", "2019-12-31T18:30"),
    ("yyyy-MM-dd'T'HH:mm:ssX", "2020-01-01T00:00:00-08", "2020-01-01T08:00"),
    ("yyyy-MM-dd z", "2020-01-01 GMT+5:30", "2019-12-31T18:30"),
    ("yyyy-MM-dd hh:mm", "2020-01-01 12:30", "2020-01-01T00:30"),
    ("yyyy-MM-dd kk:mm", "2020-01-01 24:30", "2020-01-01T00:30"),
    ("yyyy-MM-dd", "2020/01/01", None),
    ("MM/dd/yyyy HH:mm", "12/10/2016", None),
    ("yyyy-MM-dd", " 2020- 1- 2", "2020-01-02T00:00"),
    ("yyyy-mm-dd", "2020-05-06", "2020-01-06T00:05"),
    ("dd.MM.yyyy", "-5.3.2020", "2020-02-24T00:00"),
    ("yyyy-MM-dd EEE", "2020-01-01 Fri", "2020-01-01T00:00"),
    ("z yyyy", "PDT 2020", "2020-01-01T07:00"),
    ("ddMMMyyyy", "05Mar2020", "2020-03-05T00:00"),
    ("yyMMdd", "200102", "2020-01-02T00:00"),
]


@pytest.mark.parametrize(("pattern", "text", "moment"), SIMPLE)
def test_simple_dates_are_read(pattern, text, moment):
    if moment is None:
        with pytest.raises(ValueError, match="is not in the pattern"):
            parse_simple_date(text, pattern)
    else:
        read = parse_simple_date(text, pattern).astimezone(datetime.UTC)
        assert format_datetime(read.replace(tzinfo=None)) == moment


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("MM/dd/yyyy", "13/01/2020"), ("dd MM yyyy", "31 02 2020"), ("H:mm", "24:00")],
)
def test_what_is_out_of_range_can_be_refused(pattern, text):
    parse_simple_date(text, pattern)
    with pytest.raises(ValueError, match=r"."):
        parse_simple_date(text, pattern, lenient=False)


@pytest.mark.parametrize("pattern", ["abcd", "yyyy'", "XXXX"])
def test_wrong_simple_patterns_are_refused(pattern):
    with pytest.raises(ValueError, match=r"Illegal|Unterminated|invalid"):
        check_simple_date(pattern)
