"""Recipes as SQL and PySpark: the programs run, and give what the recipes give."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.arrow import RecordCodec
from localcdap.api.directive import DirectiveError
from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.files.delimited import UnreadableRow
from localcdap.files.formats import FileFormat, FileInput
from localcdap.files.rows import RowReader
from localcdap.plugin_lib.wrangler.recipe.batch import RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter
from localcdap.plugin_lib.wrangler.recipe.propagation import (
    propagate,
    propose_schema,
    to_columns,
)
from localcdap.plugin_lib.wrangler.scripts.export import Language, write_program
from tests.plugin_lib.wrangler.directives.test_native import (
    GIVEN,
    RECIPES,
    _in_single_precision,
    _records,
)
from tests.plugin_lib.wrangler.recipe_runs import NUMBER, run_in_python

NUMBERED = Schema.record(
    "given", [*((f.name, f.schema) for f in GIVEN), (NUMBER, Schema.INT.as_nullable)]
)
CLEANING = (
    "trim :other\nset-type :number double\nset-column :long exp:{ int + 1 }\n"
    'find-and-replace :Name s/a/it\'s \\\\ "quoted"/g\nfilter-row exp:{ flag == true } false\n'
    "send-to-error exp:{ int == 101 }\nhash :mail 'MD5'\ncopy :Name :kopie\ndrop :pair,:day"
)


def find_result(recipe: str, schema: Schema) -> Schema | None:
    return propose_schema(propagate(load_recipe(recipe).steps, to_columns(schema)).after)


def run_recipe(recipe: str, records: list[dict[str, Any]], schema: Schema) -> list[dict[str, Any]]:
    """The records of the result; rows that fail are left out."""
    result = find_result(recipe, schema)
    assert result is not None
    convert = OutputConverter(result).convert
    made = []
    for rows in run_in_python(recipe, records):
        if isinstance(rows, RowFailure):
            continue
        try:
            made += [convert(row) for row in rows]
        except DirectiveError:
            continue
    return made


def run_sql(spark: Any, recipe: str) -> list[dict[str, Any]]:
    result = find_result(recipe, NUMBERED)
    assert result is not None
    text = write_program(load_recipe(recipe), NUMBERED, Language.SQL, skips_failures=True)
    codec = RecordCodec(Schema.record("r", [(f.name, f.schema.as_nullable) for f in result]))
    table = spark.sql(text).toArrow().cast(codec.arrow)
    return [row for batch in table.to_batches() for row in codec.decode(batch)]


@pytest.fixture
def records(spark: Any) -> list[dict[str, Any]]:
    """Records, which are the rows of the view ``input``."""
    import pyarrow as pa

    from localcdap.engine.plan.spark_types import spark_schema

    made = [row | {NUMBER: number} for number, row in enumerate(_records(200))]
    table = pa.Table.from_batches([RecordCodec(NUMBERED).encode(made)])
    spark.createDataFrame(table, spark_schema(NUMBERED)).createOrReplaceTempView("input")
    return made


@pytest.mark.spark
def test_sql_gives_what_the_recipe_gives(spark: Any, records: list[dict[str, Any]]) -> None:
    found = run_sql(spark, CLEANING)
    assert len(found) > 20
    assert repr(found) == repr(run_recipe(CLEANING, records, NUMBERED))

    text = write_program(load_recipe(CLEANING), NUMBERED, Language.SQL)
    assert "--    3  set-column :long exp:{ int + 1 }" in text
    with pytest.raises(Exception, match="Error encountered while executing"):
        spark.sql(text).collect()


@pytest.mark.spark
@pytest.mark.slow
def test_sql_of_every_native_directive(spark: Any, records: list[dict[str, Any]]) -> None:
    refused: dict[str, str] = {}
    for recipe in RECIPES:
        if find_result(recipe, NUMBERED) is None:
            continue
        try:
            found = run_sql(spark, recipe)
        except BadRequestError as error:
            refused[recipe] = error.message
            continue
        expected = run_recipe(recipe, records, NUMBERED)
        if recipe.endswith(" float"):
            found, expected = _in_single_precision(found), _in_single_precision(expected)
        assert repr(found) == repr(expected), recipe  # NaN is not equal to itself
    assert len(refused) < 0.1 * len(RECIPES), refused
    assert all("no equal in Spark" in each for each in refused.values())


@pytest.mark.spark
def test_a_script_runs_on_a_file(tmp_path: Path, engine: Any) -> None:
    source, script, output = tmp_path / "in.csv", tmp_path / "s.py", tmp_path / "out"
    source.write_text(
        'Full Name;age;note\n" Ann ";31;"a ""b""\nc"\nBob;;""\n"Eve; x";7;ü\n', encoding="utf-8"
    )
    recipe = "trim :Full_Name\nset-type :age int\nfill-null-or-empty :note 'it\\'s \"none\"'\n"
    format = FileFormat("csv", ";", True, "utf-8-sig")
    reader = RowReader(FileInput(str(source)), format)
    assert reader.schema is not None
    rows = [row for row in reader if not isinstance(row, UnreadableRow)]
    script.write_text(
        write_program(load_recipe(recipe), reader.schema, Language.PYSPARK, format=format)
    )

    ran = subprocess.run(  # noqa: S603
        [sys.executable, str(script), str(source), str(output)],
        env={
            **os.environ,
            "SPARK_REMOTE": engine.url,
            "SPARK_CONNECT_AUTHENTICATE_TOKEN": engine.token,
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    made = [
        row
        for part in sorted(output.glob("part-*"))
        for row in RowReader(FileInput(str(part)), FileFormat("csv"))
        if isinstance(row, dict)
    ]
    expected = run_recipe(recipe, rows, reader.schema)
    assert [row["Full_Name"] for row in made] == ["Ann", "Bob", "Eve; x"]
    assert [row | {"age": row["age"] and int(row["age"])} for row in made] == expected


@pytest.mark.parametrize(
    ("recipe", "lines"),
    [
        ("trim :Name\ntitlecase :Name", ["line 2: 'titlecase :Name' has no equal in Spark"]),
        ("trim :Name\nsplit-to-columns :Name ','", ["line 2: only the data tell the columns"]),
        (
            "stemming :Name\ntrim :Name\n\nmask-shuffle :int",
            [
                "line 1: 'stemming :Name' has no equal in Spark: there is no Spark form of it.",
                "line 2: 'trim :Name' has no equal in Spark",
                "line 4: 'mask-shuffle :int' has no equal in Spark",
            ],
        ),
    ],
)
def test_what_is_not_native_says_so(recipe: str, lines: list[str]) -> None:
    with pytest.raises(BadRequestError) as raised:
        write_program(load_recipe(recipe), GIVEN, Language.SQL)
    for line in lines:
        assert line in raised.value.message
