"""The tables of an instance, as front ends see them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.errors import NotFoundError
from localcdap.api.schema import Schema
from localcdap.datasets.service import TableService
from localcdap.store.tables import NamespaceTables

from .conftest import Instance

ROW = Schema.record("r", [("id", Schema.LONG)])


def test_a_dropped_table_can_be_written_again_with_another_key(instance: Instance, tmp_path: Path):
    tables = TableService(instance.store, instance.namespaces)
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
