"""Types whose datasets consist of other datasets."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from localcdap.api.dataset.definition import CompositeDefinition, dataset_type
from localcdap.api.dataset.specification import DatasetSpecification
from localcdap.api.dataset.types.tables import (
    IndexedTableDefinition,
    KeyValueTableDefinition,
    TableDefinition,
)
from localcdap.api.errors import IncompatibleUpdateError
from localcdap.datasets.storage import FolderChanges, NamespaceStorage
from localcdap.store import table_catalog

from .conftest import Instance


@dataset_type("orders", description="Orders, and what is known of each.")
class Orders(CompositeDefinition):
    embedded = {"rows": IndexedTableDefinition(), "notes": KeyValueTableDefinition()}


@dataset_type("orders")
class Larger(CompositeDefinition):
    """The next version of the type."""

    embedded = {**Orders.embedded, "archive": TableDefinition()}


@dataset_type("orders")
class Smaller(CompositeDefinition):
    """A version that forgets a part."""

    embedded = {"rows": IndexedTableDefinition()}


@dataset_type("shops")
class Shops(CompositeDefinition):
    embedded = {"orders": Orders()}


CITY = {"columnsToIndex": "city"}


def list_tables(instance: Instance) -> list[str]:
    with instance.store.snapshot() as tx:
        return list(table_catalog.list_names(tx, "default"))


def administrate(instance: Instance, definition, specification, action) -> None:
    with instance.store.transaction() as tx:
        storage = NamespaceStorage(tx, FolderChanges(Path()), "default", Path())
        action(definition.get_admin(storage, specification))


def test_embedded_datasets_have_the_name_of_the_outer_one():
    made = Shops().configure("shop", CITY)

    inner = made.embedded["orders"]
    assert (inner.name, inner.type) == ("shop.orders", "orders")
    assert [each.name for each in inner.embedded.values()] == [
        "shop.orders.rows",
        "shop.orders.notes",
    ]
    assert inner.embedded["rows"].properties == CITY
    encoded = msgspec.json.encode(made)
    assert b'"datasetSpecs":{"orders":{"name":"shop.orders"' in encoded
    assert msgspec.json.decode(encoded, type=DatasetSpecification) == made


def test_every_part_follows_its_own_rules():
    made = Orders().configure("o", CITY)
    changed = {"columnsToIndex": "x", "dataset.table.column.family": "f"}

    with pytest.raises(IncompatibleUpdateError) as error:
        Orders().reconfigure("o", changed, made)

    assert error.value.reasons == [
        "o.rows: Attempt to change the column family from 'd' to 'f'.",
        "o.rows: Attempt to change columns to index from 'city' to 'x'",
        "o.notes: Attempt to change the column family from 'd' to 'f'.",
    ]
    assert Orders().reconfigure("o", {**CITY, "note": "x"}, made).embedded["notes"].properties == {
        **CITY,
        "note": "x",
    }


def test_the_parts_are_created_changed_and_dropped_together(instance: Instance):
    first = Orders().configure("o", CITY)
    administrate(instance, Orders(), first, lambda admin: admin.create())
    assert list_tables(instance) == ["o.notes", "o.rows"]
    administrate(instance, Orders(), first, lambda admin: admin.truncate())

    with pytest.raises(
        IncompatibleUpdateError, match="o.notes: type 'orders' has no such embedded"
    ):
        Smaller().reconfigure("o", CITY, first)
    second = Larger().reconfigure("o", CITY, first)
    administrate(instance, Larger(), second, lambda admin: admin.update(first))
    assert list_tables(instance) == ["o.archive", "o.notes", "o.rows"]

    administrate(instance, Larger(), second, lambda admin: admin.drop())
    assert list_tables(instance) == []
