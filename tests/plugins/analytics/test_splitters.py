"""Which records become test data."""

from __future__ import annotations

import pytest

from tests.plugins.analytics.test_experiments import load

pytestmark = pytest.mark.spark
SPLITTERS = load("splitters")


def divide(spark, rows, type, **given):
    """Return the ids of training and test data; each record is in one of them."""
    data = spark.createDataFrame(rows, "id int, kind string, at timestamp")
    parts = SPLITTERS.split(type, given, data, "kind")
    train, test = ({row["id"] for row in part.collect()} for part in parts)
    assert train | test == {row[0] for row in rows}
    assert not train & test
    return train, test


def test_stratified_parts_have_the_shares_of_the_classes(spark):
    kinds = ["a"] * 60 + ["b"] * 30 + ["c"] * 8 + [None] * 2
    rows = [(number, kind, None) for number, kind in enumerate(kinds)]

    _, test = divide(spark, rows, "stratified", testPercentage="25", seed="3")

    counted = [sum(rows[number][1] == kind for number in test) for kind in ("a", "b", "c")]
    assert counted == [15, 8, 2]
    assert divide(spark, rows, "stratified", testPercentage="25", seed="3")[1] == test


def test_the_newest_records_are_test_data(spark):
    import datetime

    begin = datetime.datetime(2026, 1, 1)
    moments = [begin + datetime.timedelta(hours=number) for number in range(20)]
    rows = [(number, "a", moment) for number, moment in enumerate(moments)]
    rows += [(20, "a", None), (21, "b", None)]

    train, test = divide(spark, rows, "time", testPercentage="20", column="at")

    assert test == {16, 17, 18, 19}
    assert {20, 21} <= train  # a record without a time is not new


def test_records_of_a_key_stay_together_also_when_others_come(spark):
    rows = [(number, f"key {number % 40}", None) for number in range(400)]

    _, test = divide(spark, rows, "key", testPercentage="30", column="kind")
    _, later = divide(
        spark,
        [*rows, *((number, f"new {number}", None) for number in range(400, 500))],
        "key",
        testPercentage="30",
        column="kind",
    )

    keys = {number % 40 for number in test}
    assert test == {number for number in range(400) if number % 40 in keys}
    assert 0 < len(keys) < 40
    assert {number for number in later if number < 400} == test


def test_a_random_part_follows_its_seed(spark):
    rows = [(number, "a", None) for number in range(200)]
    data = spark.createDataFrame(rows, "id int, kind string, at timestamp").coalesce(1)

    def draw(seed: str) -> set[int]:
        _, test = SPLITTERS.split("random", {"testPercentage": "50", "seed": seed}, data, "kind")
        return {row["id"] for row in test.collect()}

    assert draw("1") == draw("1") != draw("2")


@pytest.mark.parametrize("type", ["time", "key"])
def test_a_splitter_by_a_column_needs_one(type):
    with pytest.raises(ValueError, match=f"Splitter '{type}' needs the parameter 'column'."):
        SPLITTERS.check_parameters(SPLITTERS.find_splitter(type), {})
