"""Fields whose names differ only in case are two fields everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.testing import PipelineTester, artifact_ref, run_stage
from tests.plugins.core.support import ARTIFACT, configure, messages, plugin_ref, record

pytestmark = pytest.mark.spark
SCHEMA = record(a="int", A="int", b=["string", "null"])
RECORDS = [{"a": 1, "A": 10, "b": "x"}, {"a": 1, "A": 20, "b": "y"}, {"a": 2, "A": 20, "b": "y"}]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "tsv", "json", "parquet", "orc", "avro"])
def test_files(spark, tmp_path: Path, format: str):
    properties = {"referenceName": "r", "format": format, "schema": str(SCHEMA)}
    inputs = {"in": (SCHEMA, RECORDS)}
    run_stage(
        spark,
        artifact_ref(ARTIFACT, "batchsink", "File"),
        properties | {"path": "out"},
        inputs,
        directory=tmp_path,
        counts=False,
    )

    given = properties | {"path": "out"}
    read = run_stage(
        spark, artifact_ref(ARTIFACT, "batchsource", "File"), given, directory=tmp_path
    )

    assert read.records == RECORDS


def test_relational_stages(spark, tmp_path: Path):
    stages: dict[str, tuple[str, str, dict[str, str]]] = {
        "project": ("transform", "Projection", {"drop": "a", "rename": "A:a"}),
        "group": (
            "batchaggregator",
            "GroupByAggregate",
            {"groupByFields": "A", "aggregates": "a:Sum(a),n:Count(*)"},
        ),
        "distinct": ("batchaggregator", "Distinct", {"fields": "A"}),
        "dedupe": (
            "batchaggregator",
            "Deduplicate",
            {"uniqueFields": "A", "filterOperation": "a:Max"},
        ),
    }
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.source("in", SCHEMA, RECORDS)
    for name, (type, plugin, properties) in stages.items():
        pipeline.stage(name, plugin_ref(type, plugin), properties, ["in"])
        pipeline.sink(f"{name} out", name)
    pipeline.source("other", SCHEMA, RECORDS[:1])
    joined = {
        "joinKeys": "in.a = other.A",
        "selectedFields": "in.A as A,in.a as a,other.a as c",
        "requiredInputs": "in",
    }
    pipeline.stage("join", plugin_ref("batchjoiner", "Joiner"), joined, ["in", "other"])
    pipeline.sink("join out", "join")

    pipeline.run()

    def values(name: str) -> list[tuple]:
        return sorted(tuple(r.values()) for r in pipeline.read(f"{name} out"))

    assert values("project") == [(10, "x"), (20, "y"), (20, "y")]
    assert values("group") == [(10, 1, 1), (20, 3, 2)]
    assert values("distinct") == [(10,), (20,)]
    assert values("dedupe") == [(1, 10, "x"), (2, 20, "y")]
    assert values("join") == [(10, 1, None), (20, 1, None), (20, 2, None)]


def test_a_table_cannot_distinguish_them():
    result = configure("batchsink", "Table", {"name": "t", "schema.row.field": "b"}, given=SCHEMA)

    assert any("differ only in case" in message for message in messages(result))
