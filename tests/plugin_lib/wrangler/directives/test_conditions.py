"""Rows that conditions decide about, expressions in columns and variables, rows that columns decide about."""

from __future__ import annotations

import pytest

from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor
from localcdap.plugin_lib.wrangler.recipe.spark_frame import FAILURE, SENT
from tests.plugin_lib.wrangler.directives.recipes import (
    build_valid_directives,
    list_problems,
    run,
    run_failing,
    run_rows,
)

KEPT = [
    ("filter-row exp:{a > 3}", {"a": 4}, False),
    ("filter-row exp:{a > 3}", {"a": 3}, True),
    ("filter-row exp:{a > 3} true", {"a": 4}, False),
    ("filter-row exp:{a > 3} false", {"a": 4}, True),
    ("filter-row exp:{a > 3} false", {"a": 3}, False),
    ("filter-row exp:{b == null}", {"a": 3}, False),
    ("filter-row exp:{a}", {"a": "TRUE"}, False),
    ("filter-row exp:{a}", {"a": "yes"}, True),
    ("filter-row exp:{A > 3}", {"a": 4}, False),
    ("filter-row-if-true a > 3", {"a": 4}, False),
    ("filter-row-if-false a > 3", {"a": 4}, True),
    ("filter-row-if-matched a .*o.*", {"a": "root"}, False),
    ("filter-row-if-not-matched a .*o.*", {"a": "root"}, True),
    ("filter-rows-on condition-false a > 3", {"a": 4}, True),
    ("filter-rows-on condition-true a > 3", {"a": 4}, False),
    ("filter-rows-on regex-match a ^school_id$", {"a": "school_id"}, False),
    ("filter-rows-on regex-not-match a .*2.*", {"a": 22}, True),
    ("filter-rows-on empty-or-null-columns a,b", {"a": None, "b": None}, False),
    ("filter-empty-or-null :a", {"a": None}, False),
    ("filter-empty-or-null :a", {"a": ""}, True),
    ("filter-empty-or-null :a,:b", {"a": None, "b": 1}, True),
    ("filter-empty-or-null :a,:b", {"a": None}, True),
    ("filter-by-regex if-matched :a '.*@joltie.io'", {"a": "root@joltie.io"}, False),
    ("filter-by-regex if-matched :a '.*@joltie.io'", {"a": "x root@joltie.io y"}, True),
    ("filter-by-regex if-not-matched :a '.*@joltie.io'", {"a": "root@mars.com"}, False),
    ("filter-by-regex if-matched :a 'NULL'", {"a": None}, True),
    ("filter-by-regex if-matched :a ''", {"a": "x"}, True),
    ("filter-by-regex if-matched :a '22\\.4.*'", {"a": 22.4}, False),
    ("filter-by-regex if-matched :missing 'x'", {"a": "x"}, True),
    ("filter-by-regex if-matched :a '.*(?i)harris.*'", {"a": "Owen HARRIS"}, False),
]


@pytest.mark.parametrize(("recipe", "row", "is_kept"), KEPT)
def test_rows_are_dropped(recipe, row, is_kept):
    assert run(recipe, row) == ([row] if is_kept else [])


ERRORS = [
    ("send-to-error exp:{a < 0}", "a < 0 (ecode: 1, directive: send-to-error)"),
    ("send-to-error a < 0", "a < 0 (ecode: 1, directive: send-to-error)"),
    (
        "send-to-error exp:{a < 0} 'Test Message';",
        "Test Message (ecode: 1, directive: send-to-error)",
    ),
    (
        "send-to-error exp:{a < 0} test 'Test Message';",
        "Test Message (ecode: 1, directive: send-to-error)",
    ),
    ("send-to-error exp:{a < 0} test;", "a < 0 (ecode: 1, directive: send-to-error)"),
    ("send-to-error-and-continue exp:{a < 0} 'junk'", "junk (ecode: 1)"),
    ("send-to-error-and-continue exp:{a < 0}", "a < 0 (ecode: 1)"),
]


@pytest.mark.parametrize(("recipe", "message"), ERRORS)
def test_rows_are_sent_to_the_error_port(recipe, message):
    made = run_failing(recipe, {"a": -10})

    assert (made.kind, made.code, made.message) == (SENT, 1, message)
    assert run(recipe, {"a": 0}, {"a": 10}) == [{"a": 0}, {"a": 10}]


def test_a_metric_counts_what_is_sent():
    counted: list[tuple[str, int]] = []

    class Metrics:
        def count(self, name: str, delta: int = 1) -> None:
            counted.append((name, delta))

    executor = RecipeExecutor(
        build_valid_directives("send-to-error exp:{a < 0} below"), {}, metrics=Metrics()
    )
    executor.start()
    executor.run({"a": -1})
    executor.run({"a": 1})

    assert counted == [("below", 1)]


def test_what_continues_is_counted_in_variables():
    recipe = """
        send-to-error-and-continue exp:{a == 'xx'} 'invalid value'
        send-to-error-and-continue exp:{b == 1} 'junk'
        set-column :total exp:{dq_total * 10 + dq_failure}
    """

    made = run_rows(recipe, [{"a": "xx", "b": 2}, {"a": "4", "b": 1}, {"a": "4", "b": 2}])

    assert [type(each).__name__ for each in made] == ["RowFailure", "RowFailure", "list"]
    assert made[2] == [{"a": "4", "b": 2, "total": 20}]


def test_missing_fields_are_null_in_conditions():
    recipe = "send-to-error field_calories_cnt < 0 && field_not_exist == 'test'"

    assert len(run(recipe, {"field_calories_cnt": 10}, {"field_calories_cnt": -10})) == 2


def test_fail_fails_the_row_it_is_true_for():
    made = run_failing("fail exp:{a < 0}", {"a": -1})

    assert made.kind == FAILURE
    assert "'a < 0' is true" in made.message
    assert run("fail exp:{a < 0}", {"a": 1}) == [{"a": 1}]


@pytest.mark.parametrize(
    "directive", ["filter-row exp:{a}", "fail exp:{a}", "send-to-error exp:{a}"]
)
@pytest.mark.parametrize("value", [None, 1, [True]])
def test_what_is_neither_true_nor_false_fails_the_row(directive, value):
    assert "neither true nor false" in run_failing(directive, {"a": value}).message


FAILING = [
    ("filter-by-regex if-matched :a 'x'", {"a": None}, "is null"),
    ("filter-by-regex if-matched :a 'x'", {"a": True}, "a bool"),
    ("set-column :a exp:{a + b}", {"a": 1}, ""),
]


@pytest.mark.parametrize(("recipe", "row", "message"), FAILING)
def test_a_row_fails(recipe, row, message):
    made = run_failing(recipe, row)

    assert made.kind == FAILURE
    assert message in made.message


def test_columns_are_set():
    assert run("set-column :b exp:{a + 1}", {"a": 1}) == [{"a": 1, "b": 2}]
    assert run("set-column :A exp:{a + 1}", {"a": 1}) == [{"a": 2}]
    assert run("set-column b concat(a, 'x')", {"a": "y"}) == [{"a": "y", "b": "yx"}]
    assert run("set column b a", {"a": None}) == [{"a": None, "b": None}]


def test_variables_last_for_one_record():
    recipe = """
        set-variable test fwd == 0 ? A : test
        set-column :B exp:{test}
    """

    made = run(recipe, {"fwd": 0, "A": 2}, {"fwd": 1, "A": 2})

    assert [row["B"] for row in made] == [2, None]


def test_variables_are_incremented():
    recipe = """
        split-to-rows :a ','
        increment-variable count 2 exp:{a == 'x'}
        set-column :n exp:{count}
    """

    made = run(recipe, {"a": "x,y,x"})

    assert [row["n"] for row in made] == [4, 4, 4]


@pytest.mark.parametrize(
    "recipe", ["filter-row exp:{a >}", "send-to-error exp:{(a}", "filter-by-regex sometimes :a 'x'"]
)
def test_wrong_arguments_are_reported_with_the_recipe(recipe):
    assert list_problems(recipe)
