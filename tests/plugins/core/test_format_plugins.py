"""File sources and sinks with formats that are plugins of another artifact."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.api import Schema
from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.preview.model import PreviewRequest
from localcdap.testing import TemporaryInstance
from tests.e2e.pipelines import pipeline, stage

pytestmark = pytest.mark.spark
PAIR = Schema.record("pair", [("name", Schema.STRING), ("value", Schema.STRING)])
WITH_FILE = Schema.record("pair", [*PAIR, ("file", Schema.STRING)])


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, cdap_engine_directory):
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("formats")) as made:
        folder = made.home.path / "pairs"
        folder.mkdir()
        (folder / "a.txt").write_text("ada: 36\nbob: 7\n")
        (folder / "b.txt.gz").write_bytes(gzip.compress(b"cem: 17\n"))
        (made.home.path / "rows.xml").write_text(
            "<all><one><name>ada</name><n>1</n></one><one><name>bob</name></one></all>"
        )
        (made.home.path / "broken.txt").write_text("ada: 36\nbob\n")
        artifact = made.home.path / "pair-formats-1.0.0.py"
        artifact.write_bytes((Path(__file__).parent / "pair_formats.py").read_bytes())
        made.drop(artifact)
        yield made


def source(name: str, path: str, **properties: str) -> dict[str, Any]:
    return stage(name, "batchsource", "File", referenceName=name, path=path, **properties)


def sink(name: str, format: str, **properties: str) -> dict[str, Any]:
    return stage(name, "batchsink", "File", path=f"out/{name}", format=format, **properties)


def read(instance: TemporaryInstance, name: str, pattern: str = "part-*") -> str:
    files = sorted((instance.home.path / "out" / name).glob(pattern))
    return "".join(file.read_text() for file in files)


def test_a_run_reads_and_writes_them(instance: TemporaryInstance):
    wanted = {"pathField": "file", "filenameOnly": "true", "schema": str(WITH_FILE)}
    stages = [
        source("pairs", "pairs", format="Pairs", separator="${between}", **wanted),
        sink("json", "json"),
        sink("named", "Pairs", separator="=", schema=str(PAIR)),
        sink("xml", "Rows", rowTag="person"),
    ]
    links = [("pairs", "json"), ("pairs", "named"), ("pairs", "xml")]
    document = pipeline(stages, *links)

    request = PipelineRequest(json.dumps(document), arguments={"between": ": "})
    checked = instance.cdap.studio.validate_pipeline(request)
    assert checked.errors == []
    run = instance.run(document, {"between": ": "})

    assert run.error is None
    assert (checked.errors, checked.warnings) == ([], [])
    records = sorted(read(instance, "json").splitlines())
    assert [tuple(json.loads(line).values()) for line in records] == [
        ("ada", "36", "a.txt"),
        ("bob", "7", "a.txt"),
        ("cem", "17", "b.txt.gz"),
    ]
    assert sorted(read(instance, "named", "*.pairs").splitlines()) == ["ada=36", "bob=7", "cem=17"]
    assert read(instance, "xml").count("<person>") == 3
    assert not list((instance.home.path / "out" / "named").glob("_*"))
    assert run.stages["pairs"].records_out == 3


def test_spark_reads_one(instance: TemporaryInstance):
    given = source("rows", "rows.xml", format="Rows", rowTag="one")

    run = instance.run(pipeline([given, sink("csv", "csv")], ("rows", "csv")))

    assert run.error is None
    assert sorted(read(instance, "csv").splitlines()) == ["ada,1", "bob,"]


def test_a_preview_reads_them_without_spark(instance: TemporaryInstance):
    given = source("pairs", "pairs", format="Pairs", separator=": ", schema=str(PAIR))
    document = pipeline([given, sink("named", "Pairs", separator="=")], ("pairs", "named"))

    previews = instance.cdap.previews
    shown = previews.start(PreviewRequest(json.dumps(document)))
    while not shown.status.is_end:
        shown = previews.wait("default", shown.preview, shown.version, 5.0)

    assert (shown.errors, shown.error) == ([], None)
    assert [r["name"] for r in shown.stages["pairs"].records] == ["ada", "bob", "cem"]


def validate(instance: TemporaryInstance, *stages: dict[str, Any], connected: bool = False):
    document = pipeline(list(stages), (stages[0]["name"], stages[1]["name"]))
    request = PipelineRequest(json.dumps(document), connected=connected)
    return instance.cdap.studio.validate_pipeline(request)


def test_validation(instance: TemporaryInstance):
    out = sink("out", "csv")
    found = validate(
        instance, source("in", "pairs", format="Pears", schema=str(PAIR)), sink("out", "Pears")
    )
    assert [(f.stage, f.field, f.message.partition(".")[0]) for f in found.errors] == [
        ("in", "format", "Invalid format 'Pears'"),
        ("out", "format", "Invalid format 'Pears'"),
    ]
    assert "a plugin 'Pears' of the type validatingInputFormat" in str(found.errors[0])

    missing = validate(instance, source("in", "pairs", format="Pairs", schema=str(PAIR)), out)
    assert [(f.field, f.message) for f in missing.errors] == [
        ("separator", "Required property 'separator' has no value.")
    ]
    wrong = validate(
        instance, source("in", "x", format="Pairs", separator=",", schema=str(PAIR)), out
    )
    assert [(f.field, f.message) for f in wrong.errors] == [
        ("separator", "A comma is in many values.")
    ]
    misspelt = validate(
        instance, source("in", "x", format="Rows", rowtag="one"), sink("out", "Rows")
    )
    assert [w.corrective_action for w in misspelt.warnings] == ["Did you mean 'rowTag'?"]
    assert misspelt.spec is not None
    assert misspelt.spec.stages[0].output_schema.field_names == ["name", "n"]


def test_the_schema_is_that_of_the_first_file(instance: TemporaryInstance):
    given = source("in", "pairs", format="Pairs", separator=": ")

    found = validate(instance, given, sink("out", "csv"), connected=True)

    assert found.errors == []
    assert found.spec is not None
    assert found.spec.stages[0].output_schema.field_names == ["name", "of_ada"]


def test_a_broken_file_is_named(instance: TemporaryInstance):
    given = source("in", "broken.txt", format="Pairs", separator=": ", schema=str(PAIR))

    run = instance.run(pipeline([given, sink("none", "csv")], ("in", "none")))

    assert run.error is not None
    assert "broken.txt' cannot be read as Pairs: ValueError" in run.error.message
    assert run.error.stage == "in"
    assert not (instance.home.path / "out" / "none").exists()
