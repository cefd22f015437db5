"""Conditions of BigQuery on the rows that a source reads."""

from __future__ import annotations

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
