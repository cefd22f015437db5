"""Connections to the stages of pipelines and runs, on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.connector import BrowseRequest, RecordSample, SampleRequest, SampleType
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.runs.model import RunRequest
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline, stage

pytestmark = pytest.mark.spark

SCHEMA = (
    '{"type":"record","name":"r","fields":[{"name":"id","type":"string"},'
    '{"name":"name","type":["string","null"]}]}'
)
ROWS = 30


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("stages") / "shop") as instance:
        file = instance.home.path / "in.csv"
        file.write_text(
            "".join(f"{n},{'' if n % 3 else f'name {n}'}\n" for n in range(ROWS)),
            encoding="utf-8",
        )
        for name, kind, properties in (
            ("pipelines", "Pipelines", {"arguments": f"file: {file}"}),
            ("bare", "Pipelines", {}),
            ("runs", "Runs", {}),
        ):
            plugin = {"name": kind, "properties": properties}
            instance.cdap.connections.load("default", {"name": name, "plugin": plugin})
        document = make_document()
        instance.cdap.applications.deploy(DeployRequest(document, name="shop"))
        run = instance.cdap.runs.start(
            RunRequest(document, name="shop", arguments={"file": str(file)})
        )
        while not run.status.is_end:
            run = instance.cdap.runs.wait(run.run, run.version, 5)
        assert run.status.value == "COMPLETED", run.error
        yield instance


def make_document() -> dict[str, Any]:
    source = stage(
        "in",
        "batchsource",
        "File",
        referenceName="raw",
        path="${file}",
        format="csv",
        schema=SCHEMA,
    )
    nulls = stage(
        "nulls",
        "splittertransform",
        "NullFieldSplitter",
        "transform-plugins",
        field="name",
        modifySchema="false",
    )
    known = stage("known", "batchsink", "Trash", "trash-plugin", referenceName="known")
    unknown = stage("unknown", "batchsink", "Trash", "trash-plugin", referenceName="unknown")
    connections = [
        ("in", "nulls"),
        ("nulls", "known", "nonnull"),
        ("nulls", "unknown", "null"),
    ]
    return pipeline([source, nulls, known, unknown], *connections)


def browse(instance: TemporaryInstance, name: str, path: str = "/") -> list[Any]:
    return instance.cdap.connectors.browse("default", name, BrowseRequest(path)).entities


def sample(instance: TemporaryInstance, name: str, path: str, **request: Any) -> RecordSample:
    wanted = SampleRequest(path, **request)
    return instance.cdap.connectors.sample("default", name, wanted).result


def test_a_deployed_pipeline(instance: TemporaryInstance) -> None:
    assert [each.path for each in browse(instance, "pipelines")] == ["/shop"]
    stages = browse(instance, "pipelines", "/shop")
    assert [(each.name, each.can_sample) for each in stages] == [
        ("in", True),
        ("nulls", False),
        ("known", True),
        ("unknown", True),
    ]
    ports = browse(instance, "pipelines", "/shop/nulls")
    assert [each.path for each in ports] == ["/shop/nulls/nonnull", "/shop/nulls/null"]
    found = sample(instance, "pipelines", "/shop/nulls/nonnull", limit=3)
    assert found.records == [{"id": "0", "name": "name 0"}]  # of the first three records


def test_a_run(instance: TemporaryInstance) -> None:
    (run,) = browse(instance, "runs")
    assert run.name.startswith("test_pipeline ")
    assert run.properties["Status"].value == "COMPLETED"
    stages = {each.name: each for each in browse(instance, "runs", run.path)}
    assert stages["in"].properties["Records"].value == str(ROWS)
    assert stages["known"].properties["Records"].value == "10"
    assert browse(instance, "runs", f"{run.path}/known") == [stages["known"]]
    found = sample(instance, "runs", f"{run.path}/in", limit=4)
    assert found.description == f"4 of {ROWS} records"
    assert [each["id"] for each in found.records] == ["0", "1", "2", "3"]
    matching = {"condition": "id == '29'"}
    request = {"sampling_type": SampleType.MATCHING, "properties": matching}
    assert [
        each["id"] for each in sample(instance, "runs", f"{run.path}/in", **request).records
    ] == ["29"]


def test_what_cannot_be_sampled_is_an_error(instance: TemporaryInstance) -> None:
    with pytest.raises(BadRequestError, match="its ports are: nonnull, null"):
        sample(instance, "pipelines", "/shop/nulls")
    with pytest.raises(NotFoundError, match="available: in, nulls, known, unknown"):
        sample(instance, "pipelines", "/shop/none")
    with pytest.raises(NotFoundError):
        browse(instance, "runs", "/00000000-0000-0000-0000-000000000000")
    with pytest.raises(BadRequestError, match="Stage 'in' cannot be read: .*file"):
        sample(instance, "bare", "/shop/in")
