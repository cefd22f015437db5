"""Field lineage that plugins of users record, in runs: with the API of the original, exactly, or wrongly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.metadata import MetadataEntity
from localcdap.engine.messages.spool import RunStatus
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.model import Run
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline
from tests.e2e.pipelines import stage as shipped

pytestmark = pytest.mark.spark

PLUGINS = """
from localcdap.api import EdgeKind, FieldTransformOperation, LineageRecorder, Transform, plugin


class Copying(Transform):
    def transform(self, record, emit):
        emit(record)


@plugin(type="transform", name="Exact", description="Records edges.")
class Exact(Copying):
    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive("name", ["id"], "Name", masking=True)
        lineage.influence(EdgeKind.SORT, ["name"])


@plugin(type="transform", name="Late", description="Records operations while a run is prepared.")
class Late(Copying):
    def prepare_run(self, context):
        context.record(
            [
                FieldTransformOperation("Join names", "", ["id", "name"], ["name"]),
                FieldTransformOperation("Nothing", "", ["missing"], ["id"]),
            ]
        )


@plugin(type="transform", name="Wrong", description="Records an operation on a missing field.")
class Wrong(Copying):
    def record_lineage(self, lineage):
        lineage.record(FieldTransformOperation("Nothing", "", ["missing"], ["id"]))


@plugin(type="transform", name="Silent", description="Records nothing.")
class Silent(Copying):
    def input_fields(self, stage):
        return None


@plugin(type="transform", name="Broken", description="Fails to record.")
class Broken(Copying):
    def record_lineage(self, lineage):
        raise ValueError("no idea")
"""
BAD = """
@plugin(type="transform", name="Bad{number}", description="Records nonsense.")
class Bad{number}(Copying):
    def record_lineage(self, lineage):
        {code}
"""
CODES = [
    "lineage.record(FieldTransformOperation('x', '', [1], [None]))",
    "lineage.record('no operation')",
    "lineage.derive('name', [3])",
    "lineage.derive(['name', 'nowhere'], [('nobody', 'id')], kind=EdgeKind.FILTER)",
    "lineage.influence(EdgeKind.FILTER, ['missing'], 'missing')",
    "lineage.add_edges([None])",
    "lineage.inputs.clear(); lineage.outputs.append(4)",
    "lineage.record(*[FieldTransformOperation('same', '', ['id'], ['id'])] * 300)",
    "raise SystemExit(3)",
]
PLUGINS += "".join(BAD.format(number=number, code=code) for number, code in enumerate(CODES))
SCHEMA = (
    '{"type":"record","name":"r","fields":[{"name":"id","type":"string"},'
    '{"name":"name","type":["string","null"]}]}'
)


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("fields")) as instance:
        folder = instance.home.path
        (folder / "plugins").mkdir(exist_ok=True)
        (folder / "plugins" / "recording-1.0.0.py").write_text(PLUGINS, encoding="utf-8")
        (folder / "in.csv").write_text("id,name\n1,ada\n", encoding="utf-8")
        yield instance


def run(instance: TemporaryInstance, *plugins: str) -> Run:
    """Run a branch for each plugin, from the dataset ``source`` to one of the plugin's name."""
    stages: list[dict[str, Any]] = [
        shipped(
            "in",
            "batchsource",
            "File",
            referenceName="source",
            path="in.csv",
            format="csv",
            skipHeader="true",
            schema=SCHEMA,
        )
    ]
    connections = []
    for name in plugins:
        stages.append(
            {"name": name, "plugin": {"type": "transform", "name": name, "properties": {}}}
        )
        sink = shipped(f"to {name}", "batchsink", "Table", name=name, schema__row__field="id")
        sink["plugin"]["properties"]["schema"] = SCHEMA
        stages.append(sink)
        connections += [("in", name), (name, f"to {name}")]
    ended = instance.run(pipeline(stages, *connections) | {"name": "-".join(plugins)})
    assert ended.status is RunStatus.COMPLETED, ended.error
    return ended


def of(dataset: str) -> MetadataEntity:
    return MetadataEntity.of_dataset(dataset, "default")


def find_edges(instance: TemporaryInstance, dataset: str) -> set[str]:
    graph = instance.cdap.lineage.trace_fields(of(dataset), None, Direction.INCOMING, 1).incoming
    assert graph is not None
    return {
        f"{each.source.field} -> {each.target.field or '*'} {each.influence.kind.value}"
        f"{' masked' if each.influence.masking else ''}{' assumed' if each.influence.assumed else ''}"
        for each in graph.edges
    }


def test_what_plugins_record_and_what_is_assumed(instance: TemporaryInstance) -> None:
    ended = run(instance, "Exact", "Late", "Silent", "Broken")
    assert find_edges(instance, "Exact") == {
        "id -> id IDENTITY",
        "id -> name TRANSFORMATION masked",
        "name -> * SORT",
    }
    assert find_edges(instance, "Late") == {
        "id -> name TRANSFORMATION",
        "name -> name TRANSFORMATION",
    }
    assumed = {f"{a} -> {b} TRANSFORMATION assumed" for a in ("id", "name") for b in ("id", "name")}
    assumed |= {"id -> * FILTER assumed", "name -> * FILTER assumed"}
    assert find_edges(instance, "Silent") == find_edges(instance, "Broken") == assumed
    lines = instance.cdap.runs.read_log(ended.run)
    log = "\n".join(line.text for line in lines if line.level == "WARNING")
    assert "<stage:Late, [operation:Nothing, field:missing]>" in log
    assert "The field lineage of stage 'Broken' is assumed: no idea" in log


def test_operations_are_answered_as_the_original_has_them(instance: TemporaryInstance) -> None:
    run(instance, "Exact")
    lineage = instance.cdap.lineage
    assert [each.name for each in lineage.list_fields(of("Exact"))] == ["id", "name"]
    found = lineage.get_field_operations(of("Exact"), "name", Direction.INCOMING).incoming or []
    names = {tuple(sorted(each.name for each in way.operations)) for way in found}
    assert ("Exact.Name", "in.Read", "to Exact.Write") in names


def test_a_deployed_pipeline_has_edges_before_its_first_run(instance: TemporaryInstance) -> None:
    """Of what plugins record while a run is prepared, nothing is known then."""
    document = pipeline(
        [
            shipped(
                "in",
                "batchsource",
                "File",
                referenceName="source",
                path="in.csv",
                format="csv",
                schema=SCHEMA,
            ),
            {"name": "Exact", "plugin": {"type": "transform", "name": "Exact", "properties": {}}},
            shipped("out", "batchsink", "KVTable", name="kv", key__field="id", value__field="name"),
        ],
        ("in", "Exact"),
        ("Exact", "out"),
    ) | {"name": "deployed"}
    answer = instance.cdap.applications.deploy(DeployRequest(json.dumps(document)))
    assert answer.application is not None, answer.errors
    assert not answer.warnings
    assert find_edges(instance, "kv") == {
        "id -> key IDENTITY",
        "id -> value TRANSFORMATION masked",
        "id -> * GROUP_BY",
        "name -> * SORT",
    }


def test_wrong_operations_are_warnings(instance: TemporaryInstance) -> None:
    stages = [
        shipped(
            "in",
            "batchsource",
            "File",
            referenceName="source",
            path="in.csv",
            format="csv",
            schema=SCHEMA,
        ),
        {"name": "wrong", "plugin": {"type": "transform", "name": "Wrong", "properties": {}}},
        shipped("out", "batchsink", "KVTable", name="w", key__field="id", value__field="name"),
    ]
    document = pipeline(stages, ("in", "wrong"), ("wrong", "out")) | {"name": "wrong"}
    found = instance.cdap.studio.validate_pipeline(PipelineRequest(json.dumps(document)))
    assert found.spec is not None, found.errors
    deployed = instance.cdap.applications.deploy(DeployRequest(json.dumps(document)))
    for warnings in (found.warnings, deployed.warnings):
        (warning,) = [each for each in warnings if each.type == "Invalid Lineage"]
        assert warning.stage == "wrong"
        assert "[operation:Nothing, field:missing]" in warning.message


def test_nothing_that_plugins_record_stops_a_deployment_or_a_run(
    instance: TemporaryInstance,
) -> None:
    names = [f"Bad{number}" for number in range(len(CODES))]
    ended = run(instance, *names)
    deployed = instance.cdap.applications.deploy(
        DeployRequest(instance.cdap.runs.get_document(ended.run))
    )
    assert deployed.application is not None, deployed.errors
    assert all(find_edges(instance, name) for name in names)
