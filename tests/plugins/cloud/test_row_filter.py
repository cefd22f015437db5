"""Conditions of BigQuery on the rows that a source reads."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from tests.plugins.cloud.test_bigquery_execute import module

COLUMNS = ["id", "day", "name"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("WHERE NAME = 'where' AND day > ID", "`name` = 'where' AND `day` > `id`"),
        ("t.Name = 'a'", "`name` = 'a'"),
        ("other.Name = 'a'", "other.Name = 'a'"),
        ("id > NUMERIC '1.5'", "`id` > CAST('1.5' AS DECIMAL(38, 9))"),
        ("CAST(id AS INT64) = 3", "CAST(ROUND(CAST(`id` AS DECIMAL(38, 18))) AS BIGINT) = 3"),
        ("EXTRACT(ISOWEEK FROM day) = 7", "EXTRACT(WEEK FROM `day`) = 7"),
        ("EXTRACT(DATE FROM ts) = day", "CAST(ts AS DATE) = `day`"),
    ],
)
def test_conditions_become_those_of_spark(text, shown):
    assert module("conditions").to_spark_condition(text, "t", COLUMNS) == shown


@pytest.mark.spark
def test_a_comparison_with_nan_is_false(spark):
    nan = float("nan")
    rows = spark.createDataFrame(
        [(1, nan, 2.0), (2, nan, nan), (3, 1.0, nan), (4, 1.0, 1.0), (5, nan, None)],
        "id INT, f DOUBLE, g DOUBLE",
    )

    def select(text: str) -> list[int]:
        condition = module("conditions").to_spark_condition(
            text, "t", rows.columns, fractions=["f", "g"]
        )
        return [row.id for row in rows.where(condition).sort("id").collect()]

    assert select("f > 0.5") == [3, 4]
    assert select("F >= g") == [4]
    assert select("f = g") == [4]
    assert select("f != g") == [1, 2, 3]
    assert select("0.5 < t.f AND id < 4") == [3]
    assert select("f <= g") == [4]
    assert select("NOT f > g") == [1, 2, 3, 4]
    assert select("NOT f = g") == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("DELETE FROM x", "'DELETE FROM x' is a statement, not a condition."),
        ("id IN (SELECT id FROM d.u)", "cannot read another table: 'u' (line 1, column 23)."),
        ("EXTRACT(WEEK FROM day) = 1", "'EXTRACT(WEEK FROM day)' is not translated (line 1"),
        ("TIME(ts) > TIME '10:00:00'", "is not translated"),
        ("_PARTITIONTIME IS NULL", "There is no '_PARTITIONTIME' here"),
        ("WHERE _PARTITIONDATE IS NULL", "ingestion times are not stored (line 1, column 7)."),
    ],
)
def test_what_spark_would_misunderstand_is_refused(text, reported):
    with pytest.raises(module("sql").SqlError, match=".") as raised:
        module("conditions").to_spark_condition(text)
    assert reported in raised.value.message


def list_filter_values() -> list[tuple[str, str]]:
    """Expressions of functions that a filter may have, with their values in GoogleSQL."""
    known = module("conditions").FILTER_FUNCTIONS - {"STRUCT"}
    lines = Path(__file__).with_name("googlesql_values.jsonl").read_text().splitlines()
    found = []
    for expression, value in map(json.loads, lines):
        names = set(re.findall(r"\b([A-Z_0-9]+)\(", expression))
        is_plain = names & known and names <= known | {"CAST"} and "SELECT" not in expression
        if is_plain and not value.startswith(("[", "STRUCT", "(", "!")):
            found.append((expression, value))
    return found


@pytest.mark.spark
def test_functions_of_a_filter_have_the_values_of_googlesql(spark):
    holding = {}
    for expression, value in list_filter_values():
        text = f"({expression}) = {value}"
        if value in ("NULL", 'CAST("nan" AS FLOAT64)'):
            text = f"({expression}) IS NULL" if value == "NULL" else f"IS_NAN({expression})"
        with contextlib.suppress(ValueError):  # refused by name
            holding[text] = module("conditions").to_spark_condition(text)
    assert len(holding) > 150

    (found,) = spark.range(1).selectExpr(*holding.values()).collect()

    wrong = [text for text, holds in zip(holding, found, strict=True) if holds is not True]
    # NaN is equal to nothing in BigQuery: the comparison of a column knows that, not that of a literal.
    assert [text for text in wrong if "NULLIF(CAST('nan'" not in text] == []
