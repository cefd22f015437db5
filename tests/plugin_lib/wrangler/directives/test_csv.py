"""parse-as-csv."""

from __future__ import annotations

import pytest

from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing

FIELDS = [
    ("a,b,", ["a", "b", ""]),
    ('"a""b" ,c', ['a"b', "c"]),
    (",,", ["", "", ""]),
    ('"x\ny",z', ["x\ny", "z"]),
    ('a"b,c', ['a"b', "c"]),
    ('a, "b"', ["a", ' "b"']),
    ('""', [""]),
    (" ", [" "]),
    ("\n\na,b\r\n", ["a", "b"]),
]


@pytest.mark.parametrize(("line", "fields"), FIELDS)
def test_fields_become_columns(line, fields):
    (row,) = run("parse-as-csv :body", {"body": line})

    assert row == {"body": line, **{f"body_{i}": field for i, field in enumerate(fields, 1)}}


@pytest.mark.parametrize("value", [None, "", "\n"])
def test_what_holds_no_record_gives_no_columns(value):
    assert run("parse-as-csv :body ','", {"body": value}) == [{"body": value}]


def test_a_row_without_the_column_is_passed_over():
    assert run("parse-as-csv :body ','", {"a": 1}) == [{"a": 1}]


@pytest.mark.parametrize(
    ("delimiter", "line"),
    [("'\\t'", "a\tb"), ("'\\u0001'", "a\x01b"), ("'|'", "a|b"), ("'||'", "a|b"), (" , ", "a,b")],
)
def test_the_delimiter_is_one_character(delimiter, line):
    (row,) = run(f"parse-as-csv :b {delimiter}", {"b": line})

    assert (row["b_1"], row["b_2"]) == ("a", "b")


def test_present_columns_stay_and_later_records_fill_what_is_left():
    assert run("parse-as-csv :b ','", {"b": "x,y", "b_1": "old"}) == [
        {"b": "x,y", "b_1": "old", "b_2": "y"}
    ]
    assert run("parse-as-csv :b ','", {"b": "x\ny,z"}) == [{"b": "x\ny,z", "b_1": "x", "b_2": "z"}]


def test_the_first_row_may_hold_the_names():
    made = run(
        "parse-as-csv body , true", {"body": "first name, last  \t  name"}, {"body": "alice,zed"}
    )

    assert made == [{"body": "alice,zed", "first_name": "alice", "last_name": "zed"}]


@pytest.mark.parametrize(
    "line", ["1020134.298,,1,2,2 ", "a,a", "a,true", "a,2001-01-01", "a,12:30:15", "a,7"]
)
def test_a_first_row_that_holds_no_names_is_data(line):
    made = run("parse-as-csv body , true", {"body": line}, {"body": "x,y"})

    assert [row["body_1"] for row in made] == [line.split(",")[0], "x"]


def test_a_record_with_more_fields_than_names_fails():
    made = run_failing_after("a,b", "1,2,3")

    assert "3 fields, but only 2 names" in made


def run_failing_after(header: str, line: str) -> str:
    from localcdap.plugin_lib.wrangler.recipe.batch import RowFailure
    from tests.plugin_lib.wrangler.directives.recipes import run_rows

    made = run_rows("parse-as-csv :body ',' true", [{"body": header}, {"body": line}])[1]
    assert isinstance(made, RowFailure)
    return made.message


@pytest.mark.parametrize("line", ['"a', 'a,"b', '"a"b,c', '"a" x,c'])
def test_malformed_text_goes_to_the_error_port(line):
    made = run_failing("parse-as-csv :body ','", {"body": line})

    assert (made.kind, made.code) == (2, 1)
    assert made.message.endswith("(ecode: 1, directive: parse-as-csv)")


def test_other_types_fail():
    assert "a text is needed" in run_failing("parse-as-csv :body ','", {"body": 5}).message


@pytest.mark.parametrize("delimiter", ["'\"'", "'\\n'", "''"])
def test_some_characters_cannot_be_delimiters(delimiter):
    assert "delimiter" in list_problems(f"parse-as-csv :body {delimiter}")[0]
