"""parse-as-hl7."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.directives.hl7 import Hl7Error, parse_hl7_message
from tests.plugin_lib.wrangler.directives.recipes import run, run_failing

MESSAGE = (
    "MSH|^~\\&||.|||199908180016||ADT^A04|ADT.1.1698593|P|2.6\r"
    "PID|1||000395122||LEVERKUHN^ADRIAN^C||19880517180606|M|||6 66TH AVE NE^^WEIMAR^DL^98052||(157)983-3296"
    "|||S||12354768|87654321\r"
    "NK1|1|TALLIS^THOMAS^C|GRANDFATHER|12914 SPEM ST^^ALIUM^IN^98052|(157)883-6176\r"
    "NK1|2|WEBERN^ANTON|SON|12 STRASSE MUSIK^^VIENNA^AUS^11212|(123)456-7890\r"
    "IN1|1|PRE2||LIFE PRUDENT BUYER|PO BOX 23523^WELLINGTON^ON^98111"
)


def test_segments_fields_and_components_become_columns():
    (row,) = run("parse-as-hl7 body", {"body": MESSAGE})

    expected = {
        "body": MESSAGE,
        "body_hl7_MSH_1": "|",
        "body_hl7_MSH_2": "^~\\&",
        "body_hl7_MSH_4": ".",
        "body_hl7_MSH_9_1": "ADT",
        "body_hl7_MSH_9_2": "A04",
        "body_hl7_MSH_12": "2.6",
        "body_hl7_PID_5_1": "LEVERKUHN",
        "body_hl7_PID_5_3": "C",
        "body_hl7_PID_11_3": "WEIMAR",
        "body_hl7_PID_19": "87654321",
        "body_hl7_IN1_4": "LIFE PRUDENT BUYER",
    }
    assert {name: row.get(name) for name in expected} == expected
    assert [each["2"]["1"] for each in row["body_hl7_NK1"]] == ["TALLIS", "WEBERN"]
    assert "body_hl7_MSH_3" not in row
    assert "body_hl7_PID_11_2" not in row


def test_the_depth():
    (row,) = run("parse-as-hl7 body 1\nkeep body_hl7_MSH", {"body": MESSAGE})
    assert row["body_hl7_MSH"]["9"] == {"1": "ADT", "2": "A04"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("a^b&c^", {"1": "a", "2": {"1": "b", "2": "c"}}),
        ("a~b", "b"),
        ("a~", "a"),
        ("^^", None),
        ("a^^", "a"),
        ("^b", {"2": "b"}),
        ("x\\F\\y\\S\\z\\T\\\\R\\\\E\\", "x|y^z&~\\"),
        ("\\X41\\\\.br\\\\H\\", "A\n\\H\\"),
    ],
)
def test_fields_are_taken_apart(field, value):
    made = parse_hl7_message(f"MSH|^~\\&|x\nZZ1|{field}")
    assert made["ZZ1"] == ({} if value is None else {"1": value})


def test_other_separators_count():
    made = parse_hl7_message("MSH$%~\\&$x\rPID$a%b")
    assert made == {"MSH": {"1": "$", "2": "%~\\&", "3": "x"}, "PID": {"1": {"1": "a", "2": "b"}}}


@pytest.mark.parametrize("text", ["", "PID|1", "MSH", "MSH|^~", "MSH|^~\\&|\rx y|", None, 5])
def test_what_is_no_message_fails_on_the_row(text):
    assert run_failing("parse-as-hl7 body", {"body": text}).kind == 1


def test_a_row_without_the_column_is_passed_over():
    assert run("parse-as-hl7 body", {"a": 1}) == [{"a": 1}]


@given(st.text(alphabet="|^~\\&AX1\r\n"))
def test_any_text_is_read_or_refused(text):
    try:
        parse_hl7_message(f"MSH|^~\\&{text}")
    except Hl7Error:
        return
