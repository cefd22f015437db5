"""LogParser: lines of three formats, lines of none."""

from __future__ import annotations

import time

import pytest
from core_plugins.log_parser import LogParser, parse_user_agent
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import Schema
from tests.plugins.transform.support import configure, messages, only_failure, record, run

LINES = record(body=Schema.STRING.as_nullable)
CHROME = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_4) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/38.0.2125.122 Safari/537.36"  # noqa: E501
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1"  # noqa: E501
CLF = f'10.10.10.10 - - [05/Nov/2014:10:11:12 +0100] "GET /home?x=1 HTTP/1.1" 200 5 "http://a/b" "{CHROME}"'
S3 = (
    "79a5 mybucket [06/Feb/2014:00:00:38 +0000] 192.0.2.3 79a5 3E57427F3EXAMPLE REST.GET.VERSIONING - "
    f'"GET /mybucket?versioning HTTP/1.1" 200 - 113 - 7 - "-" "{CHROME}" -'
)
CLOUDFRONT = (
    "2014-05-23\t01:13:11\tFRA2\t182\t192.0.2.10\tGET\td111.cloudfront.net\t/view/my/file.html\t200\t"
    "www.displaymyfiles.com\t" + CHROME
)


def parse(format, *lines, schema=LINES):
    given = [{"body": line} for line in lines]
    return run(LogParser, {"logFormat": format, "inputName": "body"}, schema, given)


@pytest.mark.parametrize(
    ("format", "line", "uri", "ip", "ts"),
    [
        ("CLF", CLF, "/home?x=1", "10.10.10.10", 1415178672000),
        ("S3", S3, "/mybucket?versioning", "192.0.2.3", 1391644838000),
        ("Cloudfront", CLOUDFRONT, "/view/my/file.html", "192.0.2.10", 1400807591000),
    ],
)
def test_a_line_becomes_a_record(format, line, uri, ip, ts):
    (made,) = parse(format, line).records
    assert made == {
        "uri": uri,
        "ip": ip,
        "browser": "Chrome",
        "device": "Personal computer",
        "httpStatus": 200,
        "ts": ts,
    }


def test_null_and_comments_give_nothing_and_bytes_are_read():
    nothing = parse("Cloudfront", None, "#Version: 1.0")
    assert nothing.records == []
    assert nothing.altered == [("a record without a line was left out, as in CDAP", 1, "null")]
    read = parse("CLF", CLF.encode(), schema=record(body=Schema.BYTES))
    assert (read.records[0]["ip"], read.altered) == ("10.10.10.10", [])
    (altered,) = parse("CLF", b"\xff" + CLF.encode(), schema=record(body=Schema.BYTES)).altered
    assert altered[:2] == ("bytes that are not UTF-8 became U+FFFD", 1)


@pytest.mark.parametrize("format", ["CLF", "S3", "Cloudfront"])
@given(st.text())
def test_other_lines_are_errors(format, line):
    output = parse(format, line)
    is_comment = format == "Cloudfront" and line.startswith("#")
    assert (len(output.records), len(output.errors)) == (0, 0 if is_comment else 1)


def test_a_time_that_cannot_be_read_is_the_present_one():
    before = time.time() * 1000 - 1
    (made,) = parse("CLF", CLF.replace("05/Nov/2014", "yesterday")).records
    assert before <= made["ts"] <= time.time() * 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (IPHONE, ("Mobile Safari", "Smartphone")),
        ("Googlebot/2.1 (+http://www.google.com/bot.html)", ("Googlebot", "Other")),
        ("-", ("unknown", "unknown")),
    ],
)
def test_browsers_and_devices(text, expected):
    assert parse_user_agent(text) == expected


def test_failures():
    stage = configure(LogParser, {"logFormat": "IIS", "inputName": "gone"}, LINES)
    assert messages(stage) == [
        "Format 'IIS' is not supported.",
        "Field 'gone' must be present in the input schema.",
    ]
    numbers = record(body=Schema.INT)
    failure = only_failure(configure(LogParser, {"logFormat": "S3", "inputName": "body"}, numbers))
    assert failure.message == "Field 'body' of unsupported type 'int'."
