"""Recipes that look into tables: what is reported before a run."""

from __future__ import annotations

import pytest
from wrangler_transform.wrangler import Wrangler

from localcdap.api import Schema
from localcdap.testing import StageTester, TableData

TEXT = Schema.STRING.as_nullable
GIVEN = Schema.record("r", [("id", Schema.STRING)])
CITIES = TableData(
    Schema.record("c", [("id", Schema.STRING), ("name", TEXT), ("size", Schema.LONG)]), [], "id"
)
KEYLESS = TableData(CITIES.schema, [])
WITH = Schema.record("w", [("id", Schema.STRING), ("id_name", TEXT), ("id_size", TEXT)])


def tried(recipe: str, schema: Schema | None = None, **tables: TableData) -> StageTester:
    properties = {"directives": recipe} | ({"schema": str(schema)} if schema else {})
    return StageTester(Wrangler, properties, GIVEN, tables=tables)


def test_the_schema_is_that_of_the_table_once_it_is_looked_at():
    recipe = "table-lookup :id 'cities'"
    stage = tried(recipe, cities=CITIES)
    assert (stage.problems, stage.output_schema.fields) == ([], WITH.fields)

    before = StageTester(Wrangler, {"directives": recipe}, GIVEN)
    assert (before.problems, before.output_schema) == ([], None)


def test_a_declared_schema_is_compared_with_the_table():
    lacking = Schema.record("w", [("id", Schema.STRING), ("id_nme", Schema.STRING)])
    (reported,) = tried("table-lookup :id 'cities'", lacking, cities=CITIES).problems
    assert reported.startswith("schema: ")
    assert "id_nme" in reported
    assert tried("table-lookup :id 'cities'", WITH, cities=CITIES).problems == []


@pytest.mark.parametrize(
    ("table", "reported"),
    [
        ("gone", "line 1, column 16: table-lookup: there is no table 'gone'"),
        ("bare", "table 'bare' has no key"),
    ],
)
def test_tables_that_cannot_be_looked_into_are_named(table, reported):
    (problem,) = tried(f"uppercase :id; table-lookup :id '{table}'", WITH, bare=KEYLESS).problems
    assert problem.startswith("directives: ")
    assert reported in problem


def test_a_macro_is_reported_as_a_warning():
    stage = tried("table-lookup :id '${t}'", WITH)
    assert stage.problems == []
    assert "known when the macro has a value" in stage.warnings[0].message
