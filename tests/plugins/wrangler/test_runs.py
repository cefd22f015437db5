"""Wrangler in Spark: native directives and batches, on-error modes, error records, what runs where."""

from __future__ import annotations

from typing import Any

import pytest

from localcdap.api import Schema
from localcdap.api.errors import InvalidPipelineError, StageError
from localcdap.testing import artifact_ref
from localcdap.testing.pipeline import PipelineTester
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.spark
TEXT = Schema.STRING.as_nullable
PEOPLE = Schema.record("people", [("name", TEXT), ("age", TEXT)])
GIVEN = [
    {"name": "ann", "age": "31"},
    {"name": "bob", "age": "old"},
    {"name": None, "age": None},
]
OUT = Schema.record("out", [("who", TEXT), ("age", Schema.INT.as_nullable)])


def wrangler():
    return artifact_ref(REPOSITORY / "plugins_dir" / "wrangler", "transform", "Wrangler")


class Ran:
    """A pipeline with one Wrangler stage after its run."""

    def __init__(
        self,
        spark: Any,
        folder: Any,
        properties: dict[str, str],
        schema: Schema = PEOPLE,
        records: Any = GIVEN,
        *,
        errors: bool = True,
    ) -> None:
        pipeline = PipelineTester(spark, folder)
        pipeline.source("in", schema, records)
        pipeline.stage("wrangle", wrangler(), {"field": "*", **properties}, ["in"])
        pipeline.sink("out", "wrangle")
        if errors:
            pipeline.collect_errors("errors", "wrangle")
        self.counts = pipeline.run()["wrangle"]
        self.records = pipeline.read("out")
        self.errors = pipeline.read("errors") if errors else []
        self.lines = pipeline.plan().explained["wrangle"]


def recipe(*lines: str, schema: Schema = OUT, **more: str) -> dict[str, str]:
    return {"directives": "\n".join(lines), "schema": str(schema), **more}


def test_a_native_recipe_sends_what_does_not_fit_the_schema_to_the_error_port(spark, tmp_path):
    ran = Ran(
        spark,
        tmp_path,
        recipe("rename name who", "uppercase :who", **{"on-error": "send-to-error-port"}),
    )

    assert ran.records == [{"who": "ANN", "age": 31}, {"who": None, "age": None}]
    (failed,) = ran.errors
    assert failed["record"] == {"name": "bob", "age": "old"}
    assert failed["code"] == 0
    assert failed["message"] == (
        "Problem converting into output record. Reason : Unable to convert 'old' to integer for "
        "field name 'age'"
    )
    assert failed["stage"] == "wrangle"
    assert (ran.counts.in_, ran.counts.out, ran.counts.error) == (3, 2, 1)
    assert ran.lines == ["native  rename name who", "native  uppercase :who"]


def test_a_failing_row_fails_the_run_by_default_and_names_the_stage(spark, tmp_path):
    with pytest.raises(
        StageError, match=r"'wrangle'.*Unable to convert 'old' to integer"
    ) as caught:
        Ran(spark, tmp_path, recipe("rename name who"), errors=False)

    assert caught.value.stage == "wrangle"


def test_failing_rows_can_be_skipped(spark, tmp_path):
    ran = Ran(
        spark, tmp_path, recipe("rename name who", **{"on-error": "skip-error"}), errors=False
    )

    assert [each["age"] for each in ran.records] == [31, None]
    assert (ran.counts.in_, ran.counts.out, ran.counts.error) == (3, 2, 0)


def test_directives_without_a_spark_form_run_in_one_pass_between_native_ones(spark, tmp_path):
    schema = Schema.record("out", [("who", TEXT), ("parts_1", TEXT), ("parts_2", TEXT)])
    ran = Ran(
        spark,
        tmp_path,
        recipe("rename name who", "copy who parts", "split-to-columns parts n", schema=schema),
        records=[{"name": "ann", "age": "1"}],
    )

    assert ran.records[0]["who"] == "ann"
    assert ran.lines[0].startswith("native")
    assert ran.lines[-1].startswith("batch")


def test_a_recipe_with_errors_fails_validation_with_each_of_them(spark, tmp_path):
    with pytest.raises(InvalidPipelineError) as caught:
        Ran(spark, tmp_path, recipe("renam :name :who", "uppercase"))

    text = str(caught.value)
    assert "line 1, column 1: there is no directive 'renam'" in text
    assert "line 2, column 1" in text
