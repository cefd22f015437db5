"""Fields come from the tables that stages look rows up in, and from no other column of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from core_plugins.scripts.javascript import JavaScript
from core_plugins.scripts.python_evaluator import PythonEvaluator
from transform_plugins.value_mapper import ValueMapper
from wrangler_transform.wrangler import Wrangler

from localcdap.api import Plugin
from localcdap.testing import PipelineTester, StageTester, TableData, artifact_ref
from tests.conftest import REPOSITORY
from tests.plugins.test_lineage import make_schema, shorten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PEOPLE = make_schema(id="string", age="int")
CITIES = make_schema(id="string", name="string", country="string")
WORDS = make_schema(word="string", full="string")
TABLES = {
    "cities": TableData(CITIES, [{"id": "1", "name": "Berlin", "country": "de"}], "id"),
    "words": TableData(WORDS, [{"word": "1", "full": "one"}]),
}
RECIPE = {
    "field": "*",
    "directives": "table-lookup :id 'cities'; rename :id_name :city; uppercase :id_country; drop :id",
    "schema": str(make_schema(city=["string", "null"], id_country=["string", "null"], age="int")),
}
SCRIPTS = [
    (
        JavaScript,
        "function transform(i, e, c) { i.id = c.getLookup('cities').lookup(i.id).name; e.emit(i); }",
    ),
    (
        PythonEvaluator,
        """def transform(r, e, c):
    r['id'] = c.getLookup('cities').lookup(r['id'])['name']
    e.emit(r)""",
    ),
]


def trace(plugin: type[Plugin], properties: dict[str, str], **tables: TableData) -> dict[str, str]:
    return shorten(StageTester(plugin, properties, PEOPLE, tables=tables or None).trace())


def test_a_recipe_names_the_column_that_each_field_comes_from() -> None:
    assert trace(Wrangler, RECIPE, **TABLES) == {
        "city": "cities.id JOIN, id, cities.name",
        "id_country": "cities.country, cities.id JOIN, id",
        "age": "age IDENTITY",
    }
    unknown = trace(Wrangler, RECIPE)
    assert unknown == {"city": "id", "id_country": "id", "age": "age IDENTITY"}


def test_a_value_mapper_names_the_key_and_the_value() -> None:
    properties = {"mapping": "id:words:text"}
    expected = {"text": "id, words.full, words.word JOIN", "age": "age IDENTITY"}
    assert trace(ValueMapper, properties, **TABLES) == expected
    # Its table has these columns, if it has more than two.
    expected["text"] = "id, words.value, words.key JOIN"
    assert trace(ValueMapper, properties) == expected


@pytest.mark.parametrize(("plugin", "script"), SCRIPTS)
def test_a_script_may_use_each_column_for_each_field(plugin: type[Plugin], script: str) -> None:
    properties = {"script": script, "lookup": '{"tables": {"cities": {"type": "DATASET"}}}'}
    stage = StageTester(plugin, properties, PEOPLE, tables=TABLES)
    columns = "cities.name assumed, cities.country assumed, cities.id JOIN assumed"
    assert shorten(stage.trace())["age"] == f"input.id assumed, input.age assumed, {columns}"
    assert "cities.country FILTER assumed" in shorten(stage.trace())["*"]
    (made,) = stage.run([{"id": "1", "age": 7}]).records
    assert made == {"id": "Berlin", "age": 7}  # so it does depend on the table


@pytest.mark.spark
def test_a_column_changes_only_the_fields_that_come_from_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A branch for each plugin and each table of which one column has other values."""
    cases: list[tuple[type[Plugin], str, str, dict[str, str]]] = [
        (Wrangler, "wrangler", "cities", RECIPE),
        (ValueMapper, "transform-plugins", "words", {"mapping": "id:words:text"}),
    ]
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", PEOPLE, [{"id": "1", "age": 7}])
    for plugin, folder, name, properties in cases:
        reference = artifact_ref(REPOSITORY / "plugins_dir" / folder, "transform", plugin.__name__)
        table = TABLES[name]
        for column in ("", *table.schema.field_names):
            rows: list[dict[str, Any]] = [
                row | ({column: row[column] + "x"} if column else {}) for row in table.rows
            ]
            variant = f"{name}{column}"
            pipeline.table(variant, table.schema, rows, table.key)
            given = {key: text.replace(name, variant) for key, text in properties.items()}
            pipeline.stage(variant, reference, given, ["in"])
            pipeline.sink(f"out {variant}", variant)
    pipeline.run(counts=False)
    for plugin, _, name, properties in cases:
        (before,) = pipeline.read(f"out {name}")
        lineage = StageTester(plugin, properties, PEOPLE, tables=TABLES).trace()
        for column in TABLES[name].schema.field_names:
            (after,) = pipeline.read(f"out {name}{column}")
            changed = {field for field, value in after.items() if value != before[field]}
            named = {e.field for e in lineage.edges if (e.dataset, e.source) == (name, column)}
            assert changed == named


def test_the_schema_of_a_table_is_not_asked_for_without_need() -> None:
    lineage = StageTester(
        Wrangler, {"field": "*", "directives": "trim :id", "schema": str(PEOPLE)}, PEOPLE
    ).trace()
    assert lineage.tables == []
    assert StageTester(Wrangler, RECIPE, PEOPLE).trace().tables == ["cities"]
