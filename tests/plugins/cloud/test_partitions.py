"""Partitions of BigQueryTable: what they may be, what a table remembers, and which part of it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localcdap.api import Schema
from localcdap.api.tables import Partitioning
from localcdap.artifacts.loading import load_plugin
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing import StageTester, TableData, artifact_ref
from localcdap.testing.instance import TemporaryInstance
from tests.plugins.cloud.test_actions import PLUGINS
from tests.plugins.cloud.test_bigquery_execute import module

DAY = Schema.record(
    "day",
    [
        ("id", Schema.LONG),
        ("day", Schema.DATE.as_nullable),
        ("ts", Schema.TIMESTAMP.as_nullable),
        ("dt", Schema.DATETIME.as_nullable),
        ("name", Schema.STRING.as_nullable),
        ("price", Schema.DOUBLE.as_nullable),
        ("list", Schema.array(Schema.INT).as_nullable),
    ],
)
PLACE = {"dataset": "shop", "table": "days"}
BY_DAY = Partitioning(field="day")


def stage(type: str, held: Partitioning | None = None, **properties: str) -> StageTester:
    """A stage on the table, which is there where it is said by what it is parted."""
    plugin = load_plugin(artifact_ref(PLUGINS, type, "BigQueryTable"))
    tables = {"shop.days": TableData(DAY, [], partitioning=held)} if held is not None else {}
    inputs = DAY if type == "batchsink" else None
    return StageTester(plugin, PLACE | properties, inputs, tables=tables)


def sink(held: Partitioning | None = None, **properties: str) -> StageTester:
    return stage("batchsink", held, **properties)


def source(held: Partitioning | None = None, **properties: str) -> StageTester:
    return stage("batchsource", held, schema=str(DAY), **properties)


KINDS = "TIME, INTEGER, NONE"
TYPE = "partitionByField: Partition column '{}' is of invalid type '{}'."


@pytest.mark.parametrize(
    ("properties", "problems"),
    [
        ({}, []),
        ({"partitionByField": "day"}, []),
        ({"partitionByField": "dt", "timePartitioningType": "HOUR"}, []),
        ({"partitionByField": "nil", "partitioningType": "none"}, []),
        ({"partitionByField": "${field}"}, []),
        (
            {"partitionByField": "nil"},
            ["partitionByField: Partition column 'nil' must be present in the schema."],
        ),
        ({"partitionByField": "name"}, [TYPE.format("name", "string")]),
        (
            {"partitionByField": "day", "timePartitioningType": "hourly"},
            [TYPE.format("day", "date")],
        ),
        (
            {
                "partitionByField": "name",
                "partitioningType": "NONE",
                "createPartitionedTable": "true",
            },
            [TYPE.format("name", "string")],
        ),
        (
            {"partitioningType": "weekly"},
            [
                f"partitioningType: Property 'partitioningType' must be one of {KINDS}, not 'weekly'."
            ],
        ),
        ({"partitioningType": "INTEGER"}, ["partitionByField: Partition column not provided."]),
        (
            {"partitioningType": "INTEGER", "partitionByField": "day"},
            [
                TYPE.format("day", "date"),
                "rangeStart: Range Start is not defined.",
                "rangeEnd: Range End is not defined.",
                "rangeInterval: Range Interval is not defined.",
            ],
        ),
        (
            {
                "partitioningType": "Integer",
                "partitionByField": "id",
                "rangeStart": "9",
                "rangeEnd": "9",
                "rangeInterval": "0",
            },
            [
                "rangeEnd: Range End is less than or equal to Range Start.",
                "rangeInterval: Range Interval is not a positive number.",
            ],
        ),
        (
            {
                "partitioningType": "INTEGER",
                "partitionByField": "id",
                "rangeStart": "0",
                "rangeEnd": "${end}",
                "rangeInterval": "10",
                "partitionFilterRequired": "true",
                "clusteringOrder": "name,id",
            },
            [],
        ),
        (
            {"partitionByField": "day", "clusteringOrder": "name,nil"},
            ["clusteringOrder: Clustering field 'nil' does not exist in the schema."],
        ),
        (
            {"partitionByField": "day", "clusteringOrder": "id,day,ts,dt,name"},
            ["clusteringOrder: Found '5' number of clustering fields."],
        ),
        (
            {"partitionByField": "day", "clusteringOrder": "price,list,ts,id"},
            [
                "clusteringOrder: Field 'price' is of unsupported type 'double'.",
                "clusteringOrder: Field 'list' is of unsupported type 'array'.",
            ],
        ),
        ({"clusteringOrder": "name"}, ["clusteringOrder: Clustering order cannot be validated."]),
        ({"clusteringOrder": "nil", "partitioningType": "NONE"}, []),
    ],
)
def test_what_a_table_may_be_parted_by(properties, problems):
    assert sink(**properties).problems == problems


@pytest.mark.parametrize(
    ("held", "properties", "problems", "warnings"),
    [
        (BY_DAY, {"partitionByField": "day"}, [], 0),
        (
            BY_DAY,
            {},
            ["partitionByField: Destination table 'shop.days' is partitioned by column 'day'."],
            0,
        ),
        (BY_DAY, {"partitioningType": "NONE"}, [], 1),
        (Partitioning(), {"partitionByField": "day"}, [], 0),
        (Partitioning("integer", "id"), {"partitionByField": "day"}, [], 1),
    ],
)
def test_a_table_that_is_there_stays_parted_as_it_is(held, properties, problems, warnings):
    tested = sink(held, **properties)
    assert (tested.problems, len(tested.warnings)) == (problems, warnings)


NO_TIMES = "There is no '{}' here: ingestion times are not stored (line 1, column 1)."
UPSERT = {"operation": "Upsert", "relationTableKey": "id"}


@pytest.mark.parametrize(
    ("properties", "problems"),
    [
        (UPSERT | {"partitionFilter": "WHERE Day >= '2026-01-01' AND T.id = S.id"}, []),
        ({"operation": "Insert", "partitionFilter": "nonsense )("}, []),
        (UPSERT | {"operation": "${how}", "partitionFilter": "nonsense )("}, []),
        (
            UPSERT | {"partitionFilter": "day > '2026-01-01' OR nil"},
            [
                "partitionFilter: Column 'nil' of 'partitionFilter' does not exist in table 'shop.days'."
            ],
        ),
        (
            UPSERT | {"partitionFilter": "_PARTITIONDATE > '2026-01-01'"},
            [
                f"partitionFilter: {NO_TIMES.format('_PARTITIONDATE')}",
            ],
        ),
    ],
)
def test_what_a_filter_of_rows_to_match_may_name(properties, problems):
    assert sink(BY_DAY, partitionByField="day", **properties).problems == problems


NOT_KEPT = "Table 'shop.days' is partitioned by ingestion time, which is not stored here."


@pytest.mark.parametrize(
    ("held", "properties", "problems"),
    [
        (BY_DAY, {"partitionFrom": "2026-01-01", "partitionTo": "2026-01-01"}, []),
        (Partitioning("integer", "id"), {"partitionFrom": "2026-01-01"}, []),
        (BY_DAY, {"partitionFrom": "${from}", "partitionTo": "2026-02-28"}, []),
        (
            None,
            {"partitionFrom": "20260101", "partitionTo": "2026-02-29"},
            [
                "partitionFrom: Invalid partition start date '20260101'.",
                "partitionTo: Invalid partition end date '2026-02-29'.",
            ],
        ),
        (
            None,
            {"partitionFrom": "2026-01-02", "partitionTo": "2026-01-01"},
            [
                "partitionFrom: The partition start date 2026-01-02 is after the end date 2026-01-01."
            ],
        ),
        (Partitioning(), {}, []),
        (Partitioning(), {"partitionTo": "2026-01-01"}, [f"partitionTo: {NOT_KEPT}"]),
        (
            None,
            {"filter": "_PARTITIONTIME > '2026-01-01'"},
            [
                f"filter: {NO_TIMES.format('_PARTITIONTIME')}",
            ],
        ),
    ],
)
def test_which_parts_may_be_asked_for(held, properties, problems):
    assert source(held, **properties).problems == problems


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("day >= '2026-01-01'", "AND held.day >= '2026-01-01')"),
        ("where T.Day = s.day", "AND GOOGLESQL_EQUAL(held.Day, given.day))"),
        ("DATE(ts) = DATE '2026-01-01'", " AS DATE) = CAST('2026-01-01' AS DATE)"),
        ("name IN ('T.x', 'where')", "held.name IN ('T.x', 'where')"),
        ("EXTRACT(DAYOFWEEK FROM day) = 1", " + 1) = 1"),
    ],
)
def test_filters_of_rows_to_match_are_translated(text, shown):
    assert shown in module("conditions").to_duckdb_condition(text)


@pytest.mark.parametrize(
    ("clause", "parted"),
    [
        ("", None),
        ("PARTITION BY day", BY_DAY),
        ("PARTITION BY DATE_TRUNC(day, MONTH)", BY_DAY),
        ("PARTITION BY DATE(ts)", Partitioning(field="ts")),
        ("PARTITION BY TIMESTAMP_TRUNC(ts, HOUR)", Partitioning(field="ts")),
        ("PARTITION BY _PARTITIONDATE", Partitioning()),
        ("PARTITION BY TIMESTAMP_TRUNC(_PARTITIONTIME, HOUR)", Partitioning()),
        (
            "PARTITION BY RANGE_BUCKET(id, GENERATE_ARRAY(0, 9, 1))",
            Partitioning("integer", "id"),
        ),
    ],
)
def test_statements_say_what_the_tables_they_make_are_parted_by(clause, parted):
    text = f"CREATE TABLE d.t (id INT64, day DATE, ts TIMESTAMP) {clause} CLUSTER BY id"
    (found,) = module("statements").translate_statements(text)
    assert found.makes.partitioning == parted


ROWS = (
    "1,2025-12-31,2025-12-31T23:59:59Z\n2,2026-01-01,2026-01-01T00:00:00Z\n"
    "3,2026-01-02,2026-01-02T12:00:00Z\n4,2026-01-03,2026-01-03T00:00:00Z\n5,,\n"
)
FILE = Schema.record(
    "file",
    [
        ("id", Schema.LONG),
        ("day", Schema.DATE.as_nullable),
        ("ts", Schema.TIMESTAMP.as_nullable),
    ],
)
NAMES = ("day", "ts", "whole")
SINCE = {"partitionFilter": "day >= '2026-01-01'"}
BEFORE = {"partitionFilter": "DATE(ts) < '2026-01-01'"}


def pipeline(stages: dict[str, dict[str, Any]], *connections: str) -> str:
    """:param connections: each the names of two stages."""
    made = [{"name": name, "plugin": plugin} for name, plugin in stages.items()]
    pairs = [each.split() for each in connections]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    joined = [{"from": source, "to": sink} for source, sink in pairs]
    config = {"stages": made, "connections": joined}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def table(type: str, name: str, **more: str) -> dict[str, Any]:
    properties = {"dataset": "d", "table": name} | more
    return {"type": type, "name": "BigQueryTable", "properties": properties}


@pytest.mark.slow
@pytest.mark.spark
def test_parts_are_written_read_and_updated(tmp_path, cdap_engine_directory):
    file = {"referenceName": "r", "path": "in.csv", "format": "csv", "schema": str(FILE)}
    lines = {"type": "batchsource", "name": "File", "properties": file}
    by_day, by_ts = {"partitionByField": "day"}, {"partitionByField": "ts"}
    write = pipeline(
        {
            "lines": lines,
            "day": table("batchsink", "day", **by_day),
            "ts": table("batchsink", "ts", **by_ts),
            "whole": table("batchsink", "whole", partitioningType="NONE"),
        },
        *("lines day", "lines ts", "lines whole"),
    )
    between = {"partitionFrom": "2026-01-01", "partitionTo": "2026-01-03", "filter": "ID != 9"}
    keyed = {"relationTableKey": "id", "operation": "Upsert"}
    held = {f"held_{name}": table("batchsource", name, **between) for name in NAMES}
    change = pipeline(
        {
            "lines": lines,
            "day": table("batchsink", "day", **by_day, **keyed | {"operation": "Update"}, **SINCE),
            "ts": table("batchsink", "ts", **by_ts, **keyed, **BEFORE),
            "parts": table("batchsink", "parts"),
            **held,
        },
        *("lines day", "lines ts", "lines parts", *(f"{name} parts" for name in held)),
    )
    with TemporaryInstance(tmp_path / "instance") as instance:

        def rows(name: str) -> list[list[Any]]:
            return sorted(instance.cdap.tables.read_rows("default", f"d.{name}", 100).rows)

        (instance.home.path / "in.csv").write_text(ROWS)
        assert instance.run(write).error is None
        found = instance.cdap.studio.validate_pipeline(PipelineRequest(change, connected=True))
        assert found.errors == []
        (instance.home.path / "in.csv").write_text("1,2026-02-01,\n3,2026-02-01,\n")
        assert instance.run(change).error is None

        # Of the lines 1 and 3, of the two tables that are partitioned 2 and 3, of the other all.
        assert [row[0] for row in rows("parts")] == [1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 5]
        assert [row[1] for row in rows("day")][:3] == ["2025-12-31", "2026-01-01", "2026-02-01"]
        assert [row[:2] for row in rows("ts")][:4] == [
            [1, "2026-02-01"],
            [2, "2026-01-01"],
            [3, "2026-01-02"],
            [3, "2026-02-01"],
        ]
