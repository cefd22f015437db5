"""External datasets for reference names."""

from __future__ import annotations

import json

import pytest

from localcdap.api.app.events import EntityCreated, EntityUpdated
from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetRequest
from localcdap.metadata.accesses import DatasetUse, keep_external_datasets
from localcdap.store import table_catalog
from localcdap.testing.instance import TemporaryInstance

ROW = Schema.record("r", [("id", Schema.INT)])
WIDER = Schema.record("r", [("id", Schema.INT), ("note", Schema.STRING.as_nullable)])


@pytest.fixture
def instance(tmp_path):
    with TemporaryInstance(tmp_path) as made:
        yield made


def keep(instance, *uses):
    with instance.cdap.runs._store.transaction() as tx:
        return keep_external_datasets(tx, "default", uses)


def test_only_names_without_a_dataset_become_external_datasets(instance):
    datasets = instance.cdap.datasets
    datasets.create(DatasetRequest("files", "fileSet"))
    write_table(instance, "rows", ROW)
    uses = [DatasetUse(name, True, str(ROW)) for name in ("files", "rows", "far", "far")]
    assert keep(instance, *uses, DatasetUse("unknown", False)) == [
        (EntityCreated, "far"),
        (EntityCreated, "unknown"),
    ]
    assert keep(instance, *uses, DatasetUse("far", False, str(WIDER))) == []
    assert datasets.describe("default", "far").schema == ROW, "the first schema stays"
    assert datasets.describe("default", "unknown").schema is None
    assert datasets.describe("default", "files").type == "fileSet"


@pytest.mark.slow
def test_an_external_dataset_follows_the_table_that_stands_in(instance):
    write_table(instance, "shop.orders", ROW)
    use = DatasetUse("orders_ref", True, None, ("shop.orders",))
    assert keep(instance, use) == [(EntityCreated, "orders_ref")]
    datasets = instance.cdap.datasets
    found = datasets.describe("default", "orders_ref")
    assert (found.type, found.tables, found.rows) == ("externalDataset", ["shop.orders"], 0)
    assert keep(instance, use) == []

    with instance.cdap.runs._store.transaction() as tx:
        table_catalog.widen(tx, "default", "shop.orders", ROW, WIDER)
    assert keep(instance, use) == [(EntityUpdated, "orders_ref")]
    assert json.loads(datasets.describe("default", "orders_ref").properties["schema"])["fields"][1]

    for change in (datasets.truncate, datasets.drop):
        change("default", "orders_ref")
    left = instance.cdap.sql.list_tables("default")
    assert any(each.schema == "default" for each in left), "another name may stand for the table"
    datasets.drop("default", "shop.orders")
    left = instance.cdap.sql.list_tables("default")
    assert [each.name for each in left if each.schema == "default"] == []


@pytest.mark.slow
def test_a_table_takes_the_place_of_an_external_dataset_without_data(instance):
    keep(instance, DatasetUse("orders", False, str(ROW)))
    write_table(instance, "orders", WIDER)
    found = instance.cdap.datasets.describe("default", "orders")
    assert (found.type, found.schema) == ("table", WIDER)


def write_table(instance, name, schema):
    with instance.cdap.runs._store.transaction() as tx:
        table_catalog.create(tx, "default", name, schema, None, None)
