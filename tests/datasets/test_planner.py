"""What declarations of pipelines mean for existing datasets."""

from __future__ import annotations

import pytest

from localcdap.api.dataset.declaration import DatasetDeclaration
from localcdap.api.errors import IncompatibleUpdateError, UnauthorizedError
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


def table(**fields: Schema) -> list[StageDataset]:
    properties = {"schema": str(Schema.record("r", list(fields.items()))), "schema.row.field": "id"}
    return [StageDataset("Sink", DatasetDeclaration("t", "table", properties, "name"))]


class Pipelines:
    def __init__(self, instance: Instance, datasets: DatasetService) -> None:
        self.planner = PipelineDatasets(instance.store)
        self.datasets = datasets
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
    datasets = DatasetService(instance.store, instance.namespaces, instance.topics, audit, tmp_path)
    return Pipelines(instance, datasets)


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
    assert [each.message.split(",")[0] for each in found] == [
        "Dataset 't': field 'id' cannot change from int to string",
        "Dataset 't': field 'n' cannot change from int to string",
    ]
    assert {each.stage for each in found} == {"Sink"}


def test_another_type_is_refused(pipelines):
    pipelines.datasets.create(DatasetRequest("t", "fileSet"))

    assert pipelines.reasons("a", table(id=INT)) == [
        "Existing dataset 't' of type 'fileSet' may not be updated to type 'table'"
    ]
    files = [StageDataset("Sink", DatasetDeclaration("f", "fileSet", {}))]
    (reason,) = pipelines.reasons("a", files)
    assert "A stage cannot create a dataset of type 'fileSet'" in reason


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


def test_only_an_administrator_of_a_dataset_may_change_it(instance, pipelines):
    class Refusing:
        def enforce(self, principal, entity, permissions) -> None:
            raise UnauthorizedError(f"{permissions[0]} on {entity.describe()}")

    planner = PipelineDatasets(instance.store, Refusing())
    for change in (table(id=INT), table(id=INT, more=INT)):
        with (
            pytest.raises(UnauthorizedError, match="ADMIN on dataset"),
            instance.store.transaction() as tx,
        ):
            planner.apply(tx, "default", change, "a")
        pipelines.deploy("a", table(id=INT))
    with instance.store.transaction() as tx:
        assert planner.apply(tx, "default", table(id=INT), "a") == [], "nothing is changed"
