"""parse-as-log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, to_columns
from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing

COMMON = '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif?a=b%20c&D HTTP/1.0" 200 2326'
LONG = (
    "[02/Dec/2013:14:10:30 -0000] - [52075 10.102.4.254 177.43.52.210 UpyU1gpmBAwAACfd5W0AAAAW "
    "GET /SS14-VTam-ny_019.jpg.rendition.zoomable.jpg HTTP/1.1] hsfirstvisit=http%3A%2F%2Fwww.domain.com"
    "||1372268254000; __ptca=145721067.0aDxsZ.9; Carte::Kerb=82ae; mode=FONTIS 200 "
    '"Mozilla/5.0 (Windows NT 6.2; WOW64) AppleWebKit/537.36" "www.domain.com" - 463952 '
    "http://www.domain.com/content/report/shows/New_York/KSHK/trip/s_s_14_ny_ww/sheers.html"
)
LONG_FORMAT = (
    '%t %u [%D %h %{True-Client-IP}i %{UNIQUE_ID}e %r] %{Cookie}i %s "%{User-Agent}i" '
    '"%{host}i" %l %b %{Referer}i'
)


@pytest.mark.parametrize("format", ["common", '%h %l %u %t "%r" %>s %b'])
def test_the_common_format(format):
    (row,) = run(f"parse-as-log body {format}\ndrop body", {"body": COMMON})

    expected = {
        "ip_connection_client_host": "127.0.0.1",
        "ip_connection_client_host_last": "127.0.0.1",
        "number_connection_client_logname": None,
        "number_connection_client_logname_last": None,
        "string_connection_client_user": "frank",
        "time_stamp_request_receive_time": "10/Oct/2000:13:55:36 -0700",
        "time_day_request_receive_time_day": "10",
        "time_monthname_request_receive_time_monthname": "October",
        "time_week_request_receive_time_weekofweekyear": "41",
        "time_hour_request_receive_time_last_hour_utc": "20",
        "time_epoch_request_receive_time_epoch": "971211336000",
        "time_date_request_receive_time_date_utc": "2000-10-10",
        "time_time_request_receive_time_time": "13:55:36",
        "http_firstline_request_firstline": "GET /apache_pb.gif?a=b%20c&D HTTP/1.0",
        "http_method_request_firstline_method": "GET",
        "http_uri_request_firstline_uri": "/apache_pb.gif?a=b%20c&D",
        "http_path_request_firstline_uri_path": "/apache_pb.gif",
        "http_querystring_request_firstline_uri_query": "&a=b%20c&D",
        "string_request_firstline_uri_query_a": "b c",
        "string_request_firstline_uri_query_d": "",
        "http_ref_request_firstline_uri_ref": None,
        "http_protocol_version_request_firstline_protocol": "HTTP/1.0",
        "http_protocol_request_firstline_protocol": "HTTP",
        "http_protocol_version_request_firstline_protocol_version": "1.0",
        "string_request_status_last": "200",
        "bytes_response_body_bytes": "2326",
        "bytes_response_body_bytes_last": "2326",
    }
    assert {name: row.get(name, "missing") for name in expected} == expected
    assert not [name for name in row if "original" in name or "bytesclf" in name]


def test_a_long_format_gives_as_many_columns_as_the_original():
    (row,) = run(f"parse-as-log body {LONG_FORMAT}\ndrop body", {"body": LONG})

    assert len(row) == 91
    assert row["microseconds_response_server_processing_time"] == "52075"
    assert row["http_header_request_header_true_client_ip"] == "177.43.52.210"
    assert row["variable_server_environment_unique_id"] == "UpyU1gpmBAwAACfd5W0AAAAW"
    assert row["http_host_request_referer_host"] == "www.domain.com"
    assert row["string_connection_client_user"] is None
    assert not [name for name in row if "cookie" in name]


def test_the_columns_of_a_format_are_known_before_there_are_lines():
    given = to_columns(Schema.record("r", [("body", Schema.STRING)]))
    columns = propagate(load_recipe("parse-as-log :body 'common'").steps, given).after

    line = '1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 -'
    (row,) = run("parse-as-log body common", {"body": line})
    assert list(columns) == list(row)
    assert columns.open
    assert row["bytes_response_body_bytes"] == "0"


def test_nginx_formats_are_read():
    (row,) = run(
        """parse-as-log body $remote_addr - $remote_user [$time_local] "$request" $status """
        """$body_bytes_sent "$http_referer" "$http_user_agent" $request_time""",
        {
            "body": '::1 - - [10/Oct/2000:13:55:36 +0000] "POST / HTTP/2.0" 404 5 "-" "a \\"b\\" \\x41" 0.25'
        },
    )

    assert row["ip_connection_client_host"] == "::1"
    assert row["http_useragent_request_user_agent"] == 'a "b" A'
    assert row["http_uri_request_referer"] is None
    assert row["second_millis_response_server_processing_time"] == "0.25"


@pytest.mark.parametrize(
    "line",
    ["", "nothing of that", COMMON.replace("10/Oct", "31/Feb"), COMMON.replace("Oct", "Foo"),
     COMMON.replace("/apache", "http://h:99999/"), "\ud800"],
)  # fmt: skip
def test_other_lines_are_marked(line):
    assert run("parse-as-log body common", {"body": line}) == [{"body": line, "log.parse.error": 1}]


def test_bytes_nulls_and_missing_columns():
    (row,) = run("parse-as-log body common", {"body": COMMON.encode()})
    assert row["string_request_status_last"] == "200"
    assert run("parse-as-log body common", {"a": 1}) == [{"a": 1}]
    assert "null" in run_failing("parse-as-log body common", {"body": None}).message
    assert "int" in run_failing("parse-as-log body common", {"body": 1}).message


def test_garbage_for_a_request_is_read():
    (row,) = run("parse-as-log b common", {"b": COMMON.replace("GET /apache", "\\x16\\x03?")})
    assert row["http_firstline_request_firstline"].startswith("\x16\x03?_pb")
    assert "http_method_request_firstline_method" not in row


@pytest.mark.parametrize("format", ["plain", "%z", "%{%d/%m}t", "$unknown_thing"])
def test_formats_that_are_not_understood_are_reported_at_once(format):
    assert list_problems(f"parse-as-log body {format}")


@given(st.text(alphabet='ab1 -"[]/:%?&=#@\\'))
def test_any_line_is_read_or_marked(line):
    for format in ("%u %r", "%{referer}i", "%q %U", "%u %u %u"):
        (row,) = run(f"parse-as-log body {format}", {"body": line})
        assert len(row) > 1
