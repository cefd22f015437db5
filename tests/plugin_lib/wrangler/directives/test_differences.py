"""Where directives differ from CDAP's on purpose, as docs/wrangler.md lists it."""

from __future__ import annotations

from localcdap.plugin_lib.jexl import parse
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor
from localcdap.plugin_lib.wrangler.recipe.builder import load_precondition
from tests.plugin_lib.wrangler.directives.recipes import run, run_failing


def test_the_header_of_csv_is_the_only_row_that_is_dropped():
    rows = run(
        "split-to-rows :body '\\n'; parse-as-csv :body ',' true", {"body": "id,name\n1,ann\n2,bob"}
    )

    assert rows == [
        {"body": "1,ann", "id": "1", "name": "ann"},
        {"body": "2,bob", "id": "2", "name": "bob"},
    ]


def test_find_and_replace_on_two_columns_keeps_one_row():
    assert run("find-and-replace :a,:b s/x/y/g", {"a": "x", "b": "xx"}) == [{"a": "y", "b": "yy"}]


def test_an_expression_of_find_and_replace_that_fails_fails_the_row():
    failure = run_failing("find-and-replace :a s/x/$2/g", {"a": "x"})
    assert "names a group that is not there" in failure.message


def test_the_negative_of_the_lowest_whole_number_is_positive():
    assert parse("-n").compile()({"n": -(2**31)}) == 2**31
    assert parse("-n").compile()({"n": -(2**63)}) == 2**63


def test_a_precondition_has_functions_and_ignores_case():
    steps = load_precondition("string:upperCase(NAME) == 'ANN'").steps
    executor = RecipeExecutor([step.directive for step in steps if step.directive], {})
    executor.start()

    assert executor.run({"name": "ann"}) == []
    assert executor.run({"name": "bob"}) == [{"name": "bob"}]
