"""The life of datasets: creation, updates, truncation, removal, and what an update that fails leaves."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.dataset.definition import PropertyChange
from localcdap.api.dataset.schema_evolution import ChangeKind
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.errors import (
    BadRequestError,
    ConflictError,
    DatasetPropertiesError,
    IncompatibleUpdateError,
    NotFoundError,
)
from localcdap.api.schema import Schema
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.datasets.service import TableService
from localcdap.metadata.audit import AuditLog, AuditQuery, AuditService, AuditType
from localcdap.store import table_catalog
from localcdap.store.tables import NamespaceTables

from .conftest import Instance

INT, LONG, STRING = Schema.INT, Schema.LONG, Schema.STRING
PARTITIONED = {"partitioning.fields.": "day", "partitioning.field.day": "STRING"}
OBJECTS = {
    "object.type": "Purchase",
    "object.schema": str(Schema.record("p", [("price", LONG)])),
}
PROPERTIES = {
    "indexedTable": {
        "schema": str(Schema.record("r", [("id", INT), ("city", STRING.as_nullable)])),
        "schema.row.field": "id",
        "columnsToIndex": "city",
    },
    "objectMappedTable": OBJECTS,
    "partitionedFileSet": PARTITIONED,
    "cube": {"dataset.cube.resolutions": "1,3600"},
}


def schema(**fields: Schema) -> dict[str, str]:
    return {"schema": str(Schema.record("r", list(fields.items())))}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "filesets"


@pytest.fixture
def datasets(instance: Instance, root: Path) -> DatasetService:
    TableService(instance.store, instance.namespaces, instance.topics)
    audit = AuditLog(instance.topics)
    instance.topics.add_observer(audit.observe)
    return DatasetService(instance.store, instance.namespaces, instance.topics, audit, root)


def write(instance: Instance, tmp_path: Path, into: str, by: str, **columns: list) -> None:
    file = tmp_path / "rows.parquet"
    table = pa.table(columns)
    pq.write_table(table, file)
    types = {pa.int64(): LONG, pa.string(): STRING, pa.int32(): INT}
    fields = [(each.name, types[each.type]) for each in table.schema]
    with instance.store.transaction() as tx:
        NamespaceTables(instance.store).upsert_parquet(
            tx, "default", into, Schema.record("r", fields), by, [file]
        )


def read(instance: Instance, name: str) -> list[tuple]:
    return list(NamespaceTables(instance.store).read_rows("default", name, 100)[1])


@pytest.mark.parametrize("type", sorted(BUILT_IN_TYPES))
def test_each_type_from_its_creation_to_its_end(datasets, instance, root, type):
    properties = PROPERTIES.get(type, {})
    created = datasets.create(DatasetRequest("sales", type, properties, description="all of them"))
    detail = datasets.describe("default", "sales")

    assert created.is_new
    assert (detail.type, detail.properties, detail.description) == (type, properties, "all of them")
    assert detail.problem is None
    for table in detail.tables:
        assert read(instance, table) == []
    assert detail.folder is None or Path(detail.folder).is_dir()
    assert [each.name for each in datasets.list_datasets("default", properties)] == ["sales"]
    assert datasets.list_datasets("default", {"no": "such"}) == []
    with pytest.raises(ConflictError, match="There is a dataset 'sales' of type"):
        datasets.create(DatasetRequest("sales", type, properties))

    change = datasets.update(DatasetUpdate("sales", {"note": "x"}, replaces=False))
    assert change.properties == [PropertyChange("note", None, "x")]
    assert datasets.update(DatasetUpdate("sales", {}, replaces=False)).is_empty
    datasets.truncate("default", "sales")
    datasets.upgrade("default", "sales")
    assert datasets.describe("default", "sales").properties == {**properties, "note": "x"}

    datasets.drop("default", "sales")
    with pytest.raises(NotFoundError, match="There is no dataset 'sales' in namespace 'default'"):
        datasets.describe("default", "sales")
    assert datasets.list_datasets("default") == []
    assert NamespaceTables(instance.store).list_tables("default") == []
    assert not [each for each in root.rglob("*") if "sales" in each.name]


def test_a_compatible_update_changes_the_rows_with_the_schema(datasets, instance, tmp_path):
    old = schema(id=INT, n=INT)
    datasets.create(DatasetRequest("t", "table", {**old, "schema.row.field": "id"}))
    write(
        instance,
        tmp_path,
        "t",
        "id",
        id=pa.array([1, 2], pa.int32()),
        n=pa.array([3, 4], pa.int32()),
    )
    new = schema(more=STRING.as_nullable, n=LONG.as_nullable, id=INT)

    asked = datasets.check_update(DatasetUpdate("t", new, replaces=False))
    assert datasets.describe("default", "t").properties["schema"] == old["schema"]
    done = datasets.update(DatasetUpdate("t", new, replaces=False))

    assert asked == done
    assert [(each.field, each.kind) for each in done.fields] == [
        ("n", ChangeKind.WIDENED),
        ("more", ChangeKind.ADDED),
    ]
    assert read(instance, "t") == [(1, 3, None), (2, 4, None)]
    assert datasets.describe("default", "t").properties["schema"] == new["schema"]
    write(instance, tmp_path, "t", "id", id=pa.array([9], pa.int32()), n=[2**40])
    assert read(instance, "t")[-1] == (9, 2**40, None)


def test_an_index_outlives_an_update_of_its_table(datasets, instance):
    datasets.create(DatasetRequest("t", "indexedTable", PROPERTIES["indexedTable"]))
    wider = schema(id=LONG, city=STRING.as_nullable, more=INT.as_nullable)

    datasets.update(DatasetUpdate("t", wider, replaces=False))

    with instance.store.snapshot() as tx:
        assert table_catalog.list_indexes(tx, "default", "t") == ["city", "id"]


def test_a_refused_update_changes_nothing(datasets, instance, tmp_path):
    datasets.create(DatasetRequest("t", "table", schema(id=LONG, n=LONG)))
    before = datasets.describe("default", "t")

    for call in (datasets.update, datasets.check_update):
        with pytest.raises(IncompatibleUpdateError) as error:
            call(DatasetUpdate("t", schema(id=LONG, m=INT)))
        assert len(error.value.reasons) == 2
        assert error.value.corrective_action
    with pytest.raises(DatasetPropertiesError):
        datasets.update(DatasetUpdate("t", {"schema": "nonsense"}))
    with pytest.raises(NotFoundError):
        datasets.update(DatasetUpdate("other", {}))

    assert datasets.describe("default", "t") == before


def test_an_update_that_fails_in_its_last_step_changes_nothing(
    datasets, instance, root, monkeypatch
):
    datasets.create(DatasetRequest("files", "partitionedFileSet", PARTITIONED))
    (root / "default" / "files" / "a.csv").write_text("1\n")
    before = datasets.describe("default", "files")
    moved = {**PARTITIONED, "data.external": "true", "base.path": str(root / "elsewhere")}

    def fail(*_: object) -> None:
        reached.append((root / "elsewhere" / "a.csv").exists() or (root / "default" / "t").exists())
        raise OSError("the disk is gone")

    reached = []
    monkeypatch.setattr("localcdap.datasets.instances.catalog.save_dataset", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        datasets.update(DatasetUpdate("files", moved))
    with pytest.raises(OSError, match="the disk is gone"):
        datasets.create(DatasetRequest("t", "fileSet"))
    assert reached == [True, True]

    assert datasets.describe("default", "files") == before
    assert (root / "default" / "files" / "a.csv").read_text() == "1\n"
    assert not (root / "elsewhere").exists()
    assert not (root / "default" / "t").exists()


def test_files_that_a_dataset_does_not_own_stay(datasets, root, tmp_path):
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "a.csv").write_text("1\n")
    place = {"base.path": str(folder)}

    for property in ("data.external", "data.use.existing"):
        datasets.create(DatasetRequest("lake", "fileSet", {**place, property: "true"}))
        datasets.truncate("default", "lake")
        datasets.drop("default", "lake")
        assert (folder / "a.csv").exists()
    with pytest.raises(ConflictError, match="exists already"):
        datasets.create(DatasetRequest("lake", "fileSet", place))
    with pytest.raises(ConflictError, match="must exist, but it does not"):
        datasets.create(DatasetRequest("other", "fileSet", {"data.use.existing": "true"}))
    datasets.create(DatasetRequest("lake", "fileSet", {**place, "data.possess.existing": "true"}))
    datasets.truncate("default", "lake")
    assert list(folder.iterdir()) == []
    datasets.drop("default", "lake")
    assert not folder.exists()
    assert datasets.list_datasets("default") == []


def test_what_cannot_be_created(datasets):
    for name in ("", "a/b", "..", "\\", ".hidden"):
        with pytest.raises(BadRequestError, match="cannot be called"):
            datasets.create(DatasetRequest(name, "fileSet"))
    with pytest.raises(NotFoundError, match="Requested dataset type is not available: tabel"):
        datasets.create(DatasetRequest("t", "tabel"))
    for path in ("../other/t", ".", "a/..", ""):
        with pytest.raises(DatasetPropertiesError, match="is not below that of the file sets"):
            datasets.create(DatasetRequest("t", "fileSet", {"base.path": path}))
    with pytest.raises(NotFoundError, match="nowhere"):
        datasets.create(DatasetRequest("t", "table", namespace="nowhere"))
    assert datasets.list_datasets("default") == []


def test_tables_of_pipelines_are_datasets(datasets, instance, tmp_path):
    write(instance, tmp_path, "people", "id", id=[1], name=["ann"])
    write(instance, tmp_path, "codes", "key", key=["a"], value=["b"])
    people, codes = (datasets.describe("default", each) for each in ("people", "codes"))

    assert (people.type, people.properties["schema.row.field"], people.rows) == ("table", "id", 1)
    assert codes.type == "keyValueTable"
    assert people.schema.field_names == ["id", "name"]

    with instance.store.transaction() as tx:
        NamespaceTables(instance.store).drop(tx, "default", "people")
    assert [each.name for each in datasets.list_datasets("default")] == ["codes"]


def test_tables_from_before_there_were_datasets_are_adopted(instance, datasets, tmp_path):
    write(instance, tmp_path, "people", "id", id=[1], name=["ann"])
    with instance.store.transaction() as tx:
        tx.execute("DELETE FROM dataset_instances")
    assert datasets.list_datasets("default") == []

    TableService(instance.store, instance.namespaces, instance.topics)

    assert [each.name for each in datasets.list_datasets("default")] == ["people"]


def test_what_happens_to_datasets_is_in_the_audit_log(datasets, instance):
    for name, type in (("t", "table"), ("files", "fileSet")):
        datasets.create(DatasetRequest(name, type))
        datasets.update(DatasetUpdate(name, {"note": "x"}))
        datasets.truncate("default", name)
        datasets.drop("default", name)

    found = AuditService(instance.store).list_messages(AuditQuery())
    happened = [AuditType.DELETE, AuditType.TRUNCATE, AuditType.UPDATE, AuditType.CREATE]
    assert [(each.metadata_entity.name, each.type) for each in found] == [
        (name, type) for name in ("files", "t") for type in happened
    ]


def test_a_deleted_namespace_has_no_datasets(datasets, instance):
    instance.namespaces.create("team")
    datasets.create(DatasetRequest("t", "externalDataset", namespace="team"))
    instance.namespaces.delete("team")
    instance.namespaces.create("team")

    assert datasets.list_datasets("team") == []


def test_no_dataset_owns_the_folder_of_another_one(datasets, root, tmp_path):
    datasets.create(DatasetRequest("all", "fileSet", {"base.path": "lake"}))
    external = {"data.external": "true", "base.path": str(root / "default" / "lake")}

    with pytest.raises(
        ConflictError, match="overlaps that of dataset 'all' in namespace 'default'"
    ):
        datasets.create(DatasetRequest("part", "fileSet", {"base.path": "lake/part"}))
    with pytest.raises(ConflictError, match="overlaps"):
        datasets.create(DatasetRequest("same", "fileSet", external))
    datasets.drop("default", "all")
    (tmp_path / "shared").mkdir()
    for name in ("one", "two"):
        place = {"data.external": "true", "base.path": str(tmp_path / "shared")}
        datasets.create(DatasetRequest(name, "fileSet", place))


def test_the_files_of_a_deleted_namespace_are_removed(datasets, instance, root, tmp_path):
    (tmp_path / "mine").mkdir()
    instance.namespaces.create("team")
    datasets.create(DatasetRequest("own", "fileSet", namespace="team"))
    place = {"data.use.existing": "true", "base.path": str(tmp_path / "mine")}
    datasets.create(DatasetRequest("shared", "fileSet", place, namespace="team"))

    instance.namespaces.delete("team")

    assert not (root / "team" / "own").exists()
    assert (tmp_path / "mine").exists()


def test_the_files_of_a_file_set_are_counted(datasets):
    datasets.create(DatasetRequest("files", "fileSet"))
    folder = Path(datasets.describe("default", "files").folder)
    (folder / "deep").mkdir()
    (folder / "deep" / "a").write_bytes(b"12345")
    (folder / "link").symlink_to("nowhere")

    found = datasets.describe("default", "files")

    assert (found.files, found.bytes) == (2, 5 + len("nowhere"))
    datasets.create(DatasetRequest("table", "keyValueTable"))
    assert datasets.describe("default", "table").files is None
