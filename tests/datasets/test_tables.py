"""The tables of an instance, as front ends see them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.errors import ConflictError, NotFoundError
from localcdap.api.schema import Schema
from localcdap.api.security import Principal
from localcdap.api.tables import TableWrite
from localcdap.datasets.model import DatasetRequest
from localcdap.datasets.service import TableService
from localcdap.security.principals import act_as
from localcdap.store.table_catalog import create_view
from localcdap.store.tables import NamespaceTables

from .conftest import Instance
from .modules import Modules

ROW = Schema.record("r", [("id", Schema.LONG)])


def test_a_dropped_table_can_be_written_again_with_another_key(instance: Instance, tmp_path: Path):
    tables = TableService(instance.store, instance.namespaces, instance.topics)
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), file)

    def write(name: str, key: str | None) -> None:
        store = NamespaceTables(instance.store)
        with instance.store.transaction() as tx:
            if key is None:
                store.append(tx, "default", name, ROW, [file])
            else:
                store.upsert_parquet(tx, "default", name, ROW, key, [file])

    write("a", "id")
    write("a.b", None)
    tables.drop("default", "a")
    assert [each.name for each in tables.list_tables("default")] == ["a.b"]
    write("a", None)
    assert tables.read_rows("default", "a", 10).rows == [[1], [2]]
    for namespace, name in (("default", "c"), ("nowhere", "a")):
        with pytest.raises(NotFoundError):
            tables.drop(namespace, name)


def test_what_happens_to_tables_and_views_is_published_once_for_each_transaction(
    instance: Instance, tmp_path: Path
):
    tables = TableService(instance.store, instance.namespaces, instance.topics)
    held = NamespaceTables(instance.store)
    file, wide = tmp_path / "rows.parquet", tmp_path / "wide.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), file)
    pq.write_table(pa.table({"id": [3], "more": [4]}), wide)
    wider = Schema.record("r", [("id", Schema.LONG), ("more", Schema.LONG.as_nullable)])
    instance.namespaces.create("team")

    def change(*actions) -> None:
        with instance.store.transaction() as tx:
            for action in actions:
                action(tx)

    change(lambda tx: held.append(tx, "default", "a", ROW, [file]))
    change(lambda tx: held.append(tx, "default", "a", ROW, [file]))  # more rows, the same table
    change(
        lambda tx: held.write_parquet(tx, "default", "a", ROW, TableWrite(truncate=True), [file])
    )
    relaxing = TableWrite(relaxes=True)
    change(lambda tx: held.write_parquet(tx, "default", "a", wider, relaxing, [wide]))
    change(lambda tx: create_view(tx, "default", "v", ROW, "FROM a"))
    change(lambda tx: create_view(tx, "default", "v", ROW, "SELECT 1 AS id"))
    change(
        lambda tx: held.append(tx, "default", "brief", ROW, [file]),
        lambda tx: held.drop(tx, "default", "brief"),
    )
    with pytest.raises(ZeroDivisionError):
        change(lambda tx: held.append(tx, "default", "never", ROW, [file]), lambda _: 1 / 0)
    with act_as(Principal("alice")):
        tables.drop("default", "a")
    change(lambda tx: held.append(tx, "team", "b", ROW, [file]))
    instance.namespaces.delete("team")

    with instance.store.snapshot() as tx:
        messages = [
            each.payload for each in instance.topics.read(tx, "system", ["entities"], 0, 99)
        ]
    assert [
        (each["kind"], each["entity"]["details"]["dataset"])
        for each in messages
        if each["entity"]["type"] == "dataset"
    ] == [
        ("entityCreated", "a"),
        ("entityUpdated", "a"),
        ("entityCreated", "v"),
        ("entityUpdated", "v"),
        ("entityDeleted", "a"),
        ("entityCreated", "b"),
    ]
    assert messages[-3]["user"] == "alice"


@pytest.mark.parametrize("name", ["prices.items", "prices"])
def test_a_part_of_a_dataset_is_not_dropped(modules: Modules, name: str) -> None:
    """Its other parts would be left without it."""
    modules.drop("parts-1.0.0.py", PARTS)
    modules.datasets.create(DatasetRequest("prices", "parts"))
    instance = modules.instance
    tables = TableService(instance.store, instance.namespaces, instance.topics)
    with pytest.raises(ConflictError, match=f"Table '{name}' cannot be dropped: it is a part of"):
        tables.drop("default", name)
    assert modules.list_tables() == ["prices", "prices.items"]
    modules.datasets.drop("default", "prices")
    assert modules.list_tables() == []


PARTS = """
from localcdap.api.dataset.definition import CompositeDefinition, dataset_type


@dataset_type("parts")
class Parts(CompositeDefinition):
    embedded = {"items": "keyValueTable", "": "keyValueTable"}
"""
