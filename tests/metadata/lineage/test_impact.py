"""What a change of a pipeline means, for deployed pipelines that have never run."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import NotFoundError
from localcdap.api.lineage import EdgeKind
from localcdap.api.metadata import Metadata, MetadataEntity, ScopedMetadata
from localcdap.cli.main import run as run_command
from localcdap.metadata.lineage.impact_service import (
    DatasetFieldChange,
    FieldReader,
    ImpactReport,
    ImpactRequest,
    StageFieldChange,
)
from localcdap.metadata.lineage.impact_text import describe_stage_field
from localcdap.metadata.records import STANDARD_DIRECTIVES, CreateMutation
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.testing.instance import TemporaryInstance
from tests.e2e.pipelines import pipeline, schema, stage


def file_source(name: str, reference: str, **fields: str) -> dict[str, Any]:
    return stage(
        name,
        "batchsource",
        "File",
        referenceName=reference,
        path="/data/in.csv",
        format="csv",
        schema=schema(**fields),
    )


def projection(**properties: str) -> dict[str, Any]:
    return stage("clean", "transform", "Projection", **properties)


def file_sink(name: str, reference: str, **properties: str) -> dict[str, Any]:
    return stage(
        name,
        "batchsink",
        "File",
        referenceName=reference,
        path="/data/out",
        format="csv",
        **properties,
    )


def named(name: str, document: dict[str, Any]) -> dict[str, Any]:
    return document | {"name": name}


def load(**clean: str) -> dict[str, Any]:
    fields = {"id": "int", "mail": "string", "total": "string", "note": "string"}
    stages = [file_source("in", "raw", **fields), projection(**clean), file_sink("out", "orders")]
    return named("load", pipeline(stages, ("in", "clean"), ("clean", "out")))


def report() -> dict[str, Any]:
    stages = [
        file_source("orders", "orders", id="int", mail="string", total="string"),
        stage(
            "group",
            "batchaggregator",
            "GroupByAggregate",
            groupByFields="mail",
            aggregates="many:count(id)",
        ),
        file_sink("out", "counts"),
    ]
    return named("report", pipeline(stages, ("orders", "group"), ("group", "out")))


def publish() -> dict[str, Any]:
    stages = [file_source("in", "counts", mail="string", many="long"), file_sink("out", "public")]
    return named("publish", pipeline(stages, ("in", "out")))


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path_factory.mktemp("impact")) as instance:
        for document in (load(drop="note"), report(), publish()):
            answer = instance.cdap.applications.deploy(DeployRequest(json.dumps(document)))
            assert answer.application is not None, answer.errors
        yield instance


def assess(instance: TemporaryInstance, document: dict[str, Any], **more: Any) -> ImpactReport:
    return instance.cdap.impact.assess(ImpactRequest(json.dumps(document), **more))


def test_an_unchanged_pipeline_breaks_nothing(instance: TemporaryInstance) -> None:
    found = assess(instance, load(drop="note"))
    assert found.against == "'load' version 1"
    assert not found.breaks
    assert (found.stages, found.datasets, found.readers) == ([], [], [])
    assert found.unused == [("raw", "note")]


def test_a_removed_field_reaches_pipelines_behind_its_readers(instance: TemporaryInstance) -> None:
    found = assess(instance, load(drop="mail,note"))
    assert found.stages == [StageFieldChange("clean", "mail", "removed", "string")]
    assert found.datasets == [DatasetFieldChange("orders", "mail", "removed", ["string"])]
    assert found.readers == [
        FieldReader("report", "orders", "mail", "orders"),
        FieldReader("report", "orders", "mail", None, "counts.mail", EdgeKind.IDENTITY),
        FieldReader("report", "orders", "mail", None, "counts.*", EdgeKind.GROUP_BY),
        FieldReader("publish", "counts", "mail", None, "public.mail", EdgeKind.IDENTITY),
        FieldReader("publish", "counts", "many", None, "public.many", EdgeKind.IDENTITY),
    ]
    assert found.breaks


def test_types_sources_and_added_fields(instance: TemporaryInstance) -> None:
    found = assess(instance, load(convert="total:double", rename="note:mail,mail:text"))
    assert found.stages == [
        StageFieldChange("clean", "total", "type", "string", "double"),
        StageFieldChange("clean", "text", "added", None, "string"),
    ]
    assert found.datasets == [
        DatasetFieldChange("orders", "mail", "sources", ["raw.mail"], ["raw.note"]),
        DatasetFieldChange("orders", "total", "type", ["string"], ["double"]),
        DatasetFieldChange("orders", "text", "added", [], ["string"]),
    ]
    assert {each.field for each in found.readers if each.stage} == {"mail", "total"}


def test_a_new_pipeline_loses_nothing(instance: TemporaryInstance) -> None:
    found = assess(instance, load(drop="note") | {"name": "other"})
    assert found.against is None
    assert not found.breaks
    with pytest.raises(NotFoundError, match="nobody"):
        assess(instance, load(drop="note"), against="nobody")


def test_pipelines_with_failures_and_given_documents(instance: TemporaryInstance) -> None:
    broken = copy.deepcopy(load(drop="mail,note"))
    broken["config"]["stages"].append(stage("alone", "transform", "Missing"))
    found = assess(instance, broken)
    assert found.errors
    assert [each.field for each in found.datasets] == ["mail"]
    found = assess(instance, load(drop="note"), against_document=json.dumps(load(drop="mail")))
    assert {(each.field, each.change) for each in found.datasets} == {
        ("note", "removed"),
        ("mail", "added"),
    }


def test_the_command(
    instance: TemporaryInstance, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "load.json"
    file.write_text(json.dumps(load(drop="mail,note")), encoding="utf-8")
    home = ["--home", str(instance.home.path)]
    assert run_command(["impact", str(file), *home]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown == [
        "Compared with 'load' version 1.",
        "Fields of stages",
        "  clean loses 'mail'",
        "Fields of datasets",
        "  orders loses 'mail'",
        "Pipelines that depend on these fields",
        "  report reads orders.mail in stage 'orders'",
        "  report reads orders.mail for counts.mail (IDENTITY)",
        "  report reads orders.mail for counts.* (GROUP_BY)",
        "  publish reads counts.mail for public.mail (IDENTITY)",
        "  publish reads counts.many for public.many (IDENTITY)",
        "Fields of datasets that the pipeline reads and does not use",
        "  raw.mail",
        "  raw.note",
    ]
    file.write_text(json.dumps(load(drop="note")), encoding="utf-8")
    assert run_command(["impact", str(file), "--against", str(file), *home]) == 0
    assert ": no field changes." in capsys.readouterr().out
    file.write_text(json.dumps(load(drop="note") | {"name": "other"}), encoding="utf-8")
    assert run_command(["impact", str(file), *home]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "No pipeline 'other' is deployed, so there is nothing to compare with.",
        "Compare it with another one, or with a file: --against PIPELINE.",
    ]
    assert run_command(["impact", str(file), "--json", *home]) == 0
    assert json.loads(capsys.readouterr().out)["readers"] == []


def test_fields_that_nobody_writes(instance: TemporaryInstance) -> None:
    """The dataset ``public`` has a schema with a field that no run and not this pipeline has written."""
    entity = MetadataEntity.of_dataset("public", "default")
    known = schema(mail="string", many="long", remark="string")
    service = instance.cdap.metadata
    with service._store.transaction() as tx:
        given = ScopedMetadata(system=Metadata.of({"schema": known}))
        service._metadata.apply(tx, [CreateMutation(entity, given, STANDARD_DIRECTIVES)])
    assert assess(instance, publish()).unwritten == [("public", "remark")]


def test_a_field_of_a_stage_is_followed_in_a_draft(instance: TemporaryInstance) -> None:
    request = ImpactRequest(json.dumps(load(drop="note", rename="mail:contact")))
    found = instance.cdap.impact.trace_field(request, "clean", "contact")
    assert describe_stage_field(found, "default") == [
        ("Comes from", ["raw.mail  direct: identity"]),
        ("Goes to", ["orders.contact  direct: identity"]),
    ]
    request = ImpactRequest(json.dumps(report()))
    found = instance.cdap.impact.trace_field(request, "orders", "mail")
    assert describe_stage_field(found, "default") == [
        ("Comes from", ["orders.mail  direct: identity"]),
        ("Goes to", ["counts.mail  direct: identity", "counts.*  indirect: group by"]),
    ]
    found = instance.cdap.impact.trace_field(request, "group", "many")
    assert describe_stage_field(found, "default") == [
        (
            "Comes from",
            ["orders.id  direct: aggregation (masking)", "orders.mail  indirect: group by"],
        ),
        ("Goes to", ["counts.many  direct: identity"]),
    ]


def big_query(name: str, type: str, reference: str, **fields: str) -> dict[str, Any]:
    more = {"serviceAccountType": "filePath", "serviceFilePath": "auto-detect", "project": "p"}
    given = {"referenceName": reference, "dataset": "shop", "table": "mails"}
    made = stage(
        name, type, "BigQueryTable", "google-cloud", schema=schema(**fields), **given, **more
    )
    made["plugin"]["artifact"]["version"] = "0.24.0"
    return made


def test_a_reader_knows_a_table_by_another_name(instance: TemporaryInstance) -> None:
    def write(**fields: str) -> dict[str, Any]:
        stages = [file_source("in", "raw", **fields), big_query("out", "batchsink", "a", **fields)]
        return named("bq_write", pipeline(stages, ("in", "out")))

    read = [big_query("in", "batchsource", "b", mail="string"), file_sink("out", "copies")]
    for document in (
        write(id="int", mail="string"),
        named("bq_read", pipeline(read, ("in", "out"))),
    ):
        answer = instance.cdap.applications.deploy(DeployRequest(json.dumps(document)))
        assert answer.application is not None, answer.errors
    assert assess(instance, write(id="int")).readers == [
        FieldReader("bq_read", "b", "mail", "in"),
        FieldReader("bq_read", "b", "mail", None, "copies.mail", EdgeKind.IDENTITY),
    ]


def test_only_the_pipelines_that_name_a_dataset_are_read(instance: TemporaryInstance) -> None:
    applications: ApplicationService = instance.cdap.applications
    assert list(applications.list_specs_with("default", ["counts"])) == ["publish", "report"]
    assert applications.list_specs_with("default", ["public", "raw"]).keys() >= {"load", "publish"}
    assert applications.list_specs_with("default", ['"counts"']) == {}
    assert applications.list_specs_with("nowhere", ["counts"]) == {}
