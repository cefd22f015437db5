"""Columns renamed, copied, swapped, dropped, kept; names changed all at once."""

from __future__ import annotations

import pytest

from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing

ROW = {"id": 1, "First": "Root", "last": None}

CASES = [
    ("rename :first :name", ROW, {"id": 1, "name": "Root", "last": None}),
    ("rename first FIRST", ROW, {"id": 1, "FIRST": "Root", "last": None}),
    ("rename :missing :name", ROW, ROW),
    ("copy :first :name", ROW, {**ROW, "name": "Root"}),
    ("copy :last :id true", ROW, {"id": None, "First": "Root", "last": None}),
    ("copy :First :first", ROW, ROW),
    ("swap :id :first", ROW, {"first": 1, "id": "Root", "last": None}),
    ("swap :id :ID", ROW, {"id": 1, "First": "Root", "last": None}),
    ("drop :ID,:last", ROW, {"First": "Root"}),
    ("drop :missing", ROW, ROW),
    ("keep :id,:last", ROW, {"id": 1, "last": None}),
    ("keep :ID,:first", ROW, {}),
    ("change-column-case upper", ROW, {"ID": 1, "FIRST": "Root", "LAST": None}),
    ("change-column-case uppercase", ROW, {"ID": 1, "FIRST": "Root", "LAST": None}),
    ("change-column-case", ROW, {"id": 1, "first": "Root", "last": None}),
    ("change-column-case lower", ROW, {"id": 1, "first": "Root", "last": None}),
    ("cleanse-column-names", {" Ab-c d ": 1, "é.x": 2}, {"ab_c_d": 1, "__x": 2}),
    (
        "columns-replace s/^data_//g",
        {"data_a": 1, "data_data_confuse": 4, "no_data": 5, "whatever": 6},
        {"a": 1, "data_confuse": 4, "no_data": 5, "whatever": 6},
    ),
    ("columns-replace s/_/ /", {"a_b_c": 1}, {"a b_c": 1}),
    ("set-headers :one, :two", ROW, {"one": 1, "two": "Root", "last": None}),
    ("set-headers :a,:b,:c,:d", ROW, {"a": 1, "b": "Root", "c": None}),
    ("set columns a,b", ROW, {"a": 1, "b": "Root", "last": None}),
]


@pytest.mark.parametrize(("recipe", "row", "expected"), CASES, ids=[case[0] for case in CASES])
def test_columns_change(recipe, row, expected):
    (made,) = run(recipe, row)

    assert made == expected
    assert list(made) == list(expected)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("rename :id :LAST", "column 'LAST' exists already"),
        ("copy :missing :a", "column 'missing' does not exist"),
        ("copy :id :last", "column 'last' exists already"),
        ("copy :id :last false", "column 'last' exists already"),
        ("swap :id :missing", "column 'missing' does not exist"),
        ("swap :missing :id", "column 'missing' does not exist"),
    ],
)
def test_rows_fail(recipe, message):
    assert message in run_failing(recipe, ROW).message


@pytest.mark.parametrize("script", ["r/^data_//g", "s/a/b", "s/(/b/", "s/a/b/q"])
def test_a_wrong_sed_expression_is_reported_with_the_recipe(script):
    assert "is not a sed script" in list_problems(f"columns-replace {script}")[0]
