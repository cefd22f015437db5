"""Every type of a schema through passes in Python, through DataFrames, and back."""

from __future__ import annotations

import datetime
import decimal

import pytest

from localcdap.api.errors import SchemaError
from localcdap.api.schema import LogicalType, Schema
from localcdap.engine.plan.spark_types import list_differences, spark_schema, to_schema
from localcdap.testing import PipelineTester
from tests.engine import plugins

UTC = datetime.UTC
INNER = Schema.record("inner", [("a", Schema.INT), ("b", Schema.STRING.as_nullable)])
CHOICE = Schema.union([Schema.STRING, Schema.LONG, INNER, Schema.NULL])
VALUES = {
    "boolean": (Schema.BOOLEAN, True),
    "int": (Schema.INT, -(2**31)),
    "long": (Schema.LONG, 2**63 - 1),
    "float": (Schema.FLOAT, 1.5),
    "double": (Schema.DOUBLE, 0.1),
    "bytes": (Schema.BYTES, b"\x00\xff"),
    "string": (Schema.STRING, "ä🎉\n"),
    "enum": (Schema.enum(["RED", "BLUE"]), "BLUE"),
    "date": (Schema.DATE, datetime.date(1969, 12, 31)),
    "time": (Schema.TIME, datetime.time(23, 59, 59, 999999)),
    "millis": (Schema.of(LogicalType.TIME_MILLIS), datetime.time(1, 2, 3, 4000)),
    "timestamp": (Schema.TIMESTAMP, datetime.datetime(2024, 2, 29, 12, 0, 0, 123456, UTC)),
    "datetime": (Schema.DATETIME, datetime.datetime(2024, 3, 31, 2, 30)),
    "decimal": (Schema.decimal(38, 9), decimal.Decimal("-12345678901234567890.123456789")),
    "array": (Schema.array(Schema.INT.as_nullable), [1, None, 3]),
    "map": (Schema.map(Schema.STRING, Schema.LONG.as_nullable), {"x": 1, "y": None}),
    "record": (INNER, {"a": 1, "b": None}),
    "records": (Schema.array(INNER), [{"a": 1, "b": "x"}]),
    "choice": (CHOICE, "text"),
    "choices": (Schema.array(CHOICE), [7, "x", {"a": 1, "b": "y"}, None]),
    "odd name.with `quotes": (Schema.STRING, "x"),
}
ALL = Schema.record("all", [(name, schema) for name, (schema, _) in VALUES.items()])
OPTIONAL = Schema.record("optional", [(f.name, f.schema.as_nullable) for f in ALL])
FULL = {name: value for name, (_, value) in VALUES.items()}
EMPTY = dict.fromkeys(FULL)


@pytest.mark.spark
@pytest.mark.parametrize("plugin", ["SameRecord", "Same", "SameFrame"])
@pytest.mark.parametrize("readers", [1, 2])
def test_values_come_through_unchanged(spark, tmp_path, plugin, readers):
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", OPTIONAL, [FULL, EMPTY])
    pipeline.stage("stage", getattr(plugins, plugin), {}, ["in"])
    for reader in range(readers):
        pipeline.sink(f"out {reader}", "stage")

    counts = pipeline.run()

    for reader in range(readers):
        assert pipeline.read(f"out {reader}") == [FULL, EMPTY]
    assert counts["stage"].out == 2


@pytest.mark.spark
def test_a_column_that_is_always_null(spark, tmp_path):
    schema = Schema.record("nothing", [("n", Schema.LONG), ("nothing", Schema.NULL)])
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", schema, [{"n": 1, "nothing": None}])
    pipeline.stage("stage", plugins.SameRecord, {}, ["in"])
    pipeline.stage("same", plugins.SameFrame, {}, ["stage"])
    pipeline.sink("out", "same")
    pipeline.sink("again", "stage")

    pipeline.run()

    assert pipeline.read("out") == pipeline.read("again") == [{"n": 1, "nothing": None}]


def test_spark_types_turn_back_into_the_schema():
    plain = [
        f for f in ALL if f.name not in ("enum", "millis", "choice", "choices", "record", "records")
    ]
    schema = Schema.record("plain", plain)

    assert to_schema(spark_schema(schema), "plain") == schema


def test_nested_records_keep_their_shape():
    schema = Schema.record("outer", [("inner", INNER.as_nullable), ("list", Schema.array(INNER))])

    back = to_schema(spark_schema(schema), "outer")

    assert back.field("inner").schema.non_nullable.fields == INNER.fields
    assert back.field("list").schema.items.fields == INNER.fields


def test_a_schema_does_not_differ_from_its_own_columns():
    assert list(list_differences(ALL, spark_schema(ALL))) == []
    assert list(list_differences(ALL, spark_schema(OPTIONAL))) == []
    assert list(list_differences(OPTIONAL, spark_schema(ALL))) == []


@pytest.mark.parametrize("name", list(VALUES))
def test_each_type_differs_from_another(name):
    other = Schema.record("other", [(name, Schema.array(Schema.array(Schema.BOOLEAN)))])
    one = Schema.record("one", [(name, VALUES[name][0])])

    assert [field for field, _, _ in list_differences(one, spark_schema(other))] == [name]


def test_decimals_and_recursion_that_spark_cannot_hold():
    with pytest.raises(SchemaError, match="39 digits"):
        spark_schema(Schema.record("big", [("d", Schema.decimal(39, 1))]))
    with pytest.raises(SchemaError, match="recursive"):
        spark_schema(Schema.record("r", [("r", Schema.reference("r").as_nullable)]))


@pytest.mark.spark
def test_an_aggregator_of_records_of_every_type(spark, tmp_path):
    schema = Schema.record("all", [("word", Schema.STRING.as_nullable), *OPTIONAL])
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", schema, [FULL | {"word": "x"}, EMPTY | {"word": None}])
    pipeline.stage("first", plugins.FirstOfEach, {}, ["in"])
    pipeline.sink("out", "first")

    pipeline.run()

    by_word = {row.pop("word"): row for row in pipeline.read("out")}
    assert by_word["x"] == FULL
    assert by_word[""] == EMPTY
    assert set(by_word) == {"x", "", "all"}
