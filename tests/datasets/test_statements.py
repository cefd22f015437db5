"""SQL that changes tables: all or nothing, within limits, and nothing but the tables."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from localcdap.api.errors import ConflictError, LocalcdapError, QueryError
from localcdap.api.schema import Schema
from localcdap.datasets.statements import StatementService
from localcdap.engine.messages.host import StatementBatch, StatementResult
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.store.tables import NamespaceTables
from localcdap.testing.instance import open_new_store

ITEMS = Schema.record(
    "item",
    [
        ("id", Schema.LONG),
        ("name", Schema.STRING.as_nullable),
        ("price", Schema.decimal(10, 2).as_nullable),
        ("at", Schema.TIMESTAMP.as_nullable),
    ],
)
ROWS = [
    {"id": 1, "name": "a", "price": decimal.Decimal("1.50"), "at": None},
    {
        "id": 2,
        "name": None,
        "price": None,
        "at": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
    },
]


class World:
    def __init__(self, folder: Path) -> None:
        self.store = open_new_store(folder / "db")
        self.tables = NamespaceTables(self.store)
        namespaces = NamespaceService(self.store, Topics(self.store))
        self.service = StatementService(self.store, namespaces)
        file = folder / "rows.parquet"
        import pyarrow.parquet as pq

        from localcdap.api.serialization.arrow_types import to_arrow_schema

        pq.write_table(pa.Table.from_pylist(ROWS, to_arrow_schema(ITEMS)), file)
        with self.store.transaction() as tx:
            self.tables.append(tx, "default", "s.items", ITEMS, [file])
            self.tables.upsert_parquet(tx, "default", "keyed", ITEMS, "id", [file])

    def do(self, *sql: str, changes: tuple[str, ...] = ("s.items",)) -> StatementResult:
        return self.service.carry_out(StatementBatch("default", list(sql), list(changes)))

    def rows(self, name: str = "s.items") -> list[tuple[Any, ...]]:
        return sorted(self.tables.read_rows("default", name, 100)[1])


@pytest.fixture
def world(tmp_path: Path):
    made = World(tmp_path)
    yield made
    made.store.close()


def test_rows_are_changed_and_columns_stay_what_they_were(world: World):
    done = world.do("UPDATE \"s.items\" SET name = 'z' WHERE id = 2")
    assert done.rows == 1
    assert [row[:2] for row in world.rows()] == [(1, "a"), (2, "z")]
    assert world.rows()[1][3] == ROWS[1]["at"]
    assert world.tables.read_schemas("default")["s.items"] == ITEMS
    assert world.do('DELETE FROM "s.items"').rows == 2
    assert world.rows() == []
    assert world.tables.read_schemas("default")["s.items"] == ITEMS


def test_tables_are_made_and_dropped(world: World):
    made = world.do(
        'CREATE TABLE "s.new" AS SELECT sum(id) AS total, max(price) AS price, uuid() AS u FROM "s.items"',
        'DROP TABLE "s.items"',
        changes=("s.items", "s.new"),
    )
    assert made.rows == 0
    schemas = world.tables.read_schemas("default")
    assert set(schemas) == {"s.new", "keyed"}
    assert [(f.name, f.schema.display_name) for f in schemas["s.new"]] == [
        ("total", "long"),
        ("price", "decimal"),
        ("u", "string"),
    ]
    assert world.rows("s.new")[0][:2] == (3, decimal.Decimal("1.50"))


def test_the_first_row_of_the_last_query_comes_back(world: World):
    done = world.do('SELECT id, name FROM "s.items" ORDER BY id DESC', changes=())
    with pa.ipc.open_stream(done.first) as reader:
        assert (done.rows, reader.read_all().to_pylist()) == (2, [{"id": 2, "name": None}])


@pytest.mark.parametrize(
    "wrong",
    [
        'SELECT * FROM "s.none"',
        "INSERT INTO \"s.items\" (name) VALUES ('no id')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY \"s.items\" TO '/tmp/out.csv'",
        "ATTACH '/tmp/x.db'",
        "SET memory_limit = '100GB'",
        "INSTALL httpfs",
        "SELECT 1; SELECT 2; SELEC",
        "SELECT 1; SELECT 2",
        "",
        "PRAGMA database_list",
        'CREATE TABLE "s.new" AS SELECT INTERVAL 1 DAY AS d',
    ],
)
def test_what_fails_leaves_everything_as_it_was(world: World, wrong: str):
    with pytest.raises(QueryError):
        world.do('DELETE FROM "s.items"', wrong)
    assert len(world.rows()) == 2


def test_tables_that_are_not_said_to_be_changed_are_not(world: World):
    with pytest.raises(QueryError):
        world.do('DELETE FROM "s.items"', changes=())
    assert len(world.rows()) == 2


def test_keys_are_kept_and_other_namespaces_not_there(world: World):
    with pytest.raises(ConflictError, match="has the key 'id'"):
        world.do('DELETE FROM "keyed"', changes=("keyed",))
    with pytest.raises(LocalcdapError, match="nowhere"):
        world.service.carry_out(StatementBatch("nowhere", ["SELECT 1"], []))
