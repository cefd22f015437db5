"""Patterns of ``DateTimeFormatter``, written and read as the JDK (17) does; the tables were made with it."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.java.dates.date_time_format import DateTimeFormat, PatternError
from localcdap.java.dates.simple_date_format import parse_simple_date
from localcdap.java.strings import format_datetime

ZONED = datetime.datetime(2016, 12, 10, 14, 5, 11, 111_000, tzinfo=datetime.UTC)
LOCAL = datetime.datetime(2000, 8, 22, 20, 36, 45, 123_456)  # noqa: DTZ001

WRITTEN = [
    ("MM/dd/yyyy HH:mm", ZONED, "12/10/2016 14:05"),
    ("MM/dd/yyyy HH:mm", LOCAL, "08/22/2000 20:36"),
    ("yyyy-MM-dd'T'HH:mm:ss[xxx]", ZONED, "2016-12-10T14:05:11+00:00"),
    ("yyyy-MM-dd'T'HH:mm:ss[xxx]", LOCAL, "2000-08-22T20:36:45"),
    ("yyyyMMdd h:mm a", ZONED, "20161210 2:05 PM"),
    ("yyyyMMdd h:mm a", LOCAL, "20000822 8:36 PM"),
    ("EEE, d MMM yyyy HH:mm:ss", ZONED, "Sat, 10 Dec 2016 14:05:11"),
    ("EEE, d MMM yyyy HH:mm:ss", LOCAL, "Tue, 22 Aug 2000 20:36:45"),
    ("EEEE MMMM dd, yy", ZONED, "Saturday December 10, 16"),
    ("EEEE MMMM dd, yy", LOCAL, "Tuesday August 22, 00"),
    ("yyyy,MM.dd'T'HH:mm:ss.SSSZ", ZONED, "2016,12.10T14:05:11.111+0000"),
    ("yyyy,MM.dd'T'HH:mm:ss.SSSZ", LOCAL, None),
    ("yyyy.MM.dd G 'at' HH:mm:ss z", ZONED, "2016.12.10 AD at 14:05:11 UTC"),
    ("yyyy.MM.dd G 'at' HH:mm:ss z", LOCAL, None),
    ("D w W e Q q F YYYY", ZONED, "345 50 2 7 4 4 3 2016"),
    ("D w W e Q q F YYYY", LOCAL, "235 35 4 3 3 3 1 2000"),
    ("y", ZONED, "2016"),
    ("y", LOCAL, "2000"),
    ("hh K k A n N", ZONED, "02 2 14 50711111 111000000 50711111000000"),
    ("hh K k A n N", LOCAL, "08 8 20 74205123 123456000 74205123456000"),
    ("X XXX x xxx Z ZZZZ O", ZONED, "Z Z +00 +00:00 +0000 GMT GMT"),
    ("X XXX x xxx Z ZZZZ O", LOCAL, None),
    ("VV", ZONED, "UTC"),
    ("VV", LOCAL, None),
    ("MMMMM EEEEE", ZONED, "D S"),
    ("MMMMM EEEEE", LOCAL, "A T"),
    ("''yy [z]", ZONED, "'16 UTC"),
    ("''yy [z]", LOCAL, "'00 "),
]


@pytest.mark.parametrize(("pattern", "moment", "text"), WRITTEN)
def test_moments_are_written(pattern, moment, text):
    if text is None:
        with pytest.raises(ValueError, match="which the value does not have"):
            DateTimeFormat(pattern).format(moment)
    else:
        assert DateTimeFormat(pattern).format(moment) == text


READ = [
    ("MM/dd/yyyy HH:mm", "03/30/2010 01:05", "2010-03-30T01:05"),
    (
        "yyyy-MM-dd'T'HH:mm:ss[xxx]'['VV']'",
        "2011-12-03T10:15:30+01:00[Europe/Paris]",
        "2011-12-03T10:15:30",
    ),
    ("yyyyMMdd h:mm a", "19901212 10:12 AM", "1990-12-12T10:12"),
    ("yyyy-MM-dd'T'HH:mm:ssX'['z']'", "2011-12-03T10:15:30Z[UTC]", "2011-12-03T10:15:30"),
    ("MM/dd/yyyy HH:mm", "12/10/2016", None),
    ("yyyy-MM-dd HH:mm", "2019-02-30 10:00", "2019-02-28T10:00"),
    ("yyyy-MM-dd HH:mm", "2019-02-32 10:00", None),
    ("d MMM yy HH", "5 Jan 99 7", None),
    ("EEE d MMM yyyy HH:mm", "Sat 10 Dec 2016 10:00", "2016-12-10T10:00"),
    ("EEE d MMM yyyy HH:mm", "Sun 10 Dec 2016 10:00", None),
    ("yyyy-MM-dd hh:mm", "2019-02-03 10:00", None),
    ("uuuu-D HH", "2019-33 10", "2019-02-02T10:00"),
    ("yyyyMMddHHmmssSSS", "20190203101112123", "2019-02-03T10:11:12.123"),
    ("yyyy-M-d H:m", "2019-2-3 1:2", "2019-02-03T01:02"),
    ("yyyy-MM-dd HH:mm", "19-02-03 10:00", None),
    ("yyyy-MM-dd HH:mm", "2019-02-03 24:00", "2019-02-04T00:00"),
]


@pytest.mark.parametrize(("pattern", "text", "moment"), READ)
def test_datetimes_are_read(pattern, text, moment):
    if moment is None:
        with pytest.raises(ValueError, match=r"."):
            DateTimeFormat(pattern).parse(text)
    else:
        assert format_datetime(DateTimeFormat(pattern).parse(text)) == moment


@pytest.mark.parametrize("pattern", ["abcd", "yyyy]", "yyyy'", "ddd", "{yyyy}", "V", "OO"])
def test_wrong_patterns_are_refused(pattern):
    with pytest.raises(PatternError):
        DateTimeFormat(pattern)


@given(st.text("yMdHhmsSaEzZX'[]-/: .T", max_size=12), st.datetimes(datetime.datetime(1900, 1, 1)))  # noqa: DTZ001
def test_any_pattern_is_used_or_refused(pattern, moment):
    try:
        written = DateTimeFormat(pattern).format(moment)
        parse_simple_date(written, pattern)
        DateTimeFormat(pattern).parse(written)
    except ValueError:
        return


@given(st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)))  # noqa: DTZ001
def test_what_is_written_is_read_again(moment):
    pattern = DateTimeFormat("yyyy-MM-dd'T'HH:mm:ss.SSSSSS")

    assert pattern.parse(pattern.format(moment)) == moment
