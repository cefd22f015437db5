"""The Cube sink."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from localcdap.api.dataset.classes.cube import (
    AggregationFunction,
    CubeQuery,
)
from localcdap.testing.instance import TemporaryInstance
from tests.plugins.core.support import configure, messages, record
from tests.plugins.core.test_key_values import csv, run, stage

SALES = record(
    at="string",
    city=["string", "null"],
    shop="string",
    sold=["int", "null"],
    price=["double", "null"],
)
CUBE = {
    "name": "sales",
    "dataset.cube.resolutions": "60,3600",
    "dataset.cube.aggregations": "place:city,shop;city:city",
    "cubeFact.timestamp.field": "at",
    "cubeFact.timestamp.format": "yyyy-MM-dd HH:mm:ss",
    "cubeFact.measurements": "sold:COUNTER;price:GAUGE",
}
START = int(datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC).timestamp())


def query(instance: TemporaryInstance, resolution: int, *group_by: str) -> dict[Any, Any]:
    wanted = {"sold": AggregationFunction.SUM, "price": AggregationFunction.MAX}
    asked = CubeQuery(
        start=START,
        end=START + 86_400,
        resolution=resolution,
        measurements=wanted,
        group_by=list(group_by),
    )

    found = instance.cdap.transactions.run(lambda tx: tx.dataset("sales").query(asked))
    return {
        (each.measure, *each.dimensions.values()): [(t - START, v) for t, v in each.points]
        for each in found
    }


@pytest.mark.slow
@pytest.mark.spark
def test_records_are_added_up_by_time_and_dimensions(cdap_instance, engine):
    lines = (
        "2026-01-02 00:00:10,rome,a,1,2.5\n2026-01-02 00:00:50,rome,a,2,7.9\n"
        "2026-01-02 00:01:00,rome,b,4,1\n2026-01-02 00:02:00,,b,8,\n2026-01-02 00:02:30,oslo,b,,-3.7\n"
    )
    sink = stage("batchsink", "Cube", **CUBE)
    assert run(cdap_instance, csv(cdap_instance, lines, SALES), sink).error is None
    later = "2026-01-02 00:00:20,rome,a,16,4\n"
    assert run(cdap_instance, csv(cdap_instance, later, SALES), sink).error is None
    assert query(cdap_instance, 60, "city", "shop") == {
        ("sold", "rome", "a"): [(0, 19)],
        ("sold", "rome", "b"): [(60, 4)],
        ("price", "rome", "a"): [(0, 4)],
        ("price", "rome", "b"): [(60, 1)],
        ("price", "oslo", "b"): [(120, -3)],
    }
    # Without a city, a record counts in the aggregation by city too, under no city.
    assert query(cdap_instance, 3600) == {("sold",): [(0, 31)], ("price",): [(0, 4)]}

    bad = csv(cdap_instance, "2026-01-02 00:00:20,rome,a,1,4\nnoon,rome,a,1,4\n", SALES)
    failed = run(cdap_instance, bad, sink)
    assert (failed.status, failed.error.stage) == ("FAILED", "s0-1")
    assert "Cannot parse field value to determine timestamp: noon" in failed.error.message
    assert query(cdap_instance, 3600) == {("sold",): [(0, 31)], ("price",): [(0, 4)]}


def test_the_dataset_has_the_properties_of_the_stage():
    (declared,) = configure("batchsink", "Cube", CUBE, given=SALES).datasets
    assert (declared.name, declared.type) == ("sales", "cube")
    assert declared.properties == {
        "dataset.cube.resolutions": "60,3600",
        "dataset.cube.aggregation.place.dimensions": "city,shop",
        "dataset.cube.aggregation.city.dimensions": "city",
    }


def test_the_json_of_cdap_3_is_read():
    json_form = {
        "name": "sales",
        "dataset.cube.properties": '{"dataset.cube.aggregation.city.dimensions": "city"}',
        "cubeFact.measurements": '{"cubeFact.measurement.sold": "COUNTER"}',
    }
    result = configure("batchsink", "Cube", json_form, given=SALES)
    assert messages(result) == []
    assert result.datasets[0].properties == {
        "dataset.cube.resolutions": "1",
        "dataset.cube.aggregation.city.dimensions": "city",
    }


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"cubeFact.measurements": ""}, "Required property 'cubeFact.measurements' has no value."),
        (
            {"cubeFact.measurements": "sold"},
            "For Property cubeFact.measurements Parameter sold, name or value is empty, please check config",
        ),
        (
            {"cubeFact.measurements": "sold:SUM"},
            "Measurement 'sold' is of the type 'SUM'. Types are: COUNTER, GAUGE.",
        ),
        (
            {"cubeFact.measurements": '{"cubeFact.measurement.": "GAUGE"}'},
            "Invalid property: cubeFact.measurement., measureName must be not empty",
        ),
        (
            {"cubeFact.measurements": "count:COUNTER"},
            "Measurement 'count' is not a field of the input.",
        ),
        ({"cubeFact.measurements": "{}"}, "At least one measurement must be specified"),
        (
            {"cubeFact.timestamp.field": "ts"},
            "Required field to determine timestamp is missing: ts",
        ),
        ({"dataset.cube.aggregations": ""}, "A cube without aggregations keeps no records."),
        (
            {"dataset.cube.properties": "[1]"},
            "Property dataset.cube.properties is not a JSON object of texts:",
        ),
        (
            {"dataset.cube.resolutions": "1,x"},
            "Invalid resolution value x in property dataset.cube.resolutions.",
        ),
        ({"cubeFact.timestamp.format": "bad-format"}, "Invalid format of the time:"),
        ({"name": "a/b"}, "Invalid table name 'a/b'."),
    ],
)
def test_failures(changed, expected):
    (found,) = messages(configure("batchsink", "Cube", CUBE | changed, given=SALES))
    if expected.endswith(":"):
        assert found.startswith(expected)
    else:
        assert found == expected


def test_a_dimension_that_is_no_field_gets_a_warning():
    changed = CUBE | {"dataset.cube.aggregations": "place:city,country"}
    result = configure("batchsink", "Cube", changed, given=SALES)
    assert messages(result) == []
    assert [each.message for each in result.warnings] == [
        "Aggregation 'place' has dimensions that are not fields of the input: country."
    ]
