"""Plugins read and emit metadata while a run is prepared: the stories of the document "Metadata From Programs
and Pipelines", with its own example as a plugin.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.metadata import Metadata, MetadataEntity
from localcdap.engine.messages.spool import RunStatus
from localcdap.metadata.audit import AuditQuery, AuditType
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField
from localcdap.metadata.lineage.field_records import EdgeRecords
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.runs.model import Run
from localcdap.runs.preview.model import PreviewRequest
from localcdap.security.principals import get_process_user
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline
from tests.e2e.pipelines import stage as shipped

pytestmark = pytest.mark.spark

PLUGINS = '''
from localcdap.api import Action, MetadataEntity, MetadataScope, SparkCompute, Transform, plugin


def propagate(context, source, sink):
    """All USER metadata of one entity becomes that of another."""
    found = context.get_metadata(MetadataScope.USER, source)
    context.add_properties(sink, found.properties)
    context.add_tags(sink, *found.tags)


@plugin(type="transform", name="Propagate", description="The example of the document, on records.")
class Propagate(Transform):
    def prepare_run(self, context):
        source = MetadataEntity.of_dataset(context.arguments["source"])
        sink = MetadataEntity.of_dataset(context.arguments["sink"])
        propagate(context, source, sink)
        propagate(context, source.append("field", "name"), sink.append("field", "name"))

    def transform(self, record, emit):
        emit(record)


@plugin(type="sparkcompute", name="Mask", description="Masks the fields that are confidential.")
class Mask(SparkCompute):
    confidential = ()

    def prepare_run(self, context):
        source = MetadataEntity.of_dataset(context.arguments["source"])
        self.confidential = [
            field.name
            for field in context.input_schema
            if "confidential"
            in context.get_metadata(MetadataScope.USER, source.append("field", field.name)).tags
        ]
        context.logger.info("prepared %s", self.confidential)

    def apply(self, df, context):
        from pyspark.sql import functions as f

        for name in self.confidential:
            df = df.withColumn(name, f.lit("***"))
        return df


@plugin(type="transform", name="Hide", description="Hides confidential fields, in Spark's workers.")
class Hide(Transform):
    def metadata_entities(self, arguments):
        if arguments.get("undeclared"):
            return []
        return [MetadataEntity.of_dataset(arguments["source"]).append("field", "name")]

    def initialize(self, context):
        self.context = context
        self.field = MetadataEntity.of_dataset(context.arguments["source"]).append("field", "name")
        self.hides = "confidential" in context.get_metadata(MetadataScope.USER, self.field).tags

    def transform(self, record, emit):
        if self.context.arguments.get("late"):
            self.context.get_metadata(MetadataScope.USER, self.field)
        emit(record | {"name": "hidden"} if self.hides else record)


@plugin(type="action", name="Tag", description="Tags a custom entity.")
class Tag(Action):
    def prepare_run(self, context):
        entity = MetadataEntity({"jar": "tools"})
        context.add_tags(entity, "first", "second")
        context.remove_tags(entity, "first")
        context.add_properties(entity, {"by": "action"})

    def run(self, context):
        pass


@plugin(type="action", name="Label", description="Reads and labels entities of all kinds.")
class Label(Action):
    def prepare_run(self, context):
        dataset = MetadataEntity.of_dataset(context.arguments["dataset"])
        for entity in (
            MetadataEntity.of_namespace("default"),
            MetadataEntity.of_artifact("propagate", "1.0.0", "default"),
            dataset,
            dataset.append("field", "id"),
            MetadataEntity({"jar": "seen"}),
        ):
            found = context.get_metadata(MetadataScope.USER, entity)
            context.logger.info("found %s at %s", found.tags, entity.type)
            context.add_tags(entity, "labelled")

    def run(self, context):
        pass


@plugin(type="action", name="Wrong", description="Emits what is illegal, or reads what is not there.")
class Wrong(Action):
    def prepare_run(self, context):
        if context.arguments.get("reads"):
            context.get_metadata(MetadataScope.USER, MetadataEntity.of_dataset("nope"))
        context.add_tags(MetadataEntity.of_dataset("d"), "good", "not good")

    def run(self, context):
        pass
'''
JAR = MetadataEntity({"namespace": "default", "jar": "tools"})
SOURCE = MetadataEntity.of_dataset("people", "default")
SINK = MetadataEntity.of_dataset("copy", "default")


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("metadata")) as instance:
        folder = instance.home.path
        (folder / "plugins").mkdir(exist_ok=True)
        (folder / "plugins" / "propagate-1.0.0.py").write_text(PLUGINS, encoding="utf-8")
        (folder / "in.csv").write_text("id,name\n1,ada\n2,bob\n", encoding="utf-8")
        read = shipped("in", "batchsource", "File", **FILE)
        people = shipped("people", "batchsink", "Table", **table("people"))
        assert run(instance, pipeline([read, people], ("in", "people"))).status is COMPLETED
        instance.cdap.metadata.add(SOURCE, {"owner": "Anna"}, ["gold"])
        instance.cdap.metadata.add(SOURCE.append("field", "name"), None, ["confidential"])
        yield instance


def stage(name: str, type: str, plugin: str) -> dict[str, Any]:
    """A stage of the plugins above."""
    return {"name": name, "plugin": {"type": type, "name": plugin, "properties": {}}}


COMPLETED = RunStatus.COMPLETED
SCHEMA = (
    '{"type":"record","name":"r","fields":[{"name":"id","type":"string"},'
    '{"name":"name","type":["string","null"]}]}'
)
FILE = {
    "referenceName": "in",
    "path": "in.csv",
    "format": "csv",
    "skipHeader": "true",
    "schema": SCHEMA,
}


def table(name: str) -> dict[str, str]:
    return {"name": name, "schema": SCHEMA, "schema.row.field": "id"}


def run(instance: TemporaryInstance, document: dict[str, Any], **arguments: str) -> Run:
    return instance.run(document, arguments)


def wait_for(instance: TemporaryInstance, entity: MetadataEntity, expected: Metadata) -> None:
    """Wait until what a run emitted was stored."""
    deadline = time.monotonic() + 60
    while (found := instance.cdap.metadata.get(entity).user) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def copying(*stages: dict[str, Any]) -> dict[str, Any]:
    """A pipeline that copies the table through some stages."""
    names = [each["name"] for each in stages]
    read = shipped("people", "batchsource", "Table", **table("people"))
    write = shipped("copy", "batchsink", "Table", **table("copy"))
    path = ["people", *names, "copy"]
    return pipeline([read, *stages, write], *zip(path, path[1:], strict=False))


def test_story_6_a_plugin_propagates_metadata_of_source_and_fields(
    instance: TemporaryInstance,
) -> None:
    document = copying(stage("go", "transform", "Propagate"), stage("mask", "sparkcompute", "Mask"))
    ended = run(instance, document, source="people", sink="copy")

    assert ended.status is COMPLETED, ended.error
    wait_for(instance, SINK, Metadata.of({"owner": "Anna"}, ["gold"]))
    wait_for(instance, SINK.append("field", "name"), Metadata.of(tags=["confidential"]))
    rows = instance.cdap.tables.read_rows("default", "copy", 10).rows
    assert {row[1] for row in rows} == {"***"}
    lines = instance.cdap.runs.read_log(ended.run)
    assert len([line for line in lines if "prepared ['name']" in line.text]) == 1


def test_story_4_declared_metadata_is_read_in_workers(instance: TemporaryInstance) -> None:
    ended = run(instance, copying(stage("hide", "transform", "Hide")), source="people")
    assert ended.status is COMPLETED, ended.error
    rows = instance.cdap.tables.read_rows("default", "copy", 10).rows
    assert {row[1] for row in rows} == {"hidden"}


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("undeclared", "which its plugin does not declare."),
        ("late", "while it handles records."),
    ],
)
def test_undeclared_metadata_and_late_reads_fail_the_stage(
    instance: TemporaryInstance, argument: str, message: str
) -> None:
    document = copying(stage("hide", "transform", "Hide"))
    ended = run(instance, document, source="people", **{argument: "yes"})
    assert ended.status is RunStatus.FAILED
    assert ended.error is not None
    assert ended.error.stage == "hide"
    assert (
        "Stage 'hide' reads the metadata of namespace=default,dataset=people,field=name of type 'field'"
        in ended.error.message
    )
    assert message in ended.error.message


def test_story_5_an_action_emits_for_a_custom_entity_in_its_order(
    instance: TemporaryInstance,
) -> None:
    document = copying()
    document["config"]["stages"].append(stage("tag", "action", "Tag"))
    document["config"]["connections"].append({"from": "tag", "to": "people"})
    assert run(instance, document).status is COMPLETED
    wait_for(instance, JAR, Metadata.of({"by": "action"}, ["second"]))
    user = instance.cdap.metadata.get(JAR)
    assert user.system.is_empty()


def test_stories_1_and_2_entities_of_all_kinds_are_read_and_labelled(
    instance: TemporaryInstance,
) -> None:
    dataset = MetadataEntity.of_dataset("people", "default")
    entities = [
        MetadataEntity.of_namespace("default"),
        MetadataEntity.of_artifact("propagate", "1.0.0", "default"),
        dataset,
        dataset.append("field", "id"),
        MetadataEntity({"namespace": "default", "jar": "seen"}),
    ]
    for entity in entities:
        instance.cdap.metadata.add(entity, None, ["before"])
    document = copying()
    document["config"]["stages"].append(stage("label", "action", "Label"))
    document["config"]["connections"].append({"from": "label", "to": "people"})
    ended = run(instance, document, dataset="people")
    assert ended.status is COMPLETED, ended.error
    lines = [each.text for each in instance.cdap.runs.read_log(ended.run)]
    for entity in entities:
        found = instance.cdap.metadata.get(entity).user
        assert any("'before'" in line and f"at {entity.type}" in line for line in lines), lines
        wait_for(instance, entity, Metadata.of(found.properties, {*found.tags, "labelled"}))
        instance.cdap.metadata.remove(entity, None, ["before", "labelled"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Illegal format for 'not good'"),
        (
            {"reads": "yes"},
            "Stage 'wrong': the metadata of dataset: nope which exists in namespace: ",
        ),
    ],
)
def test_what_is_illegal_or_missing_fails_the_run_with_its_stage(
    instance: TemporaryInstance, arguments: dict[str, str], message: str
) -> None:
    document = copying()
    document["config"]["stages"].append(stage("wrong", "action", "Wrong"))
    document["config"]["connections"].append({"from": "wrong", "to": "people"})
    ended = run(instance, document, **arguments)
    assert ended.status is RunStatus.FAILED
    assert ended.error is not None
    assert ended.error.stage == "wrong"
    assert message in ended.error.message


def test_story_3_a_pipeline_that_asks_for_it_propagates_metadata(
    instance: TemporaryInstance,
) -> None:
    document = copying()
    document["name"] = "propagating"
    document["config"]["stages"][-1]["plugin"]["properties"]["name"] = "target"
    target = MetadataEntity.of_dataset("target", "default")
    assert run(instance, document).status is COMPLETED
    assert instance.cdap.metadata.get(target).user.is_empty()

    people, made = DatasetId("default", "people"), DatasetId("default", "target")
    edge = ColumnEdge(DatasetField(people, "name"), DatasetField(made, "name"))
    with instance.cdap.runs._store.transaction() as tx:
        EdgeRecords(tx).replace("default", "propagating", [edge])
    instance.cdap.metadata.add(target, {"owner": "Bob"})
    document["config"]["properties"] = {"propagateMetadata": "true"}
    ended = run(instance, document)
    assert ended.status is COMPLETED
    user = instance.cdap.metadata.get(target).user
    assert user == Metadata.of({"owner": "Bob"}, ["gold"])
    field = instance.cdap.metadata.get(target.append("field", "name")).user
    assert field == Metadata.of(tags=["confidential"])
    query = AuditQuery(entity=target, types=[AuditType.METADATA_CHANGE], limit=1)
    assert [each.user for each in instance.cdap.audit.list_messages(query)] == [ended.user]


@pytest.fixture
def guarded(instance: TemporaryInstance) -> Iterator[None]:
    """The user may write the table ``copy`` and do anything with pipelines, but not change ``people``."""
    user = get_process_user()
    rights = ['"namespaces/default" = ["READ", "EXECUTE", "ADMIN"]']
    rights += ['"namespaces/default/datasets/copy" = ["WRITE"]']
    text = "\n".join(["[security]", "enabled = true", f'[security.privileges."{user}"]', *rights])
    instance.settings(text + "\n")
    yield
    instance.settings("")


def test_an_emission_without_the_right_fails_the_call_with_stage_and_entity(
    instance: TemporaryInstance, guarded: None
) -> None:
    document = copying(stage("go", "transform", "Propagate"))
    before = instance.cdap.metadata.get(SOURCE).user
    ended = run(instance, document, source="people", sink="people")
    assert ended.status is RunStatus.FAILED
    assert ended.error is not None
    assert ended.error.stage == "go"
    assert ended.error.message.startswith(
        "Stage 'go': the metadata of dataset: people which exists in namespace: default cannot be changed: "
        f"Principal '{ended.user}' has insufficient privileges to perform action 'WRITE' on entity "
        "'dataset:default.people'."
    )
    assert '"namespaces/default/datasets/people" = ["WRITE"]' in (
        ended.error.corrective_action or ""
    )
    assert run(instance, document, source="people", sink="copy").status is COMPLETED
    assert instance.cdap.metadata.get(SOURCE).user == before

    preview = instance.cdap.previews.start(
        PreviewRequest(document, arguments={"source": "people", "sink": "people"})
    )
    while not preview.status.is_end:
        preview = instance.cdap.previews.wait("default", preview.preview, preview.version, 5.0)
    assert preview.error is not None
    assert "insufficient privileges" in preview.error.message


def test_a_preview_emits_nothing_and_shows_what_a_run_would_emit(
    instance: TemporaryInstance,
) -> None:
    document = copying(stage("go", "transform", "Propagate"))
    arguments = {"source": "people", "sink": "other"}
    cdap = instance.cdap
    preview = cdap.previews.start(PreviewRequest(document, arguments=arguments))
    while not preview.status.is_end:
        preview = cdap.previews.wait("default", preview.preview, preview.version, 5.0)
    assert preview.error is None
    shown = [line.text for line in preview.logs if "A run would emit" in line.text]
    assert shown[0] == (
        "A run would emit: PUT metadata of dataset: other which exists in namespace: default: owner=Anna"
    )
    assert len(shown) == 4
    assert instance.cdap.messaging.list_listeners()[0].waiting == 0
    found = cdap.metadata.export("default")
    assert "other" not in {each.entity.details.get("dataset") for each in found}
