"""WindowAggregation: each function on Spark, and failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from window_aggregator.window_aggregation import WindowAggregation

from localcdap.api import Schema
from localcdap.testing import PipelineTester, artifact_ref
from tests.conftest import REPOSITORY
from tests.plugins.transform.support import configure, messages, record

ARTIFACT = REPOSITORY / "plugins_dir" / "window-aggregator"
PEOPLE = record(
    "people",
    name=Schema.STRING,
    age=Schema.INT.as_nullable,
    location=Schema.STRING,
    paid=Schema.FLOAT,
)
ROWS = [
    *(("peter", 20, "US", 1.5), ("foo", 22, "US", 2.5), ("rajeev", 24, "US", 1.0)),
    *(("john", 28, "US", 4.0), ("alex", 30, "US", 3.0)),
    *(("ravi", 20, "INDIA", 8.0), ("kenny", 30, "INDIA", 7.0), ("anil", 30, "INDIA", 9.0)),
]
BY_AGE = {"partitionFields": "location", "partitionOrder": "age:Ascending,name:Descending"}
STAGES: dict[str, tuple[dict[str, str], list[tuple[str, list[Any]]]]] = {
    "ordered": (
        BY_AGE,
        [
            ("rank(,,true)", [1, 2, 3, 4, 5, 1, 2, 3]),
            ("Dense_Rank(,,true)", [1, 2, 3, 4, 5, 1, 2, 3]),
            ("row_number(,,true)", [1, 2, 3, 4, 5, 1, 2, 3]),
            ("percent_rank(,,true)", [0, 0.25, 0.5, 0.75, 1, 0, 0.5, 1]),
            ("n_tile(,2,true)", [1, 1, 1, 2, 2, 1, 1, 2]),
            ("cumulative_distribution(,,true)", [0.2, 0.4, 0.6, 0.8, 1, 1 / 3, 2 / 3, 1]),
            ("lead(age,1,false)", [22, 24, 28, 30, None, 30, 30, None]),
            ("lag(age,2,false)", [None, None, 20, 22, 24, None, None, 20]),
            ("first(age,,true)", [20, 20, 20, 20, 20, 20, 20, 20]),
            ("last(age,,true)", [20, 22, 24, 28, 30, 20, 30, 30]),
            ("median(age,,true)", [20, 21, 22, 23, 24, 20, 25, 30]),
            ("discrete_percentile(paid,0.5,true)", [1.5, 1.5, 1.5, 1.5, 2.5, 8, 7, 8]),
            ("accumulate(paid,,true)", [1.5, 4, 5, 9, 12, 8, 15, 24]),
        ],
    ),
    "whole": (
        {"partitionFields": "location"},
        [
            ("continuous_percentile(age,0.5,true)", [24] * 5 + [30] * 3),
            ("accumulate(age,,true)", [124] * 5 + [80] * 3),
        ],
    ),
    "frame": (
        BY_AGE | {"windowFrameType": "ROW", "preceding": "-1", "following": "1"},
        [
            ("accumulate(age,,true)", [42, 66, 74, 82, 58, 50, 80, 60]),
            ("first(age,,true)", [20, 20, 22, 24, 28, 20, 20, 30]),
        ],
    ),
    "range": (
        {
            "partitionFields": "location",
            "partitionOrder": "age:Ascending",
            "windowFrameType": "RANGE",
            "preceding": "-2",
            "unboundedFollowing": "true",
        },
        [("accumulate(age,,true)", [124, 124, 104, 58, 58, 80, 60, 60])],
    ),
}


@pytest.mark.spark
def test_every_function(spark, tmp_path: Path):
    made = PipelineTester(spark, tmp_path)
    window = artifact_ref(ARTIFACT, "sparkcompute", "WindowAggregation")
    made.source("people", PEOPLE, [dict(zip(PEOPLE.field_names, row, strict=True)) for row in ROWS])
    for name, (properties, calls) in STAGES.items():
        lines = [f"f{i}:{call}" for i, (call, _) in enumerate(calls)]
        made.stage(name, window, properties | {"aggregates": "\n".join(lines)}, ["people"])
        made.sink(f"out {name}", name)

    made.run(counts=False)

    for name, (_, calls) in STAGES.items():
        found = {each["name"]: each for each in made.read(f"out {name}")}
        for i, (call, expected) in enumerate(calls):
            values = [found[row[0]][f"f{i}"] for row in ROWS]
            assert list(map(round_value, values)) == list(map(round_value, expected)), (name, call)


def round_value(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def test_the_output_schema():
    lines = "r:rank(,,true)\nnext:lead(name,1,false)\nsum:accumulate(paid,,true)"
    stage = configure(WindowAggregation, BY_AGE | {"aggregates": lines}, PEOPLE)
    assert messages(stage) == []
    assert [(each.name, each.schema) for each in list(stage.output_schema)[4:]] == [
        ("r", Schema.INT.as_nullable),
        ("next", Schema.STRING.as_nullable),
        ("sum", Schema.FLOAT.as_nullable),
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"aggregates": "rank(,,true)"},
            ["Could not find ':' separating aggregate alias from its function in 'rank(,,true)'."],
        ),
        ({"aggregates": "r:rank"}, ["Could not find '(' in function 'rank'."]),
        ({"aggregates": "r:sort(,,true)"}, ["Invalid function 'sort'."]),
        (
            {"aggregates": "r:rank(,,true"},
            ["Could not find closing ')' in function 'rank(,,true'."],
        ),
        (
            {"aggregates": "r:rank(age)"},
            ["Could not find three parameters in function 'rank(age)'."],
        ),
        (
            {"aggregates": "r:rank(,,true)\nr:rank(,,true)"},
            ["Cannot create multiple aggregate functions with the same alias 'r'."],
        ),
        (
            {"aggregates": "n:n_tile(,0,true)"},
            ["N_TILE needs an argument of type INTEGER greater than 0"],
        ),
        ({"aggregates": "n:lead(age,,true)"}, ["LEAD takes only 1 argument."]),
        ({"aggregates": "n:lead(,1,true)"}, ["Function LEAD needs a field."]),
        (
            {"aggregates": "n:discrete_percentile(paid,1.5,true)"},
            ["DISCRETE_PERCENTILE needs an argument between [0,1]"],
        ),
        (
            {"aggregates": "n:accumulate(name,,true)"},
            ["Invalid input schema type 'string' for field 'name' in function 'ACCUMULATE'."],
        ),
        (
            {"aggregates": "n:first(year,,true)"},
            ["Invalid aggregate n:first(year,,true): Field 'year' does not exist in input schema."],
        ),
        ({"aggregates": "age:rank(,,true)"}, ["The input has a field 'age' already."]),
        ({"partitionFields": "city"}, ["Partition field 'city' must exist in input schema."]),
        (
            {"partitionOrder": ""},
            ["partitionOrder is missing. It is a required clause for function : RANK."],
        ),
        (
            {"aggregates": "m:continuous_percentile(age,0.5,true)"},
            ["partitionOrder is not supported for function : CONTINUOUS_PERCENTILE."],
        ),
        (
            {"partitionOrder": "age"},
            ["Column name for order or order type value is missing for the field age "],
        ),
        (
            {"partitionOrder": "year:Ascending"},
            ["Can not order by field 'year' because it does not exist in input schema"],
        ),
        ({"windowFrameType": "ROW"}, ["windowFrameType is not supported for function : RANK."]),
        (
            {"aggregates": "s:accumulate(age,,true)", "windowFrameType": "RANGE"},
            ["A frame of the type RANGE with bounds needs an order by exactly one numeric field."],
        ),
        ({"preceding": "two"}, ["'two' is not a whole number."]),
    ],
)
def test_failures(changes: dict[str, str], expected: list[str]):
    properties = BY_AGE | {"aggregates": "r:rank(,,true)"} | changes
    assert messages(configure(WindowAggregation, properties, PEOPLE)) == expected
