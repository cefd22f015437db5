"""parse-as-fixed-length, and write-as-csv."""

from __future__ import annotations

import pytest

from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing


def test_a_record_is_cut_by_widths():
    assert run("parse-as-fixed-length body 2,4,5,3", {"body": "12  10  ABCXYZ"}) == [
        {"body": "12  10  ABCXYZ", "body_1": "12", "body_2": "  10", "body_3": "  ABC", "body_4": "XYZ"}
    ]  # fmt: skip


def test_the_padding_is_a_regular_expression():
    assert run("parse-as-fixed-length :body 2,1", {"body": "😀b"}) == [
        {"body": "😀b", "body_1": "😀", "body_2": "b"}
    ]
    (row,) = run("parse-as-fixed-length :body 4,4 '[_ ]'", {"body": "a___  b_"})

    assert (row["body_1"], row["body_2"]) == ("a", "b")


def test_each_record_in_the_text_becomes_a_row():
    made = run("parse-as-fixed-length body 1,1", {"body": "abcde", "k": 1})

    assert [(row["body_1"], row["body_2"], row["k"]) for row in made] == [
        ("a", "b", 1),
        ("c", "d", 1),
    ]


def test_short_texts_go_to_the_error_port():
    made = run_failing("parse-as-fixed-length body 2,4", {"body": "abc"})

    assert (made.kind, made.code) == (2, 2)
    assert made.message.endswith("(ecode: 2, directive: parse-as-fixed-length)")


@pytest.mark.parametrize(("value", "said"), [(None, "null"), (5, "int"), (b"abc", "bytes")])
def test_other_values_fail(value, said):
    assert said in run_failing("parse-as-fixed-length body 1", {"body": value}).message


def test_a_row_without_the_column_is_dropped():
    assert run("parse-as-fixed-length body 1", {"a": 1}) == []


@pytest.mark.parametrize("widths", ["0", "-1", "1.5", "99999999999"])
def test_widths_are_checked(widths):
    assert "whole number" in list_problems(f"parse-as-fixed-length :body {widths}")[0]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"int": 1, "string": "this is, string"}, '1,"this is, string"'),
        (
            {"url": "http://a?b c", "o": {"a": 1, "b": "2"}, "i1": 1, "i2": 1.7999999523162842},
            'http://a?b c,"{""a"":1,""b"":""2""}",1,1.7999999523162842',
        ),
        ({"a": None, "b": None}, '"",'),
        ({"a": "", "b": "x "}, '"","x "'),
        ({"a": "-5", "b": "-5"}, '"-5",-5'),
        ({"a": True, "b": 'say "x"', "c": "l\nm"}, 'true,"say ""x""","l\nm"'),
        ({}, ""),
    ],
)
def test_a_row_is_written_as_csv(row, line):
    assert run("write-as-csv test", row) == [{**row, "test": line}]


def test_a_present_column_stays():
    assert run("write-as-csv a", {"a": 1}) == [{"a": 1}]
