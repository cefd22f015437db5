"""Admins of custom types that read and change the rows of their dataset: all rows are new, or none."""

from __future__ import annotations

import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.dataset.definition import DatasetDeclaration
from localcdap.api.errors import (
    ConflictError,
    IncompatibleUpdateError,
    LocalcdapError,
    NotFoundError,
    PluginError,
)
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.pipeline.validation.datasets import StageDataset
from localcdap.sandbox.pool import PluginWorker
from localcdap.store import table_catalog

from .modules import Modules

PRICES = '''
"""Prices in cents, or in euros since the property says so."""
import decimal
import os
import time

from localcdap.api.dataset.definition import DatasetAdmin, DatasetDefinition, dataset_type
from localcdap.api.dataset.rows import between, equal
from localcdap.api.dataset.specification import StorageLayout, TableLayout
from localcdap.api.errors import IncompatibleUpdateError
from localcdap.api.schema import Schema


class Admin(DatasetAdmin):
    def _open(self, specification=None, suffix=""):
        layout = self.definition.lay_out(specification or self.specification)
        return self.storage.open_table(layout, self.specification.name + suffix)

    def create(self):
        super().create()
        rows = self._open()
        rows.write([{"item": "seed", "cents": 1}])
        assert rows.read("seed")["cents"] == 1

    def update(self, old):
        given, before = self.specification.properties, old.properties
        if given.get("unit") == "euro" and before.get("unit") != "euro":
            self._to_euros(old)
        elif given.get("split") and not before.get("split"):
            self._split(old)
        else:
            super().update(old)
        self._act(given.get("action"))

    def _to_euros(self, old):
        super().update(old)
        rows = self._open()
        for row in rows.select(order_by=["item"]):
            rows.update(row["item"], {"euros": decimal.Decimal(row["cents"]).scaleb(-2)})
        rows.delete([*between("cents", 0, 2)])
        rows.increment("total", {"cents": sum(row["cents"] for row in rows.select())})
        assert rows.count([equal("item", "total")]) == 1

    def _split(self, old):
        """The rows go to a table of another name, before that of now is dropped."""
        found = self._open(old).select()
        self.storage.change(self.definition.lay_out(old), self.definition.lay_out(self.specification))
        self._open(suffix=".items").write({"item": row["item"], "n": row["cents"]} for row in found)

    def _act(self, action):
        if action is None:
            return
        rows = self._open()
        stale = rows
        rows.delete([])
        rows.write([{"item": "new", "cents": 5}])
        match action:
            case "raise":
                raise RuntimeError("disk on fire")
            case "exit":
                os._exit(3)
            case "hang":
                time.sleep(600)
            case "refuse":
                raise IncompatibleUpdateError("Prices cannot be like that")
            case "bad":
                rows.write([{"item": "new", "cents": "much"}])
            case "foreign":
                layout = StorageLayout({"other": TableLayout(Schema.record("r", [("item", Schema.STRING)]))})
                self.storage.open_table(layout, "other")
            case "unknown":
                self._open(suffix=".nothing")
            case "stale":
                layout = self.definition.lay_out(self.specification)
                self.storage.change(layout, layout)
                stale.select()
            case "early":
                layout = self.definition.lay_out(self.specification)
                self.storage.truncate(layout)
                self._open().write([{"item": "x", "cents": 1}])
                self.storage.change(layout, layout)
                assert [row["item"] for row in self._open().select()] == ["x"]
                self._open().write([{"item": "y", "cents": 2}])

    def upgrade(self):
        rows = self._open()
        rows.write({**row, "cents": row["cents"] * 10} for row in rows.select())


@dataset_type("prices")
class Prices(DatasetDefinition):
    admin_class = Admin

    def lay_out(self, specification):
        given, name = specification.properties, specification.name
        if given.get("split"):
            schema = Schema.record("r", [("item", Schema.STRING), ("n", Schema.LONG)])
            return StorageLayout({name + ".items": TableLayout(schema)})
        fields = [("item", Schema.STRING), ("cents", Schema.LONG)]
        if given.get("unit") == "euro":
            fields.append(("euros", Schema.decimal(12, 2).as_nullable))
        return StorageLayout({name: TableLayout(Schema.record("r", fields), "item")})
'''
SEEDED = [{"item": "seed", "cents": 1}]
HELD = [
    {"item": "book", "cents": 1250},
    {"item": "pen", "cents": 99},
    {"item": "seed", "cents": 1},
]


@pytest.fixture
def prices(modules: Modules) -> DatasetService:
    modules.drop("prices-1.0.0.py", PRICES)
    modules.datasets.create(DatasetRequest("price", "prices"))
    assert read(modules) == SEEDED, "what the admin wrote when it created the table"
    insert(modules, "book", 1250)
    insert(modules, "pen", 99)
    return modules.datasets


def insert(modules: Modules, item: str, cents: int) -> None:
    with modules.store.transaction() as tx:
        identifier = table_catalog.to_identifier("default", "price")
        tx.execute(f"INSERT INTO {identifier} (item, cents) VALUES (?, ?)", (item, cents))  # noqa: S608


def read(modules: Modules, table: str = "price") -> list[dict[str, Any]]:
    with modules.store.snapshot() as tx:
        schema, _ = table_catalog.read_schema_and_key(tx, "default", table)
        identifier = table_catalog.to_identifier("default", table)
        rows = tx.execute(f"SELECT * FROM {identifier} ORDER BY ALL")  # noqa: S608
    return [dict(zip(schema.field_names, row, strict=True)) for row in rows]


def change(**properties: str) -> DatasetUpdate:
    return DatasetUpdate("price", properties, replaces=False)


def test_rows_change_with_the_table(modules: Modules, prices: DatasetService) -> None:
    """A migration reads each row, and fills the column that the same update adds."""
    prices.update(change(unit="euro"))
    assert read(modules) == [
        {"item": "book", "cents": 1250, "euros": Decimal("12.50")},
        {"item": "pen", "cents": 99, "euros": Decimal("0.99")},
        {"item": "total", "cents": 1349, "euros": None},
    ]
    assert prices.describe("default", "price").schema.field_names == ["item", "cents", "euros"]
    assert list_files(modules) == []


def test_rows_move_to_another_table(modules: Modules, prices: DatasetService) -> None:
    prices.update(change(split="yes"))
    assert modules.list_tables() == ["price.items"]
    assert read(modules, "price.items") == [
        {"item": each["item"], "n": each["cents"]} for each in HELD
    ]


def test_an_upgrade_changes_rows(modules: Modules, prices: DatasetService) -> None:
    prices.upgrade("default", "price")
    assert [row["cents"] for row in read(modules)] == [12500, 990, 10]


def test_changes_keep_their_order(modules: Modules, prices: DatasetService) -> None:
    """Rows that are written before and after the table is emptied and changed."""
    prices.update(change(action="early"))
    assert [row["item"] for row in read(modules)] == ["x", "y"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "action", ["raise", "exit", "hang", "refuse", "bad", "foreign", "unknown", "stale"]
)
def test_code_that_fails_leaves_the_rows(
    modules: Modules, prices: DatasetService, action: str
) -> None:
    worker = PluginWorker(time_limit_s=5, memory_mb=1024)
    service = modules.open_datasets(worker)
    before = service.describe("default", "price")
    with pytest.raises(LocalcdapError) as raised:
        service.update(change(action=action, unit="euro"))
    worker.close()
    kind = {"refuse": IncompatibleUpdateError, "foreign": NotFoundError, "unknown": NotFoundError}
    assert isinstance(raised.value, kind.get(action, PluginError))
    assert read(modules) == HELD
    assert service.describe("default", "price") == before
    assert list_files(modules) == []


def test_rows_that_are_written_meanwhile_are_migrated_too(
    modules: Modules, prices: DatasetService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The admin is called again with them; when they change all the time, the update is refused."""
    late = iter(["late"])
    call = PluginWorker.do

    def do(self: PluginWorker, function: Any, request: Any, *args: Any) -> Any:
        answer = call(self, function, request, *args)
        if getattr(answer, "missing", "") is None and (item := next(late, None)):
            insert(modules, item, 300)
        return answer

    monkeypatch.setattr(PluginWorker, "do", do)
    prices.update(change(unit="euro"))
    assert {"item": "late", "cents": 300, "euros": Decimal("3.00")} in read(modules)

    late = (f"late{number}" for number in itertools.count())
    with pytest.raises(ConflictError, match="rows or files of dataset 'price' change all the time"):
        prices.upgrade("default", "price")
    assert {row["cents"] for row in read(modules)} == {1250, 99, 300, 1649}
    assert list_files(modules) == []


def test_a_deployment_creates_rows_but_does_not_migrate_them(modules: Modules) -> None:
    modules.drop("prices-1.0.0.py", PRICES)
    declared = StageDataset("s", DatasetDeclaration("price", "prices", {}))
    assert not modules.planner.plan("default", [declared], "a").failures
    assert modules.deploy([declared]) == ["price"]
    assert read(modules) == SEEDED
    declared = StageDataset("s", DatasetDeclaration("price", "prices", {"unit": "euro"}))
    (failure,) = modules.planner.plan("default", [declared], "a").failures
    assert "rewrites its rows or files" in failure.message
    assert list_files(modules) == []


def list_files(modules: Modules) -> list[Path]:
    """Return the files with rows that are left."""
    return [each for each in modules.root.glob("*/.*") if each.name != ".changes"]
