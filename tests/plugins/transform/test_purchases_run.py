"""The middle of a real pipeline: parser, scripts, union splitter and error collector together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.api import Schema
from localcdap.testing import PipelineTester, artifact_ref
from tests.conftest import REPOSITORY
from tests.plugins.transform.support import record

pytestmark = pytest.mark.spark
CORE = REPOSITORY / "plugins_dir" / "core-plugins"
TRANSFORM = REPOSITORY / "plugins_dir" / "transform-plugins"
FILE = "306_union-condition-splitter-pipeline-v1.json"
TEXT = record("text", body=Schema.STRING.as_nullable)


@pytest.fixture(scope="module")
def properties(corpus) -> dict[str, dict[str, str]]:
    """Properties by stage."""
    document: Any = json.loads((corpus / "pipelines" / FILE).read_text(encoding="utf-8"))
    return {s["name"]: s["plugin"]["properties"] for s in document["config"]["stages"]}


def purchases(corpus: Path) -> list[dict[str, str]]:
    file = next((corpus / "data" / "306").iterdir())
    return [{"body": line} for line in file.read_text(encoding="utf-8").splitlines()]


def test_prices_are_split_by_type(spark, corpus, properties, tmp_path):
    javascript = artifact_ref(CORE, "transform", "JavaScript")
    splitter = artifact_ref(TRANSFORM, "splittertransform", "UnionSplitter")
    collector = artifact_ref(CORE, "errortransform", "ErrorCollector")
    rows = purchases(corpus)
    made = PipelineTester(spark, tmp_path)

    def script(name: str, source: str) -> None:
        made.stage(name, javascript, properties[name], [source])

    made.source("File", TEXT, rows)
    parser = artifact_ref(TRANSFORM, "transform", "CSVParser")
    made.stage("CSVParser", parser, properties["CSVParser"], ["File"])
    script("JavaScript3", "CSVParser")
    ports = ["string", "int"]
    made.stage("UnionSplitter", splitter, properties["UnionSplitter"], ["JavaScript3"], ports=ports)
    script("String JavaScript Emitter", "UnionSplitter.string")
    script("JavaScript2", "UnionSplitter.int")
    wanted = {"messageField": "msg", "codeField": "code", "stageField": "node"}
    made.stage("Errors", collector, wanted, ["String JavaScript Emitter"])
    for name, source in (
        ("strings", "String JavaScript Emitter"),
        ("ints", "JavaScript2"),
        ("errors", "Errors"),
    ):
        made.sink(name, source)

    counts = made.run()

    strings, ints, errors = made.read("strings"), made.read("ints"), made.read("errors")
    assert len(strings) == len(errors) == len(rows)
    assert {type(r["price"]) for r in strings} == {str}
    special = [r for r in strings if r["name"] in ("Phyllis", "Nicole")]
    assert sorted(r["price"] for r in ints) == sorted(int(r["price"]) for r in special)
    assert {(e["msg"], e["code"], e["node"]) for e in errors} == {
        ("Something went wrong", 31, "String JavaScript Emitter")
    }
    assert counts["UnionSplitter"].ports == {"string": len(rows), "int": len(ints)}
