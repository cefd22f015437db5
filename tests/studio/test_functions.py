"""The macro functions; dates as in CDAP 6 ``LogicalStartTimeMacroEvaluatorTest``."""

from __future__ import annotations

import datetime

import pytest

from localcdap.api.errors import MacroError, NotFoundError
from localcdap.studio.macros.evaluation import MacroContext
from localcdap.studio.macros.functions import logical_start_time, macro_functions
from localcdap.wrangler.java.simple_date import format_date

NEW_YEAR_2016 = 1451606400000
ISO = "yyyy-MM-dd'T'HH:mm:ss"


@pytest.mark.parametrize(
    ("start", "arguments", "expected"),
    [
        (0, [], "0"),
        (0, [""], "0"),
        (0, ["yyyy-MM-dd"], "1970-01-01"),
        (0, ["yyyy-MM-dd", "1d"], "1969-12-31"),
        (0, ["yyyy-MM-dd", "+1d"], "1969-12-31"),
        (0, ["yyyy-MM-dd", "-1d"], "1970-01-02"),
        (NEW_YEAR_2016, ["yyyy-MM-dd"], "2016-01-01"),
        (NEW_YEAR_2016, [ISO, "1d-12h"], "2015-12-31T12:00:00"),
        (NEW_YEAR_2016, [ISO, "1d-12h+30m+15s"], "2015-12-31T11:29:45"),
        (NEW_YEAR_2016, ["yyyy-MM-dd'T'HH-mm-ss", "1d-4h+30m"], "2015-12-31T03-30-00"),
        (0, [ISO, "30m", "PST "], "1969-12-31T15:30:00"),
        (0, [ISO, "", "GMT+2:30"], "1970-01-01T02:30:00"),
        (0, [ISO, "0s", "Europe/Berlin"], "1970-01-01T01:00:00"),
    ],
)
def test_logical_start_time(start, arguments, expected):
    assert logical_start_time(start, *arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["a", "b", "c", "d"], "at most 3 arguments"),
        (["yyyy", "1x"], "'1x' is no offset"),
        (["yyyy", "1d", "Moon/Base"], "Unknown time zone 'Moon/Base'"),
        (["bogus"], "Illegal pattern character 'b'"),
        (["yyyy'open"], "Unterminated quote"),
        (["yyyy", "999999999999d"], "logicalStartTime("),
    ],
)
def test_logical_start_time_that_cannot_be_understood(arguments, part):
    with pytest.raises(MacroError, match="logicalStartTime") as raised:
        logical_start_time(0, *arguments)
    assert part in raised.value.message
    assert "yyyy-MM-dd" in raised.value.corrective_action


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yy yyyy y", "24 2024 2024"),
        ("M MM MMM MMMM", "3 03 Mar March"),
        ("d dd D DDD", "7 07 67 067"),
        ("E EEEE u", "Thu Thursday 4"),
        ("H HH k K h hh a", "0 00 24 0 12 12 AM"),
        ("m mm s ss S SSS", "5 05 9 09 42 042"),
        ("z Z X XXX", "UTC +0000 Z Z"),
        ("'year' yyyy ''", "year 2024 '"),
        ("'it''s'", "it's"),
    ],
)
def test_date_patterns(pattern, expected):
    moment = datetime.datetime(2024, 3, 7, 0, 5, 9, 42_000, tzinfo=datetime.UTC)
    assert format_date(moment, pattern) == expected


def test_offsets_of_zones():
    zone = datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))
    moment = datetime.datetime(2024, 3, 7, tzinfo=zone)
    assert format_date(moment, "Z X XX XXX") == "-0330 -03 -0330 -03:30"


def evaluate(text: str, **providers) -> str:
    context = MacroContext({}, macro_functions(0, **providers), runtime=True)
    return context.parser(escaping=False).expand(text).text


def test_secrets_come_from_their_provider():
    assert evaluate("${secure(key)}", secure=lambda key: f"<{key}>") == "<key>"
    assert evaluate("${conn( my conn )}", conn=lambda name: {"host": name}) == '{"host":"my conn"}'
    token = evaluate("${oauth(google,id)}", oauth=lambda p, c: {"accessToken": p + c})
    assert token == '{"accessToken":"googleid"}'


def test_without_a_provider_the_message_says_so():
    with pytest.raises(
        MacroError, match="'secure' cannot be used: the secure store is not"
    ) as raised:
        evaluate("${secure(key)}")
    assert raised.value.corrective_action


def test_what_a_provider_does_not_have_is_an_error_of_the_macro():
    def secure(key: str) -> str:
        raise NotFoundError(f"No secure key '{key}'.")

    with pytest.raises(MacroError, match="No secure key 'key'"):
        evaluate("${secure(key)}", secure=secure)


def test_a_wrong_number_of_arguments():
    with pytest.raises(MacroError, match=r"'oauth' takes 2 argument\(s\), not 1"):
        evaluate("${oauth(x)}", oauth=lambda p, c: {})
