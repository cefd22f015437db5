"""What runs read and write is in lineage and audit: reads when they happen, writes when they commit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.cli.main import run as run_command
from localcdap.engine.messages.spool import RunStatus
from localcdap.metadata.audit import AuditQuery, AuditType
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.runs.preview.model import PreviewRequest
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline, stage

pytestmark = pytest.mark.spark

SCHEMA = (
    '{"type":"record","name":"r","fields":[{"name":"id","type":"string"},'
    '{"name":"name","type":["string","null"]}]}'
)
PLUGINS = """
from localcdap.api import Action, PostAction, Transform, plugin


@plugin(type="transform", name="LookUp", description="Looks into the table 'names'.")
class LookUp(Transform):
    def lookup_tables(self):
        return ["names"]

    def initialize(self, context):
        self.names = context.lookup("names")

    def transform(self, record, emit):
        self.names.get(record["id"])
        emit(record)


@plugin(type="action", name="Sql", description="Reads and changes tables by SQL, and may fail then.")
class Sql(Action):
    def run(self, context):
        context.run_sql(['CREATE OR REPLACE TABLE made AS FROM "names"'], ["made"])
        context.run_sql(['SELECT count(*) FROM made'])
        if context.arguments.get("fails"):
            raise ValueError("asked to fail")


@plugin(type="postaction", name="Report", description="Looks into a table when the run has ended.")
class Report(PostAction):
    def run(self, context):
        context.lookup("names").get("1")
"""
FAILING = "throw new Error('asked to fail');"


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("accesses")) as instance:
        (instance.home.path / "plugins").mkdir()
        place = instance.home.path / "plugins" / "accesses-1.0.0.py"
        place.write_text(PLUGINS, encoding="utf-8")
        (instance.home.path / "in.csv").write_text("id,name\n1,ada\n", encoding="utf-8")
        yield instance


def source(reference: str) -> dict[str, Any]:
    return stage(
        "in",
        "batchsource",
        "File",
        referenceName=reference,
        path="in.csv",
        format="csv",
        skipHeader="true",
        schema=SCHEMA,
    )


def table(stage_name: str, type: str, name: str) -> dict[str, Any]:
    made = stage(stage_name, type, "Table", schema=SCHEMA, schema__row__field="id")
    made["plugin"]["properties"]["name"] = name
    return made


def table_of(stage_name: str, name: str, schema: str, key: str) -> dict[str, Any]:
    made = table(stage_name, "batchsink", name)
    made["plugin"]["properties"] |= {"schema": schema, "schema.row.field": key}
    return made


def own(name: str, type: str, plugin: str) -> dict[str, Any]:
    """A stage of the plugins above."""
    return {"name": name, "plugin": {"type": type, "name": plugin, "properties": {}}}


def named(name: str, document: dict[str, Any]) -> dict[str, Any]:
    return document | {"name": name}


def load(reference: str, name: str) -> dict[str, Any]:
    """A pipeline from a file to a table."""
    stages = [source(reference), table("out", "batchsink", name)]
    return named(f"load_{name}", pipeline(stages, ("in", "out")))


def find(instance: TemporaryInstance, dataset: str, **more: Any) -> set[tuple[str, ...]]:
    entity = MetadataEntity.of_dataset(dataset, "default")
    record = instance.cdap.lineage.get(entity, **more)
    return {
        (each.data.split(".")[-1], *each.accesses, each.program.split(".")[2])
        for each in record.relations
    }


def test_a_chain_of_pipelines_is_found_from_each_end(instance: TemporaryInstance) -> None:
    copy = [table("from", "batchsource", "people"), table("to", "batchsink", "copies")]
    assert instance.run(load("raw", "people")).status is RunStatus.COMPLETED
    assert instance.run(named("copy", pipeline(copy, ("from", "to")))).status is RunStatus.COMPLETED

    whole = {
        ("raw", "read", "load_people"),
        ("people", "write", "load_people"),
        ("people", "read", "copy"),
        ("copies", "write", "copy"),
    }
    assert find(instance, "raw") == find(instance, "copies") == find(instance, "people") == whole
    assert find(instance, "raw", levels=1) == {
        ("raw", "read", "load_people"),
        ("people", "write", "load_people"),
    }
    assert find(instance, "raw", start="0", end="1") == set()
    assert find(instance, "unknown") == set()


def test_a_reference_name_becomes_an_external_dataset_with_a_schema(
    instance: TemporaryInstance,
) -> None:
    instance.run(load("outside", "inside"))
    found = instance.cdap.metadata.get(MetadataEntity.of_dataset("outside", "default")).system
    assert found.properties["entity-name"] == "outside"
    assert [each["name"] for each in json.loads(found.properties["schema"])["fields"]] == [
        "id",
        "name",
    ]
    assert found.properties["type"] == "externalDataset"
    dataset = instance.cdap.datasets.describe("default", "outside")
    assert (dataset.type, dataset.schema.field_names) == ("externalDataset", ["id", "name"])
    inside = instance.cdap.metadata.get(MetadataEntity.of_dataset("inside", "default")).system
    assert inside.properties["type"] == "table"


def find_edges(instance: TemporaryInstance, dataset: str, field: str) -> set[tuple[str, ...]]:
    """The edges that lead to a field, over any number of pipelines; a field None is written as ``*``."""
    entity = MetadataEntity.of_dataset(dataset, "default")
    graph = instance.cdap.lineage.trace_fields(entity, field, Direction.INCOMING).incoming
    assert graph is not None
    return {
        (
            f"{each.source.dataset.dataset}.{each.source.field}",
            f"{each.target.dataset.dataset}.{each.target.field or '*'}",
            each.influence.kind.value,
        )
        for each in graph.edges
    }


@pytest.mark.slow
def test_fields_are_followed_through_recipes_aggregates_and_pipelines(
    instance: TemporaryInstance,
) -> None:
    output = (
        '{"type":"record","name":"o","fields":[{"name":"key","type":"string"},'
        '{"name":"label","type":["string","null"]}]}'
    )
    recipe = "uppercase :name; merge :name :id :label '-'; filter-row exp:{id == '9'} true; rename :id :key"
    wrangle = stage(
        "wrangle",
        "transform",
        "Wrangler",
        "wrangler-transform",
        field="*",
        directives=recipe,
        schema=output,
    )
    group = stage(
        "group",
        "batchaggregator",
        "GroupByAggregate",
        groupByFields="label",
        aggregates="many:count(key)",
    )
    first = [source("field-raw"), wrangle, table_of("out", "field-labels", output, "key")]
    read = table("in", "batchsource", "field-labels")
    read["plugin"]["properties"] |= {"schema": output, "schema.row.field": "key"}
    sink = stage("sink", "batchsink", "KVTable", name="field-counts", **{"key.field": "label"})
    sink["plugin"]["properties"]["value.field"] = "label"
    second = [read, group, sink]
    document = named("labels", pipeline(first, ("in", "wrangle"), ("wrangle", "out")))
    assert instance.run(document).status is RunStatus.COMPLETED
    document = named("counts", pipeline(second, ("in", "group"), ("group", "sink")))
    assert instance.run(document).status is RunStatus.COMPLETED

    assert find_edges(instance, "field-counts", "value") == {
        ("field-labels.label", "field-counts.value", "IDENTITY"),
        ("field-labels.label", "field-counts.*", "GROUP_BY"),
        ("field-raw.name", "field-labels.label", "TRANSFORMATION"),
        ("field-raw.id", "field-labels.label", "TRANSFORMATION"),
        ("field-raw.id", "field-labels.*", "FILTER"),
    }


def big_query(name: str, type: str, reference: str) -> dict[str, Any]:
    more = {"serviceAccountType": "filePath", "serviceFilePath": "auto-detect"}
    given = {"referenceName": reference, "dataset": "shop", "table": "people", "schema": SCHEMA}
    made = stage(name, type, "BigQueryTable", "google-cloud", project="p", **given, **more)
    made["plugin"]["artifact"]["version"] = "0.24.0"
    return made


def test_a_table_has_the_names_by_which_pipelines_know_it(
    instance: TemporaryInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    write = [source("bq-raw"), big_query("out", "batchsink", "people_out")]
    read = [big_query("in", "batchsource", "people_in"), table("out", "batchsink", "bq-copies")]
    document = named("bq_write", pipeline(write, ("in", "out")))
    assert instance.run(document).status is RunStatus.COMPLETED
    deployed = instance.cdap.applications.deploy(
        DeployRequest(named("bq_read", pipeline(read, ("in", "out"))))
    )
    assert deployed.application is not None, deployed.errors
    assert find_edges(instance, "bq-copies", "name") == {
        ("people_in.name", "bq-copies.name", "IDENTITY"),
        ("bq-raw.name", "people_out.name", "IDENTITY"),
    }
    assert find_edges(instance, "shop.people", "name") == {
        ("bq-raw.name", "people_out.name", "IDENTITY")
    }
    run_command(["lineage", "bq-copies", "--field", "name", "--home", str(instance.home.path)])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["incoming", "1", "people_out.name", "people_in.name", "same", "data"] in lines
    # Tables of the instance are there under their own names too.
    assert find(instance, "people_in") == find(instance, "shop.people") == find(instance, "bq-raw")


def test_accesses_are_in_the_audit_log_with_their_run(instance: TemporaryInstance) -> None:
    ended = instance.run(load("audited", "audits"))
    query = AuditQuery(types=[AuditType.ACCESS], limit=2)
    write, read = instance.cdap.audit.list_messages(query)
    assert (read.metadata_entity.name, write.metadata_entity.name) == ("audited", "audits")
    assert (read.payload["accessType"], write.payload["accessType"]) == ("READ", "WRITE")
    assert read.payload["accessor"] == {
        "namespace": "default",
        "application": "load_audits",
        "version": "-SNAPSHOT",
        "type": "Workflow",
        "program": "DataPipelineWorkflow",
        "run": ended.run,
        "entity": "PROGRAM_RUN",
    }
    assert read.user == ended.user


def test_a_failed_run_has_read_and_not_written(instance: TemporaryInstance) -> None:
    script = stage(
        "fail", "transform", "JavaScript", script=f"function transform(i, e) {{ {FAILING} }}"
    )
    stages = [source("read-only"), script, table("out", "batchsink", "never")]
    document = named("fails", pipeline(stages, ("in", "fail"), ("fail", "out")))
    assert instance.run(document).status is RunStatus.FAILED
    assert find(instance, "read-only") == {("read-only", "read", "fails")}
    assert find(instance, "never") == set()


def test_a_preview_leaves_nothing(instance: TemporaryInstance) -> None:
    cdap = instance.cdap
    preview = cdap.previews.start(PreviewRequest(load("previewed", "previews")))
    while not preview.status.is_end:
        preview = cdap.previews.wait("default", preview.preview, preview.version, 5.0)
    assert preview.error is None
    assert find(instance, "previewed") == find(instance, "previews") == set()


def test_the_command_shows_relations(
    instance: TemporaryInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*arguments: str) -> int:
        return run_command(["lineage", *arguments, "--home", str(instance.home.path)])

    instance.run(load("shown", "seen"))
    assert call("shown") == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "seen     write  load_seen       1",
        "shown    read   load_seen       1",
    ]
    assert call("datasets/seen", "--levels", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["data"].keys() == {
        "dataset.default.seen",
        "dataset.default.shown",
    }
    assert call("nothing") == 1
    assert call("shown", "--levels", "0") == 2
    assert "Invalid levels (0), should be greater than 0." in capsys.readouterr().err


def test_lineage_is_asked_of_datasets_in_namespaces(instance: TemporaryInstance) -> None:
    with pytest.raises(BadRequestError, match="Lineage is known of datasets"):
        instance.cdap.lineage.get(MetadataEntity.of_application("a", "default"))
    with pytest.raises(NotFoundError):
        instance.cdap.lineage.get(MetadataEntity.of_dataset("d", "nowhere"))


def test_the_lineage_of_a_namespace_is_removed_with_it(instance: TemporaryInstance) -> None:
    instance.cdap.namespaces.create("gone")
    instance.run(load("x", "y"), namespace="gone")
    entity = MetadataEntity.of_dataset("x", "gone")
    assert instance.cdap.lineage.get(entity).relations
    instance.cdap.namespaces.delete("gone")
    instance.cdap.namespaces.create("gone")
    assert instance.cdap.lineage.get(entity).relations == []


def test_lookups_and_sql_of_actions_are_accesses(instance: TemporaryInstance) -> None:
    assert instance.run(load("raw", "names")).status is RunStatus.COMPLETED
    stages = [
        own("sql", "action", "Sql"),
        source("looked"),
        own("look", "transform", "LookUp"),
        table("out", "batchsink", "found"),
    ]
    document = named("looks", pipeline(stages, ("sql", "in"), ("in", "look"), ("look", "out")))
    document["config"]["postActions"] = [own("report", "postaction", "Report")]

    # The transform records nothing, so that all columns of its table may be in all fields.
    looked_up = {
        ("names.name", "found.name", "TRANSFORMATION"),
        ("names.id", "found.name", "JOIN"),
        ("names.name", "found.*", "FILTER"),
    }
    instance.cdap.applications.deploy(DeployRequest(document))
    assert looked_up < find_edges(instance, "found", "name")

    ended = instance.run(document)
    assert ended.status is RunStatus.COMPLETED, ended.error
    assert looked_up < find_edges(instance, "found", "name")
    assert find(instance, "looked", levels=1) == {
        ("looked", "read", "looks"),
        ("names", "read", "looks"),
        ("made", "read", "looks"),
        ("made", "write", "looks"),
        ("found", "write", "looks"),
    }
    query = AuditQuery(types=[AuditType.ACCESS], user=ended.user, limit=20)
    accesses = [
        (each.metadata_entity.name, each.payload["accessType"])
        for each in instance.cdap.audit.list_messages(query)
        if each.payload["accessor"]["run"] == ended.run
    ]
    assert set(accesses) >= {("names", "READ"), ("made", "WRITE"), ("made", "READ")}


def test_what_an_action_has_changed_counts_also_when_the_run_fails(
    instance: TemporaryInstance,
) -> None:
    stages = [own("sql", "action", "Sql"), source("unread"), table("out", "batchsink", "never")]
    document = named("stops", pipeline(stages, ("sql", "in"), ("in", "out")))
    assert instance.run(document, {"fails": "yes"}).status is RunStatus.FAILED
    found = find(instance, "made", levels=1)
    assert {each for each in found if each[-1] == "stops"} == {
        ("made", "read", "stops"),
        ("made", "write", "stops"),
        ("names", "read", "stops"),
    }
    assert find(instance, "unread") == set()


def test_the_user_of_a_run_has_created_its_tables(instance: TemporaryInstance) -> None:
    ended = instance.run(load("first", "brand_new"))
    query = AuditQuery(
        entity=MetadataEntity.of_dataset("brand_new", "default"), types=[AuditType.CREATE]
    )
    (created,) = instance.cdap.audit.list_messages(query)
    assert ended.user
    assert created.user == ended.user


def test_the_audit_log_has_the_artifacts_that_come_and_go(instance: TemporaryInstance) -> None:
    place = instance.home.path / "plugins" / "passing-1.0.0.py"
    place.write_text(PLUGINS, encoding="utf-8")
    instance.cdap.artifacts.sync()
    entity = MetadataEntity.of_artifact("passing", "1.0.0", "default")
    instance.cdap.metadata.add(entity, None, ["kept"])
    place.unlink()
    instance.cdap.artifacts.sync()
    types = [AuditType.CREATE, AuditType.DELETE]
    found = instance.cdap.audit.list_messages(AuditQuery(entity=entity, types=types))
    assert [each.type for each in found] == [AuditType.DELETE, AuditType.CREATE]
    assert instance.cdap.metadata.get(entity).user.tags == ["kept"]
