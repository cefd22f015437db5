"""Rules that are checked on the rows of a workspace."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.api import Schema
from localcdap.expectations.rules import read_rules
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.workspaces.workspace import (
    SampleSource,
    open_workspace,
    view_workspace,
)
from localcdap.workspace_views import RuleCheck, ViewRequest

SCHEMA = Schema.record("r", [("city", Schema.STRING.as_nullable), ("n", Schema.LONG.as_nullable)])
RECORDS = [
    {"city": "Rome", "n": 3},
    {"city": "Oslo", "n": None},
    {"city": None, "n": 1},
    {"city": "Rome", "n": 10},
]


def check(recipe: str, *rules: dict[str, object]) -> list[RuleCheck]:
    loaded = load_recipe(recipe)
    open_workspace("w", SampleSource(schema=SCHEMA, records=RECORDS), loaded)
    found, problems = read_rules(list(rules))
    assert not problems
    request = ViewRequest(rules=found)
    first = view_workspace("w", loaded, request).checks
    assert view_workspace("w", loaded, msgspec.structs.replace(request, limit=1)).checks == first
    return first


@pytest.mark.parametrize(
    ("recipe", "rule", "violations", "checked"),
    [
        ("", {"rule": "not-null", "column": "city"}, 1, 4),
        ("", {"rule": "unique", "columns": ["city"]}, 1, 4),
        ("", {"rule": "range", "column": "n", "min": 2}, 1, 4),
        ("", {"rule": "regex", "column": "city", "pattern": "R.*"}, 1, 4),
        ("uppercase :city", {"rule": "in-set", "column": "city", "values": ["ROME"]}, 1, 4),
        ("", {"rule": "row", "condition": "n > 2"}, 2, 4),
        ("set-column :m exp:{n * 2}", {"rule": "range", "column": "m", "max": 6}, 1, 3),
        ("filter-row exp:{city == null} true", {"rule": "not-null", "column": "city"}, 0, 3),
    ],
)
def test_violations_are_those_of_the_rows_after_the_recipe(
    recipe, rule, violations, checked
) -> None:
    (found,) = check(recipe, rule)
    assert found == RuleCheck(violations, checked)


def test_a_rule_that_cannot_be_checked_says_why() -> None:
    found = check(
        "drop :n",
        {"rule": "not-null", "column": "n"},
        {"rule": "row-count", "min": 3},
        {"rule": "reference", "column": "city", "table": "t", "key": "k"},
        {"rule": "row", "condition": "nn > 2"},
        {"rule": "not-null", "column": "city"},
    )
    assert "There is no column 'n'" in found[0].problem
    assert [each.problem for each in found[1:3]] == [
        "a run counts the rows",
        "a run reads the table",
    ]
    assert "nn" in found[3].problem
    assert found[4] == RuleCheck(1, 4)
