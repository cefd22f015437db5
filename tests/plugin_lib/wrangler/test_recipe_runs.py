"""The way tests compare native and batch answers works itself."""

from __future__ import annotations

import pytest

from localcdap.api.schema import Schema
from tests.plugin_lib.wrangler.recipe_runs import run_in_python, run_in_spark

TEXT = Schema.STRING.as_nullable
GIVEN = Schema.record("given", [("a", TEXT), ("b c", Schema.INT.as_nullable)])
RECORDS = [{"a": "x", "b c": 1}, {"a": None, "b c": None}, {"a": "Ä", "b c": 3}]
RECIPES = ["uppercase :a", "rename :a :z", "drop a", "copy :a :d"]


@pytest.mark.spark
def test_native_recipes_give_what_python_gives(spark):
    found = run_in_spark(spark, RECIPES, GIVEN, RECORDS)

    for recipe, rows in zip(RECIPES, found, strict=True):
        assert rows == run_in_python(recipe, RECORDS), recipe
