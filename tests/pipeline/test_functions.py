"""The macro functions; dates as in CDAP 6 ``LogicalStartTimeMacroEvaluatorTest``."""

from __future__ import annotations

import pytest

from localcdap.api.errors import BadRequestError, MacroError, NotFoundError
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.pipeline.macros.parser import (
    create_macro_functions,
    evaluate_logical_start_time,
    resolve_logical_start,
)

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
    assert evaluate_logical_start_time(start, *arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["a", "b", "c", "d"], "at most 3 arguments"),
        (["yyyy", "1x"], "'1x' is not an offset"),
        (["yyyy", "1d", "Moon/Base"], "'Moon/Base' is not a time zone"),
        (["bogus"], "Illegal pattern character 'b'"),
        (["yyyy'open"], "Unterminated quote"),
        (["yyyy", "999999999999d"], "logicalStartTime("),
    ],
)
def test_logical_start_time_that_cannot_be_understood(arguments, part):
    with pytest.raises(MacroError, match="logicalStartTime") as raised:
        evaluate_logical_start_time(0, *arguments)
    assert part in raised.value.message
    assert "yyyy-MM-dd" in raised.value.corrective_action


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 5),
        ("", 5),
        ("0", 0),
        ("1577836800000", 1577836800000),
        ("+1577836800000", 1577836800000),
        ("-1", -1),
        ("253402300799999", 253402300799999),  # the last millisecond of the year 9999
    ],
)
def test_the_argument_says_the_logical_start_time(value, expected):
    arguments = {"a": "b"} if value is None else {"a": "b", "logical.start.time": value}
    completed, start_ms = resolve_logical_start(arguments, 5)
    assert start_ms == expected
    assert completed == {"a": "b", "logical.start.time": str(expected)}


@pytest.mark.parametrize(
    "value",
    ["2020-01-01", "1577836800000.0", "1e12", " 5", "5L", "${day}", "9223372036854775808"]
    + ["253402300800000", "-62135596800001"],
)
def test_an_argument_that_is_no_time_is_refused(value):
    with pytest.raises(BadRequestError) as raised:
        resolve_logical_start({"logical.start.time": value}, 5)
    assert f"'{value}'" in raised.value.message
    assert "logical.start.time=1577836800000" in raised.value.corrective_action


def evaluate(text: str, **providers) -> str:
    context = MacroContext({}, create_macro_functions(0, **providers), runtime=True)
    return context.get_parser(escaping=False).expand(text).text


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
