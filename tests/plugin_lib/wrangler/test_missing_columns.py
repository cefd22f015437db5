"""What is said of missing columns before a run is what becomes of rows without them."""

from __future__ import annotations

import pytest

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives

EXAMPLES = [
    pytest.param(example, id=example)
    for name in load_shipped_directives().names
    for example in load_shipped_directives()[name].examples
]
WITHOUT = {"unrelated__": "1"}


def test_every_directive_has_an_example_and_a_category():
    for name in load_shipped_directives().names:
        cls = load_shipped_directives()[name]
        assert cls.examples, name
        assert cls.categories, name


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_recipe_is_refused_only_where_its_rows_would_fail(example):
    steps = load_recipe(example)
    if steps.errors:
        pytest.skip("refused whatever the columns are")
    columns = Columns([(name, Schema.STRING.as_nullable) for name in WITHOUT])
    directives = [step.directive for step in steps.steps if step.directive is not None]
    for each in directives:
        each.propagate(columns)
    executor = RecipeExecutor(directives, {})
    executor.start()

    made = executor.run(WITHOUT)

    assert not columns.problems or isinstance(made, RowFailure)
