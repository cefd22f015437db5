"""Recipes run on rows in this process, as batches of Spark run them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from localcdap.api.directive import Directive
from localcdap.api.directive.rows import Row
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import build_directives, load_recipe


def build_valid_directives(recipe: str) -> list[Directive]:
    """The directives of a recipe in which nothing is wrong."""
    built = load_recipe(recipe)
    assert not built.errors, [problem.message for problem in built.errors]
    return build_directives(built.recipe.calls, [], lambda *_: None)


def list_problems(recipe: str) -> list[str]:
    """What is wrong with a recipe."""
    return [problem.message for problem in load_recipe(recipe).errors]


def run_rows(recipe: str, rows: Iterable[Mapping[str, Any]]) -> list[list[Row] | RowFailure]:
    """For each row what it becomes."""
    executor = RecipeExecutor(build_valid_directives(recipe), {})
    executor.start()
    made = [executor.run(row) for row in rows]
    executor.end()
    return made


def run(recipe: str, *rows: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows that rows become, none of which fails."""
    found: list[dict[str, Any]] = []
    for made in run_rows(recipe, rows):
        assert not isinstance(made, RowFailure), made.message
        found += [dict(row) for row in made]
    return found


def run_failing(recipe: str, row: Mapping[str, Any]) -> RowFailure:
    """The failure of a row that fails."""
    (made,) = run_rows(recipe, [row])
    assert isinstance(made, RowFailure), made
    return made
