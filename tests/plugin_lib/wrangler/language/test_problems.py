"""What is wrong with a recipe: everything at once, each with its place, the usage, the nearest name."""

from __future__ import annotations

import pytest

from localcdap.plugin_lib.wrangler.language import DirectiveRules
from tests.plugin_lib.wrangler.language.support import read

WRONG = [
    ("renam :a :b", (1, 1), "there is no directive 'renam'", "rename"),
    (
        "filter-row-if-tru a",
        (1, 1),
        "there is no directive 'filter-row-if-tru'",
        "filter-row-if-true",
    ),
    (
        "filter-rows-on condition-met a > 1",
        (1, 1),
        "what follows 'filter-rows-on' is not known; there are filter-rows-on condition-true, ",
        None,
    ),
    ("set format csv ,", (1, 1), "there are set columns, set column", None),
    ("rename :a", (1, 1), "'target' is missing", None),
    ("rename", (1, 1), "'source', 'target' are missing", None),
    ("rename :a 'b'", (1, 11), "'target' must be a column, not a text", None),
    ("set-column :a", (1, 1), "'expression' is missing", None),
    ("set-column :a exp:{b", (1, 19), "what is opened here is never closed", None),
    (
        "uppercase :a; rename :a 3,4",
        (1, 25),
        "'target' must be a column, not a list of numbers",
        None,
    ),
    ("drop :a,'b'", (1, 6), "the members of a list must be of one kind", None),
    (
        "filter-by-regex sometimes :a 'x'",
        (1, 1),
        "'match-type' must be one of if-matched, if-not-matched, not 'sometimes'",
        None,
    ),
    ("/* no end", (1, 1), "what is opened here is never closed", None),
    ("if (a > 1) { uppercase :a; } else { drop :a; }", (1, 1), "an 'if' block cannot be run", None),
    (
        "#pragma load-directives mine\nuppercase :a",
        (1, 1),
        "a pragma must end with a semicolon",
        None,
    ),
    ("uppercase :a\n#pragma version 2.0", (2, 1), "a pragma must end with a semicolon", None),
    ("increment-variable n much a", (1, 22), "'much' is not a value of 'value'", None),
    ("set-headers ,a,b", (1, 13), "a comma without a name before it", None),
    ("set columns a,b, ,d", (1, 13), "a comma without a name before it", None),
]


@pytest.mark.parametrize(
    ("text", "place", "message", "nearest"), WRONG, ids=[each[0] for each in WRONG]
)
def test_a_mistake_is_reported_with_its_place(text, place, message, nearest):
    (problem,) = read(text).problems

    assert message in problem.message
    assert (problem.line, problem.column) == place
    assert problem.nearest == nearest


def test_the_usage_is_reported_with_a_mistake_in_arguments():
    (problem,) = read("rename :a").problems

    assert problem.usage == "rename :source :target"
    assert problem.text == ("line 1, column 1: 'target' is missing Usage: rename :source :target.")


def test_one_mistake_hides_no_other():
    text = "renam :a :b; uppercase :c; drop\n${macro}\nset-column :a exp:{x\nrename a\nuppercase :d"
    recipe = read(text)

    assert [problem.line for problem in recipe.problems] == [1, 1, 3, 4]
    assert [call.arguments["column"] for call in recipe.calls] == ["c", "d"]


def test_arguments_that_fit_nowhere_are_passed_over_with_a_warning():
    recipe = read("uppercase name loudly\nparse-as-csv :body ',' 'true'")

    assert recipe.errors == []
    assert [(each.line, each.column) for each in recipe.problems] == [(1, 16), (2, 24)]
    assert len(recipe.calls) == 2


def test_a_namespace_may_exclude_directives_and_give_them_further_names():
    rules = DirectiveRules(
        exclusions=["drop", "cry"],
        aliases={"loud": "uppercase", "cry": "uppercase", "gone": "drop"},
    )
    recipe = read("loud :a\ndrop :a\ngone :b\nshout :a\ncry :a\ncry a", rules=rules)

    assert [call.name for call in recipe.calls] == ["uppercase"]
    assert [each.message for each in recipe.problems] == [
        "directive 'drop' must not be used in this namespace",
        "directive 'drop' must not be used in this namespace",
        "there is no directive 'shout'",
        *["directive 'cry' must not be used in this namespace"] * 2,
    ]
