"""Records and lists within rows."""

from __future__ import annotations

import pytest

from tests.plugin_lib.wrangler.directives.recipes import run, run_failing

RECORD = {"col1": "A", "col2": "B", "col3": "C"}


def test_a_record_is_made_of_columns():
    row = {**RECORD, "n": None}

    assert run("create-record :result :col1, :COL2, :n, :missing", row) == [
        {**row, "result": {"col1": "A", "COL2": "B"}}
    ]
    assert run("create-record :col1 :col1,:col2", RECORD) == [
        {**RECORD, "col1": {"col1": "A", "col2": "B"}}
    ]


def test_a_record_is_flattened():
    row = {"struct": RECORD, "struct_col2": "old"}

    assert run("flatten-record :struct", row) == [
        {"struct": RECORD, "struct_col2": "B", "struct_col1": "A", "struct_col3": "C"}
    ]


def test_records_within_records_are_flattened_one_after_the_other():
    (made,) = run("flatten-record :s; flatten-record :s_child", {"s": {"child": RECORD}})

    assert made["s_child_col3"] == "C"
    assert made["s_child"] == RECORD


def test_null_and_missing_records_are_passed_over():
    assert run("flatten-record :a,:b", {"a": None}) == [{"a": None}]


def test_what_is_no_record_fails_its_row():
    assert "a str, not a record" in run_failing("flatten-record :a", {"a": "x"}).message


FLATTENED = [
    ("flatten x", {"x": [], "y": "y"}, [{"x": None, "y": "y"}]),
    ("flatten x", {"x": None, "y": 1}, [{"x": None, "y": 1}]),
    ("flatten x", {"y": 1}, []),
    ("flatten x", {"x": "A"}, [{"x": "A"}]),
    ("flatten x", {"x": ["a", None]}, [{"x": "a"}, {"x": None}]),
    ("flatten :x,:y", {"x": "A"}, [{"x": "A", "y": None}]),
    ("flatten :x,:y", {"x": [1, 2], "y": 10}, [{"x": 1, "y": 10}, {"x": 2, "y": 10}]),
    (
        "flatten :x,:y",
        {"x": [1, 2, 3], "y": ["a", "b"], "z": 0},
        [{"x": 1, "y": "a", "z": 0}, {"x": 2, "y": "b", "z": 0}, {"x": 3, "y": None, "z": 0}],
    ),
    (
        "flatten :x; flatten :y",
        {"x": [1, 2], "y": [3, 4]},
        [{"x": 1, "y": 3}, {"x": 1, "y": 4}, {"x": 2, "y": 3}, {"x": 2, "y": 4}],
    ),
]


@pytest.mark.parametrize(("recipe", "row", "expected"), FLATTENED)
def test_lists_become_rows(recipe, row, expected):
    assert run(recipe, row) == expected
