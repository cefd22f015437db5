"""The steps of a workspace give the rows of a run, whatever the directives and the values are."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest

from localcdap.api.directive.rows import Columns
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from localcdap.plugin_lib.wrangler.workspaces.steps import run_step
from localcdap.plugin_lib.wrangler.workspaces.tables import MISSING, ColumnTable
from tests.plugin_lib.wrangler.recipe.test_lineage import MORE, VALUES

EXAMPLES = [
    example
    for name in load_shipped_directives().names
    for example in load_shipped_directives()[name].examples
]
LONGER = [
    *MORE,
    "split-to-rows :a ','; increment-variable v 1 exp:{true}; set-column :n exp:{v}",
    "parse-as-csv :a ',' true; rename :b :z; drop :c",
    "parse-as-json :a 1; columns-replace s/^a_/x_/; uppercase :b; copy :b :x_b true",
    "split-to-rows :a ','; fail exp:{a == 'y'}; lowercase :b",
    "swap :a :b; rename :a :q; set-column :a exp:{q}; keep :a,:c",
    "set-headers :c,:d; uppercase :c",
    "split-to-columns :a ','; merge :a_1 :a_2 :m '-'; filter-row exp:{m == null} true",
]
RANDOM = ("uuid", "random", "now", "shuffle", "current-datetime", "parse-as-date", "geo-fence")
POSITIONAL = ("set-headers", "write-as-csv", "write-as-json-map")
"""What these make depends on the order of columns, which is one for all rows of a table."""


def run_rows(directives: Sequence[Any], rows: Sequence[dict[str, Any]]) -> tuple[Any, Any]:
    """What the executor of a run makes of rows: rows, and the messages of those that fail."""
    executor = RecipeExecutor(directives, {})
    executor.start()
    made: list[Any] = []
    failures = {}
    for index, row in enumerate(rows):
        answer = executor.run(row)
        if isinstance(answer, RowFailure):
            failures[index] = (executor.position, answer)
        else:
            made += [(index, dict(each)) for each in answer]
    return made, failures


def run_steps(directives: Sequence[Any], rows: Sequence[dict[str, Any]]) -> tuple[Any, Any]:
    """The same by steps."""
    table, failures = ColumnTable.from_rows(rows), {}
    for number, directive in enumerate(directives, 1):
        result = run_step(directive, table)
        table = result.table
        for each in result.failures:
            failures[each.record] = (number, each.failure)
    made = [
        {k: c.values[n] for k, c in table.columns.items() if c.values[n] is not MISSING}
        for n in range(len(table))
    ]
    return list(zip(table.origins, made, strict=True)), failures


@pytest.mark.parametrize("recipe", [*EXAMPLES, *LONGER])
@pytest.mark.parametrize("has_gaps", [False, True])
def test_steps_make_the_rows_of_a_run(recipe: str, has_gaps: bool) -> None:
    loaded = load_recipe(recipe)
    if loaded.errors:
        pytest.skip("the recipe needs files that are not here")
    if any(word in recipe for word in RANDOM):
        pytest.skip("what it makes is random, or of the time")
    if has_gaps and any(word in recipe for word in POSITIONAL):
        pytest.skip("it depends on the order of columns")
    chance = random.Random(recipe)
    names = list(dict.fromkeys(re.findall(r"[:{ (](\w+)", recipe)))[-6:]
    names += [each for each in ("a", "other") if each not in names]
    for _ in range(12):
        rows = []
        for _ in range(5):
            row = {name: chance.choice(VALUES) for name in names}
            if has_gaps:
                row.pop(chance.choice(names))
            rows.append(row)
        columns = Columns(((name, None) for name in names), open=has_gaps)
        directives = propagate(loaded.steps, columns).directives
        expected, failures = run_rows(directives, rows)
        found, steps_failures = run_steps(directives, rows)
        assert steps_failures == failures, (recipe, rows)
        assert repr([(i, sorted(r.items())) for i, r in found]) == repr(
            [(i, sorted(r.items())) for i, r in expected]
        ), (recipe, rows)
        if not has_gaps and len(expected) == 5:
            assert [list(r) for _, r in found] == [list(r) for _, r in expected], (recipe, rows)
