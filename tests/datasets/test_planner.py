"""What declarations of pipelines mean for existing datasets."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from localcdap.api.dataset.definition import DatasetDeclaration, PartitionChange
from localcdap.api.errors import ConflictError, IncompatibleUpdateError, UnauthorizedError
from localcdap.api.schema import Schema
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.model import DatasetRequest
from localcdap.datasets.planner import PipelineDatasets
from localcdap.metadata.audit import AuditLog
from localcdap.pipeline.validation.datasets import (
    StageDataset,
    create_update_failures,
    create_update_warnings,
)

from .conftest import Instance

INT, LONG, STRING = Schema.INT, Schema.LONG, Schema.STRING


def table(key: str = "id", **fields: Schema) -> list[StageDataset]:
    properties = {"schema": str(Schema.record("r", list(fields.items()))), "schema.row.field": key}
    return [StageDataset("Sink", DatasetDeclaration("t", "table", properties, "name"))]


class Pipelines:
    def __init__(self, instance: Instance, datasets: DatasetService, root: Path) -> None:
        self.planner = PipelineDatasets(instance.store, root)
        self.datasets = datasets
        self.folder = root / "default"
        self._store = instance.store

    def deploy(self, name: str | None, declared: list[StageDataset]) -> list[str]:
        with self._store.transaction() as tx:
            return [each.name for each in self.planner.apply(tx, "default", declared, name)]

    def reasons(self, name: str | None, declared: list[StageDataset]) -> list[str]:
        return [each.message for each in self.planner.plan("default", declared, name).failures]

    @property
    def schema(self) -> dict[str, str]:
        found = self.datasets.describe("default", "t").schema
        return {each.name: str(each.schema) for each in found}


@pytest.fixture
def pipelines(instance: Instance, tmp_path) -> Pipelines:
    audit = AuditLog(instance.topics)
    datasets = DatasetService(
        instance.store, instance.namespaces, instance.topics, audit, tmp_path / "filesets"
    )
    return Pipelines(instance, datasets, tmp_path / "filesets")


def test_the_first_deployment_creates_the_dataset_and_the_next_one_changes_nothing(pipelines):
    rows = table(id=INT, name=STRING)
    plan = pipelines.planner.plan("default", rows, "a")

    assert [change.is_new for _, change in plan.changes] == [True]
    assert create_update_failures(plan) == create_update_warnings(plan) == []
    assert not pipelines.datasets.has_dataset("default", "t"), "a plan changes nothing"
    assert pipelines.deploy("a", rows) == ["t"]
    assert pipelines.deploy("a", rows) == []
    assert pipelines.schema == {"id": '"int"', "name": '"string"'}


def test_a_new_version_adds_what_it_writes(pipelines):
    pipelines.deploy("a", table(id=INT, n=INT))
    wider = table(id=INT, n=LONG.as_nullable, more=STRING)

    (failure,) = create_update_failures(pipelines.planner.plan("default", wider, None))
    (warning,) = create_update_warnings(pipelines.planner.plan("default", wider, "a"))
    assert (
        "it changes 'n' from int to long or null, adds 'more' (string or null)" in failure.message
    )
    assert failure.message.startswith("Dataset 't' must change before the run can write it")
    assert (failure.stage, failure.causes[0].attributes) == ("Sink", {"stageConfig": "name"})
    assert warning.message.startswith("The deployment changes dataset 't'")
    assert pipelines.deploy("a", wider) == ["t"]
    assert pipelines.schema == {
        "id": '"int"',
        "n": '["long","null"]',
        "more": '["string","null"]',
    }
    assert pipelines.deploy("a", table(id=INT, n=INT, more=STRING)) == [], "narrower rows fit"


def test_a_pipeline_may_not_drop_or_rename_what_only_it_wrote(pipelines):
    pipelines.deploy("a", table(id=INT, old=STRING.as_nullable))
    renamed = table(id=INT, new=STRING.as_nullable)

    assert pipelines.reasons("a", renamed) == [
        (
            "Dataset 't': field 'old' (string or null) cannot be dropped or renamed: the last version of "
            "this pipeline has written it."
        )
    ]
    with pytest.raises(IncompatibleUpdateError, match="'old'"):
        pipelines.deploy("a", renamed)
    assert pipelines.deploy("b", table(id=INT, old=STRING.as_nullable, x=INT)) == ["t"]
    assert pipelines.deploy("a", renamed) == ["t"], "another pipeline writes the field"
    assert list(pipelines.schema) == ["id", "old", "x", "new"]


def test_two_pipelines_write_different_fields_of_one_dataset(pipelines):
    pipelines.deploy("a", table(id=INT, name=STRING.as_nullable))

    assert pipelines.deploy("b", table(id=INT, city=STRING.as_nullable)) == ["t"]
    assert pipelines.reasons("a", table(id=INT, name=STRING.as_nullable)) == []
    with pipelines._store.transaction() as tx:
        pipelines.planner.forget(tx, "default", "b")
    assert pipelines.reasons("c", table(id=INT)) == []


def test_every_reason_is_a_failure_of_its_stage(pipelines):
    pipelines.deploy("a", table(id=INT, name=STRING, n=INT))

    found = pipelines.planner.plan("default", table(id=STRING, n=INT), "b").failures
    assert [each.message for each in found] == [
        "Dataset 't': field 'name' (string) must have a value in every row, but it is not written."
    ]
    found = pipelines.planner.plan("default", table(id=STRING, name=STRING, n=STRING), "b").failures
    assert [each.message.rpartition(":")[0] for each in found] == [
        "Dataset 't': field 'id' cannot change from int to string",
        "Dataset 't': field 'n' cannot change from int to string",
    ]
    assert {each.stage for each in found} == {"Sink"}


def test_another_type_is_refused(pipelines):
    pipelines.datasets.create(DatasetRequest("t", "fileSet"))

    assert pipelines.reasons("a", table(id=INT)) == [
        "Existing dataset 't' of type 'fileSet' may not be updated to type 'table'"
    ]
    other = [StageDataset("Sink", DatasetDeclaration("f", "objectStore", {}))]
    (reason,) = pipelines.reasons("a", other)
    assert "A stage cannot create a dataset of type 'objectStore'" in reason


def test_properties_that_an_administrator_has_set_stay(pipelines):
    pipelines.datasets.create(
        DatasetRequest(
            "t", "table", {**table(id=INT)[0].declaration.properties, "conflict.level": "ROW"}
        )
    )

    assert pipelines.deploy("a", table(id=INT, more=INT.as_nullable)) == ["t"]
    found = pipelines.datasets.describe("default", "t").properties
    assert found["conflict.level"] == "ROW"


def test_tables_and_key_value_tables_may_be_alike(pipelines):
    rows = {"schema": str(Schema.record("r", [("key", STRING), ("value", STRING)]))}
    pipelines.datasets.create(DatasetRequest("t", "table", {**rows, "schema.row.field": "key"}))
    values = [StageDataset("KV", DatasetDeclaration("t", "keyValueTable", rows))]

    assert pipelines.reasons("a", values) == []
    assert pipelines.deploy("a", values) == []


def test_several_stages_of_a_pipeline_may_write_one_dataset(pipelines):
    both = [
        *table(id=INT, name=STRING.as_nullable),
        *table(id=INT, city=STRING.as_nullable),
    ]
    assert pipelines.deploy("a", both) == ["t", "t"]

    assert pipelines.reasons("a", both) == []
    assert pipelines.deploy("a", both) == []
    assert list(pipelines.schema) == ["id", "name", "city"]
    (reason, *_) = pipelines.reasons("a", both[:1])
    assert "field 'city' (string or null) cannot be dropped or renamed" in reason


@pytest.mark.parametrize(
    ("other", "reasons"),
    [
        (table(id=INT, n=LONG), []),
        (table(id=INT, n=INT.as_nullable, more=STRING), []),
        (table(id=INT), ["field 'n' (int) must have a value in every row, but it is not written."]),
        (table(id=INT, n=STRING), ["field 'n' cannot change from int to string"]),
        (table("n", id=INT, n=INT), ["its schema.row.field is 'id', not 'n'."]),
    ],
)
def test_two_stages_must_not_declare_a_new_dataset_unlike(pipelines, other, reasons):
    both = [StageDataset("First", table(id=INT, n=INT)[0].declaration), *other]

    messages = pipelines.reasons(None, both)
    assert len(messages) == len(reasons)
    for message, reason in zip(messages, reasons, strict=True):
        assert message.startswith(f"Dataset 't': {reason}")
        assert message.endswith("Stage 'First' creates it.")
    if not reasons:
        assert pipelines.deploy(None, both) == ["t", "t"]


def test_only_an_administrator_of_a_dataset_may_change_it(instance, pipelines):
    class Refusing:
        def enforce(self, principal, entity, permissions) -> None:
            raise UnauthorizedError(f"{permissions[0]} on {entity.describe()}")

    planner = PipelineDatasets(instance.store, pipelines.folder.parent, Refusing())
    for change in (table(id=INT), table(id=INT, more=INT)):
        with (
            pytest.raises(UnauthorizedError, match="ADMIN on dataset"),
            instance.store.transaction() as tx,
        ):
            planner.apply(tx, "default", change, "a")
        pipelines.deploy("a", table(id=INT))
    with instance.store.transaction() as tx:
        assert planner.apply(tx, "default", table(id=INT), "a") == [], "nothing is changed"


def snapshots(name: str = "s", **properties: str) -> list[StageDataset]:
    schema = str(Schema.record("r", [("id", INT)]))
    keys = {"partitioning.fields.": "snapshot", "partitioning.field.snapshot": "LONG"}
    given = {"schema": schema, "format": "avro", **keys, **properties}
    return [StageDataset("Sink", DatasetDeclaration(name, "partitionedFileSet", given, "name"))]


def test_the_folder_of_a_file_set_comes_and_goes_with_the_deployment(instance, pipelines):
    def fail(tx) -> None:
        pipelines.planner.apply(tx, "default", snapshots(), "a")
        assert (pipelines.folder / "s").is_dir()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), instance.store.transaction() as tx:
        fail(tx)
    assert not pipelines.folder.exists()
    assert not pipelines.datasets.has_dataset("default", "s")

    assert pipelines.deploy("a", snapshots()) == ["s"]
    assert (pipelines.folder / "s").is_dir()
    assert instance.store.read("SELECT count(*) FROM dataset_folder_changes") == [(0,)]
    assert pipelines.deploy("a", snapshots()) == []


def test_what_a_file_set_cannot_follow_is_refused(pipelines):
    pipelines.deploy("a", snapshots())

    assert pipelines.reasons("b", snapshots(format="orc")) == [
        "Dataset 's' has files of the format 'avro'; the stage writes 'orc'."
    ]
    text = str(Schema.record("r", [("id", Schema.STRING)]))
    (reason,) = pipelines.reasons("b", snapshots(schema=text))
    assert "'id'" in reason
    assert "string" in reason
    (reason,) = pipelines.reasons("b", snapshots("inner", **{"base.path": "s/inner"}))
    assert "overlaps that of dataset 's'" in reason
    wider = str(Schema.record("r", [("id", INT), ("n", INT.as_nullable)]))
    assert pipelines.deploy("b", snapshots(schema=wider)) == ["s"]
    assert pipelines.deploy("a", snapshots()) == [], "it may write fewer fields"


def test_a_file_set_takes_the_partitions_of_its_folder(instance, pipelines, tmp_path):
    for name in ("1421786520000", "1421786530000", "_temporary", "notes"):
        (pipelines.folder / "s" / name).mkdir(parents=True)
    given = tmp_path / "given"
    for name in ("2015-01-20/20-42.1421786520000", "2015-01-20/20-42.1421786530000"):
        (given / name).mkdir(parents=True)
    timed = DatasetDeclaration("t", "timePartitionedFileSet", {"base.path": str(given)})
    with instance.store.transaction() as tx:
        declared = [*snapshots(), StageDataset("Other", timed)]
        _, change = pipelines.planner.apply(tx, "default", declared, "a")
    (left_out,) = change.warnings
    assert (
        "20-42.1421786520000 does not become a partition: a later partition has its key" in left_out
    )

    found = instance.store.read('SELECT snapshot, "$path" FROM "default"."s.partitions" ORDER BY 1')
    assert found == [(1421786520000, "1421786520000"), (1421786530000, "1421786530000")]
    found = instance.store.read(
        'SELECT * EXCLUDE ("$created", "$metadata") FROM "default"."t.partitions"'
    )
    assert found == [(2015, 1, 20, 20, 42, "2015-01-20/20-42.1421786530000")]
    for name in ("s", "t"):
        pipelines.datasets.drop("default", name)
    assert not (pipelines.folder / "s").exists(), "its own"
    assert given.is_dir(), "somebody else's"


def test_a_file_set_takes_the_place_of_a_name_for_data_elsewhere(instance, pipelines):
    pipelines.datasets.create(DatasetRequest("s", "externalDataset"))
    assert pipelines.deploy("a", snapshots()) == ["s"]
    assert pipelines.datasets.describe("default", "s").type == "partitionedFileSet"


def test_partitions_are_changed_with_their_files(instance, pipelines):
    pipelines.deploy("a", snapshots())
    change = partial(PartitionChange, "default", "s")
    for path in ("1", "2"):
        (pipelines.folder / "s" / path).mkdir()
    with instance.store.transaction() as tx:
        pipelines.planner.change_partitions(
            tx, [change({"snapshot": 1}, "1"), change({"snapshot": 2}, "2")]
        )
    refused = [change({"snapshot": 1}), change({"snapshot": 2}, "3")]
    with (
        pytest.raises(ConflictError, match="already has a partition with the key"),
        instance.store.transaction() as tx,
    ):
        pipelines.planner.change_partitions(tx, refused)
    assert (pipelines.folder / "s" / "1").is_dir(), "restored"
    with instance.store.transaction() as tx:
        pipelines.planner.change_partitions(tx, [change({"snapshot": 1}), change({"snapshot": 9})])
    assert [each.name for each in (pipelines.folder / "s").iterdir()] == ["2"]
    assert instance.store.read('SELECT snapshot FROM "default"."s.partitions"') == [(2,)]
