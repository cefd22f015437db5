"""Timestamps and datetimes."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest

from localcdap.plugin_lib.wrangler.directives import dates
from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing


def utc(*parts: int) -> datetime.datetime:
    return datetime.datetime(*parts, tzinfo=datetime.UTC)  # type: ignore[misc]


READ = [
    ("MM/dd/yyyy", "12/10/2016", utc(2016, 12, 10), "12/10/2016"),
    ("dd/MM/yyyy", "10/12/2016", utc(2016, 12, 10), "10/12/2016"),
    ("MM-dd-yyyy", "12-10-2016", utc(2016, 12, 10), "12-10-2016"),
    ("MM-dd-yy", "12-10-16", utc(2016, 12, 10), "12-10-16"),
    ("yyyy-MM-dd", "2016-12-10", utc(2016, 12, 10), "2016-12-10"),
    (
        "yyyy-MM-dd HH:mm:ss",
        "2016-12-10 06:45:11",
        utc(2016, 12, 10, 6, 45, 11),
        "2016-12-10 06:45:11",
    ),
    (
        "MM-dd-yyyy 'at' HH:mm:ss z",
        "12-10-2016 at 06:45:11 PST",
        utc(2016, 12, 10, 14, 45, 11),
        "12-10-2016 at 14:45:11 UTC",
    ),
    ("dd/MM/yy HH:mm:ss", "10/12/2016 06:45:11", utc(2016, 12, 10, 6, 45, 11), "10/12/16 06:45:11"),
    (
        "yyyy,MM.dd'T'HH:mm:ss.SSSZ",
        "2016,12.10T06:45:11.111-0800",
        utc(2016, 12, 10, 14, 45, 11, 111_000),
        "2016,12.10T14:45:11.111+0000",
    ),
    (
        "EEE, d MMM yyyy HH:mm:ss",
        "Sat, 10 Dec 2016 06:45:11",
        utc(2016, 12, 10, 6, 45, 11),
        "Sat, 10 Dec 2016 06:45:11",
    ),
    ("EEE, MMM d, ''yy", "Sat, Dec 10, '16", utc(2016, 12, 10), "Sat, Dec 10, '16"),
    ("h:mm a", "06:45 PM", utc(1970, 1, 1, 18, 45), "6:45 PM"),
    ("K:mm a, z", "06:45 PM, PST", utc(1970, 1, 2, 2, 45), "2:45 AM, UTC"),
    (
        "yyyy.MM.dd G 'at' HH:mm:ss z",
        "2016.12.10 AD at 06:45:11 PST",
        utc(2016, 12, 10, 14, 45, 11),
        "2016.12.10 AD at 14:45:11 UTC",
    ),
]


@pytest.mark.parametrize(("pattern", "text", "moment", "written"), READ)
def test_simple_dates_are_read_and_written(pattern, text, moment, written):
    parse = f"parse-as-simple-date date {pattern}"

    assert run(parse, {"date": text}) == [{"date": moment}]
    assert run(f"{parse}\nformat-date date {pattern}", {"date": text}) == [{"date": written}]


def test_what_stands_behind_a_pattern_does_not_count():
    recipe = "parse-as-simple-date date yyyy-MM-dd'T'HH:mm:ss"

    assert run(recipe, {"date": "2017-02-02T21:06:44Z"}) == [{"date": utc(2017, 2, 2, 21, 6, 44)}]


@pytest.mark.parametrize("value", [None, utc(2020, 1, 1)])
@pytest.mark.parametrize("directive", ["parse-as-simple-date :a 'yyyy'", "parse-timestamp :a"])
def test_null_and_timestamps_stay(directive, value):
    assert run(directive, {"a": value}) == [{"a": value}]


TIMESTAMPS = [
    ("", 1536332271894, utc(2018, 9, 7, 14, 57, 51, 894_000)),
    ("", "1536332271894", utc(2018, 9, 7, 14, 57, 51, 894_000)),
    ("'seconds'", "1536332271", utc(2018, 9, 7, 14, 57, 51)),
    ("'milliseconds'", "1536332271894", utc(2018, 9, 7, 14, 57, 51, 894_000)),
    ("'microseconds'", "1536332271894123", utc(2018, 9, 7, 14, 57, 51, 894_123)),
    ("'SECONDS'", -1, utc(1969, 12, 31, 23, 59, 59)),
]


@pytest.mark.parametrize(("unit", "value", "moment"), TIMESTAMPS)
def test_unix_time_is_read(unit, value, moment):
    assert run(f"parse-timestamp :a {unit}", {"a": value}) == [{"a": moment}]


DIFFERENCES = [
    ("12/10/2016 07:45", "12/10/2016 06:45", 3_600_000),
    ("2/1/1990 12:01", "1/1/1990 12:00", 2_678_460_000),
    ("03/03/1998 2:02", "03/03/1998 2:02", 0),
    (None, "03/03/1998 2:02", None),
]


@pytest.mark.parametrize(("one", "other", "difference"), DIFFERENCES)
def test_dates_are_subtracted(one, other, difference):
    recipe = """
        parse-as-simple-date date1 MM/dd/yyyy HH:mm
        parse-as-simple-date date2 MM/dd/yyyy HH:mm
        diff-date date1 date2 difference
    """

    (row,) = run(recipe, {"date1": one, "date2": other})

    assert row["difference"] == difference


def test_now_is_a_date_too_and_what_is_none_has_no_difference():
    (row,) = run("diff-date now :a :b", {"a": datetime.datetime.now(datetime.UTC)})
    assert abs(row["b"]) < 60_000

    assert run("diff-date :a :c :b", {"a": "x", "c": utc(2020, 1, 1)})[0]["b"] is None


def test_dates_are_written_too():
    row = {"a": datetime.date(2016, 12, 10)}

    assert run("format-date :a 'MM/dd/yyyy HH:mm z'", row) == [{"a": "12/10/2016 00:00 UTC"}]
    assert run("format-date :a 'yyyy'", {"a": None}) == [{"a": None}]


LOCAL = datetime.datetime(2000, 8, 22, 20, 36, 45)  # noqa: DTZ001 - a datetime has no zone
FORMATS = [
    ("MM/dd/yyyy HH:mm", "08/22/2000 20:36"),
    ("yyyy-MM-dd'T'HH:mm:ss", "2000-08-22T20:36:45"),
    ("yyyy-MM-dd'T'HH:mm:ss[xxx]", "2000-08-22T20:36:45"),
    ("yyyyMMdd h:mm a", "20000822 8:36 PM"),
    ("y", "2000"),
]


@pytest.mark.parametrize(("pattern", "written"), FORMATS)
def test_datetimes_are_written(pattern, written):
    assert run(f'format-datetime :a "{pattern}"', {"a": LOCAL}) == [{"a": written}]


DATETIMES = [
    ("MM/dd/yyyy HH:mm", "03/30/2010 01:05", (2010, 3, 30, 1, 5)),
    ("yyyy-MM-dd'T'HH:mm:ss", "2020-01-28T04:50:12", (2020, 1, 28, 4, 50, 12)),
    ("yyyy-MM-dd'T'HH:mm:ss[xxx]", "2011-12-03T10:15:30+01:00", (2011, 12, 3, 10, 15, 30)),
    (
        "yyyy-MM-dd'T'HH:mm:ss[xxx]'['VV']'",
        "2011-12-03T10:15:30+01:00[Europe/Paris]",
        (2011, 12, 3, 10, 15, 30),
    ),
    ("yyyy-MM-dd'T'HH:mm:ssX'['z']'", "2011-12-03T10:15:30Z[UTC]", (2011, 12, 3, 10, 15, 30)),
    ("yyyyMMdd h:mm a", "19901212 10:12 AM", (1990, 12, 12, 10, 12)),
]


@pytest.mark.parametrize(("pattern", "text", "parts"), DATETIMES)
def test_datetimes_are_read(pattern, text, parts):
    expected = datetime.datetime(*parts)  # noqa: DTZ001

    assert run(f'parse-as-datetime :a "{pattern}"', {"a": text}) == [{"a": expected}]


def test_datetimes_and_timestamps_become_one_another():
    moment = LOCAL.replace(tzinfo=datetime.UTC)

    assert run("datetime-to-timestamp :a", {"a": LOCAL}) == [{"a": moment}]
    assert run("timestamp-to-datetime :a", {"a": moment}) == [{"a": LOCAL}]
    assert run("timestamp-to-datetime :a", {"a": LOCAL}) == [{"a": LOCAL}]
    (row,) = run("datetime-to-timestamp :a 'America/New_York'", {"a": LOCAL})
    assert row["a"] == LOCAL.replace(tzinfo=ZoneInfo("America/New_York"))


@pytest.mark.parametrize("value", [None])
@pytest.mark.parametrize(
    "directive",
    [
        "datetime-to-timestamp :a",
        "timestamp-to-datetime :a",
        "format-datetime :a 'y'",
        "parse-as-datetime :a 'y'",
    ],
)
def test_null_stays_and_missing_is_passed_over(directive, value):
    assert run(directive, {"a": value}) == [{"a": value}]
    assert run(directive, {"b": 1}) == [{"b": 1}]


def test_the_present_time_is_put_in():
    (row,) = run("current-datetime :a", {"a": 1})
    (other,) = run("current-datetime :b 'Asia/Tokyo'", {})

    assert row["a"].tzinfo is None
    assert datetime.timedelta(hours=8) < other["b"] - row["a"] < datetime.timedelta(hours=10)


SENT = [
    ("parse-as-simple-date :a 'MM/dd/yyyy'", "2020-01-01", 1),
    ("parse-as-simple-date :a 'MM/dd/yyyy'", 5, 2),
    ("parse-timestamp :a", "x", 2),
    ("parse-timestamp :a", 1.5, 2),
    ("parse-timestamp :a 'seconds'", 2**62, 2),
    ("parse-as-datetime :a 'MM/dd/yyyy HH:mm'", "12/10/2016", 2),
    ("parse-as-datetime :a 'MM/dd/yyyy HH:mm'", 7, 2),
    ("format-datetime :a 'MM/dd/yyyy HH:mm'", "12/10/2016", 2),
    ("format-datetime :a 'yyyy z'", LOCAL, 2),
    ("datetime-to-timestamp :a", "2020-01-01", 2),
    ("timestamp-to-datetime :a", "2020-01-01", 2),
]


@pytest.mark.parametrize(("recipe", "value", "code"), SENT)
def test_what_is_no_date_goes_to_the_error_port(recipe, value, code):
    made = run_failing(recipe, {"a": value})

    assert (made.kind, made.code) == (2, code)
    assert made.message.endswith(f"(ecode: {code}, directive: {recipe.split()[0]})")


@pytest.mark.parametrize(
    ("recipe", "row"),
    [
        ("format-date :a 'yyyy'", {"a": "2020"}),
        ("format-date :a 'yyyy'", {"b": 1}),
        ("diff-date :a :b :c", {"a": 1}),
    ],
)
def test_a_row_fails(recipe, row):
    assert run_failing(recipe, row).kind == 1


@pytest.mark.parametrize(
    "recipe",
    [
        "format-datetime :a 'abcd'",
        "parse-as-datetime :a 'abcd'",
        "format-date :a 'yyyy]MM'",
        "parse-as-simple-date :a 'bcd'",
        'parse-as-simple-date :a "yyyy\'T"',
        "parse-timestamp :a 'nanoseconds'",
        "current-datetime :a 'Mars/Base'",
        "datetime-to-timestamp :a 'Mars/Base'",
    ],
)
def test_wrong_arguments_are_reported_with_the_recipe(recipe):
    assert list_problems(recipe)


@pytest.fixture
def monday(monkeypatch):
    """The present is fixed to 14:13 on a Monday, in UTC."""
    moment = datetime.datetime(2017, 5, 1, 14, 13, 35, tzinfo=datetime.UTC)
    monkeypatch.setattr(dates, "_read_clock", moment.astimezone)


@pytest.mark.usefixtures("monday")
def test_natural_dates_are_found_in_texts():
    rows = {
        "now": "05/01/2017 10:13",
        "today": "05/01/2017 10:13",
        "12/10/2016": "12/10/2016 00:00",
        "12/10/2016 06:45 AM": "12/10/2016 06:45",
        "september 7th 2016": "09/07/2016 00:00",
        "12/31/85": "12/31/1985 00:00",
        "friday, 5/5/2017 3pm PST": "05/05/2017 18:00",
    }
    recipe = "parse-as-date date US/Eastern\nformat-date date_1 MM/dd/yyyy HH:mm"

    made = run(recipe, *({"date": text} for text in rows))

    assert {row["date"]: row["date_1"] for row in made} == rows


@pytest.mark.usefixtures("monday")
def test_every_phrase_of_a_text_has_a_column_with_its_first_alternative():
    (row,) = run(
        "parse-as-date date", {"date": "It rained on may 1st 2017. See us next wed or thurs!"}
    )

    assert {name: str(value)[:10] for name, value in row.items() if name != "date"} == {
        "date_1": "2017-05-01",
        "date_2": "2017-05-10",
    }


def test_a_natural_date_that_no_timestamp_holds_fails():
    assert "1 to 9999" in run_failing("parse-as-date :a", {"a": "9999 years from now"}).message


def test_natural_dates_need_a_text():
    assert run_failing("parse-as-date :a", {"a": 5}).kind == 2
    assert run("parse-as-date :a 'nowhere'", {"a": None}, {"b": 1}) == [{"a": None}, {"b": 1}]
    assert run("parse-as-date :a", {"a": " "}) == [{"a": " "}]


@pytest.mark.usefixtures("monday")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no date", "has no date that is understood: 'no date'"),
        ("3. Mai 2023", "has no date that is understood: '3. Mai 2023'"),
        ("27.08.2023", "has a date that is not understood: '27.08.2023'"),
        ("2023-13-45", "has a date that is not understood: '2023-13-45'"),
        ("1485800109", "has a date that is not understood: '1485800109'"),
        ("jan 5 99", "has a date without a year: 'jan 5'"),
        ("10:30", "has a date without a day: '10:30'"),
    ],
)
def test_a_form_that_is_not_understood_is_an_error(text, message):
    assert message in run_failing("parse-as-date :a", {"a": text}).message


UNIX = [
    (1536332271, "2018-09-07 14:57:51"),
    ("1536332271", "2018-09-07 14:57:51"),
    (1536332271894, "2018-09-07 14:57:51"),
    ("1536332271894", "2018-09-07 14:57:51"),
    (0, "1970-01-01 00:00:00"),
    (-86400, "1969-12-31 00:00:00"),
    (None, None),
]


@pytest.mark.parametrize(("value", "written"), UNIX)
def test_unix_time_is_written_in_a_pattern(value, written):
    made = run("format-unix-timestamp :at 'yyyy-MM-dd HH:mm:ss'", {"at": value})

    assert made == [{"at": written}]


@pytest.mark.parametrize("value", ["soon", "", 1.5, True, 10**18, "9" * 30])
def test_what_is_no_unix_time_fails(value):
    assert run_failing("format-unix-timestamp at yyyy-MM-dd", {"at": value}).kind == 1
