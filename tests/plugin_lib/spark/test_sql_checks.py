"""The SQL precondition is checked before a run, by the rules of Spark."""

from __future__ import annotations

import pytest

from localcdap.api import Schema
from localcdap.plugin_lib.spark.sql_checks import FUNCTIONS, SqlProblem, find_sql_problems

PLACE = Schema.record("place", [("city", Schema.STRING), ("zip", Schema.INT)])
GIVEN = Schema.record(
    "given",
    [
        ("age", Schema.INT),
        ("name", Schema.STRING),
        ("odd name", Schema.STRING),
        ("day", Schema.DATE),
        ("flag", Schema.BOOLEAN),
        ("place", PLACE.as_nullable),
        ("list", Schema.array(Schema.INT)),
        ("map", Schema.map(Schema.STRING, Schema.STRING)),
    ],
)

VALID = [
    "age > 30 AND upper(name) LIKE 'A%' OR `odd name` IS NOT NULL",
    "exists(list, x -> x > age) AND aggregate(list, 0, (sum, x) -> sum + x) > 1",
    "current_date > day AND current_timestamp() > day AND user = name AND current_time IS NULL",
    "place.zip > 1 AND map.key = 'x' AND map['key'] = 'x' AND list[0] = 1",
    "timestampadd(MONTH, 1, day) > dateadd(DAY, 1, day) AND extract(YEAR FROM day) = 2020",
    "bround(age) = 1 AND trim(BOTH 'x' FROM name) = 'a' AND CAST(age AS decimal(10, 2)) = 1",
    "CASE WHEN flag THEN age ELSE 0 END IN (1, 2) AND NOT flag AND name RLIKE '^a' AND age <=> 1",
    "try_cast(name AS int) = 1 AND timestampdiff(HOUR, day, day) = 1 AND identifier('age') = 1",
    "interval 1 day + day > date '2020-01-01' AND named_struct('a', age).a = 1 AND !flag",
]


@pytest.mark.spark
def test_a_valid_condition_has_no_problem(spark):
    """Spark takes each of the conditions, so that a problem would be a false alarm."""
    from localcdap.engine.plan.spark_types import spark_schema

    empty = spark.createDataFrame([], spark_schema(GIVEN, nullable=True))
    for text in VALID:
        assert empty.where(text).schema == empty.schema
        assert find_sql_problems(text, GIVEN) == [], text
    listed = {row[0] for row in spark.sql("SHOW FUNCTIONS").collect()}
    own = {name for name in listed if name.startswith("localcdap_")}  # not for conditions
    assert {name for name in listed - own if name.isidentifier()} == FUNCTIONS


@pytest.mark.parametrize(
    ("text", "message", "action"),
    [
        ("agee > 30", "There is no column 'agee'.", "Did you mean 'age'?"),
        ("`odd nam` = 'x'", "There is no column 'odd nam'.", "Did you mean 'odd name'?"),
        ("exists(list, x -> x > agee)", "There is no column 'agee'.", "Did you mean 'age'?"),
        ("place.zipp = 1", "The record 'place' has no field 'zipp'.", "Did you mean 'zip'?"),
        ("uper(name) = 'A'", "Spark has no function 'uper'.", "Did you mean 'upper'?"),
        (
            "kwyjibo(age) = 1",
            "Spark has no function 'kwyjibo'.",
            "Use a function of Spark SQL.",
        ),
    ],
)
def test_names_that_spark_does_not_know_are_failures(text, message, action):
    assert find_sql_problems(f"{text} AND {text}", GIVEN) == [SqlProblem(message, action)]


def test_columns_are_not_checked_where_they_are_unknown():
    assert find_sql_problems("agee > 30", None) == []
    assert find_sql_problems("age IN (SELECT other FROM elsewhere)", GIVEN) == []


def test_a_condition_that_cannot_be_parsed_is_a_warning():
    (found,) = find_sql_problems("age > ", GIVEN)

    assert found.is_warning
    assert found.message.startswith("The condition seems not to be valid SQL, line 1, col 5:")
