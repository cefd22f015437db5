"""Values of every type pass through the stages unchanged."""

from __future__ import annotations

import datetime

import pytest

from localcdap.api import LogicalType, Schema
from localcdap.testing import artifact_ref, run_stage
from tests.conftest import REPOSITORY
from tests.plugins.transform.support import record

pytestmark = pytest.mark.spark
CORE = REPOSITORY / "plugins_dir" / "core-plugins"
UNION = Schema.union([Schema.INT, Schema.STRING]).as_nullable
SCHEMA = record(
    k=Schema.TIME.as_nullable,
    t=Schema.TIMESTAMP,
    d=Schema.DATETIME,
    u=UNION,
    r=record("inner", x=Schema.INT.as_nullable, y=Schema.TIME),
    b=Schema.BYTES,
    e=Schema.enum(["A", "B"]),
    tm=Schema.of(LogicalType.TIME_MILLIS),
    m=Schema.map(Schema.STRING, UNION),
    l=Schema.array(UNION),
)
NOW = datetime.datetime(2020, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC)
ROW = {
    "k": datetime.time(1, 2, 3, 456789),
    "t": NOW,
    "d": NOW.replace(tzinfo=None),
    "u": "x",
    "r": {"x": None, "y": datetime.time(5)},
    "b": b"\0\xff",
    "e": "B",
    "tm": datetime.time(1, 2, 3, 456000),
    "m": {"q": 5},
    "l": [1, "z", None],
}
ROWS = [ROW, ROW | {"u": None}]


def run(spark, type, name, properties, **inputs):
    records = run_stage(
        spark, artifact_ref(CORE, type, name), properties, inputs or {"i": (SCHEMA, ROWS)}
    ).records
    return sorted(records, key=str)


def test_aggregates_of_every_type(spark):
    functions = ("first", "last", "any", "collectList")
    aggregates = [f"{f}_{n}:{f}({n})" for n in SCHEMA.field_names for f in functions]
    properties = {"groupByFields": "e,tm", "aggregates": ",".join(aggregates)}

    (group,) = run(spark, "batchaggregator", "GroupByAggregate", properties)

    for name in SCHEMA.field_names:
        assert group[f"first_{name}"] == ROW[name]
        assert group[f"collectList_{name}"] == [row[name] for row in ROWS]


@pytest.mark.parametrize(
    ("type", "name", "properties"),
    [
        ("batchaggregator", "Deduplicate", {"uniqueFields": "k,t,d,r,b,u"}),
        ("transform", "JavaScript", {"script": "function transform(i, e, c) { e.emit(i); }"}),
        ("transform", "PythonEvaluator", {"script": "def transform(r, e, c): e.emit(r)"}),
        ("transform", "Projection", {"drop": "none"}),
    ],
)
def test_records_of_every_type(spark, type, name, properties):
    assert run(spark, type, name, properties) == sorted(ROWS, key=str)


def test_keys_of_every_type(spark):
    properties = {
        "selectedFields": ",".join(f"i.{name}" for name in SCHEMA.field_names),
        "joinKeys": "&".join(f"i.{n}=j.{n}" for n in SCHEMA.field_names if n != "m"),
        "requiredInputs": "i",
    }

    joined = run(spark, "batchjoiner", "Joiner", properties, i=(SCHEMA, ROWS), j=(SCHEMA, ROWS[1:]))

    assert joined == sorted(ROWS, key=str)
