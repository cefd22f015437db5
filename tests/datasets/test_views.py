"""Views: what statements create, what readers see, and what happens when the tables below them change."""

from __future__ import annotations

import contextlib
import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.errors import LocalcdapError, NotFoundError, QueryError, StoreError
from localcdap.api.schema import Schema
from localcdap.api.tables import CreatedTable, TableWrite
from localcdap.datasets.service import TableService
from localcdap.datasets.sql import SqlRequest, SqlService
from localcdap.datasets.statements import StatementService
from localcdap.engine.messages.host import StatementBatch, StatementResult
from localcdap.store.store import Store
from localcdap.store.tables import NamespaceTables

from .conftest import Instance

ITEMS = Schema.record(
    "item",
    [
        ("id", Schema.LONG),
        ("price", Schema.decimal(10, 2).as_nullable),
        ("seen", Schema.TIMESTAMP.as_nullable),
    ],
)
NOON = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.UTC)
ROWS = [(1, decimal.Decimal("1.50"), None), (2, decimal.Decimal("20.00"), NOON)]
DEAR = 'CREATE VIEW "s.dear" AS SELECT id, price FROM "s.items" AS items WHERE price > 10'


class World:
    def __init__(self, instance: Instance, folder: Path) -> None:
        self.store: Store = instance.store
        self.tables = TableService(self.store, instance.namespaces, instance.topics)
        self.held = NamespaceTables(self.store)
        self.statements = StatementService(self.store, instance.namespaces)
        self.queries = SqlService(self.store, instance.namespaces, instance.tables.admin)
        self.folder = folder
        self.do(
            'CREATE TABLE "s.items" (id BIGINT NOT NULL, price DECIMAL(10, 2), seen TIMESTAMPTZ)',
            "INSERT INTO \"s.items\" VALUES (1, 1.5, NULL), (2, 20, '2026-01-02 12:00:00+00')",
            changes="s.items",
        )

    def do(
        self, *sql: str, changes: str = "", makes: list[CreatedTable] | None = None
    ) -> StatementResult:
        batch = StatementBatch("default", list(sql), changes.split(), makes or [])
        return self.statements.carry_out(batch)

    def query(self, sql: str, namespace: str = "default") -> list[tuple[Any, ...]]:
        found = self.queries.query(SqlRequest(sql, namespace)).to_table()
        return [tuple(row.values()) for row in found.to_pylist()]

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return list(self.held.read_rows("default", name, 100)[1])

    def failure(self, sql: str) -> str:
        with pytest.raises(QueryError) as caught:
            self.query(sql)
        return caught.value.message


@pytest.fixture
def world(instance: Instance, tmp_path: Path) -> World:
    return World(instance, tmp_path)


def append_narrow(world: World, name: str) -> None:
    """Make a table with columns of 32 bits, as other plugins and earlier versions do."""
    narrow = Schema.record("narrow", [("id", Schema.INT), ("many", Schema.array(Schema.INT))])
    file = world.folder / "narrow.parquet"
    columns = {"id": pa.int32(), "many": pa.list_(pa.int32())}
    pq.write_table(pa.table({"id": [100_000], "many": [[50_000]]}, pa.schema(columns)), file)
    with world.store.transaction() as tx:
        world.held.append(tx, "default", name, narrow, [file])


def test_columns_of_32_bits_are_read_as_those_of_64(world: World):
    append_narrow(world, "s.narrow")

    world.do(
        'CREATE TABLE "s.made" AS SELECT id * id AS q, many[1] * 60000 AS m FROM "s.narrow"',
        'CREATE VIEW "s.squares" AS SELECT id * id AS q, id FROM "s.narrow"',
        changes="s.made s.squares",
    )

    assert world.rows("s.made") == [(10_000_000_000, 3_000_000_000)]
    assert world.rows("s.squares") == [(10_000_000_000, 100_000)]
    assert world.query('SELECT q FROM "s.squares"') == [(10_000_000_000,)]
    file = world.folder / "squares.parquet"
    snapshot = world.held.export_parquet("default", "s.squares", file)
    assert snapshot.schema.field("id").schema.non_nullable == Schema.LONG
    assert pq.read_table(file).to_pylist() == [{"q": 10_000_000_000, "id": 100_000}]
    held = world.held.read_schemas("default")["s.narrow"]
    assert held.field("id").schema == Schema.INT  # reading changes nothing


def test_only_tables_that_views_name_are_widened_for_them(world: World):
    append_narrow(world, "s.narrow")
    append_narrow(world, "s.narrow2")
    append_narrow(world, "row")

    world.do('CREATE VIEW "s.rows" AS SELECT id FROM "s.narrow2"', changes="s.rows")

    types = {
        name: world.query(f'SELECT typeof(id) FROM "{name}"')
        for name in ("s.narrow", "s.narrow2", "row")
    }
    assert types == {"s.narrow": [("INTEGER",)], "s.narrow2": [("BIGINT",)], "row": [("INTEGER",)]}


def test_the_functions_of_bigquery_are_there_where_a_view_is_read(world: World):
    world.do(
        "CREATE VIEW \"s.printed\" AS SELECT googlesql_format('%t', TYPEOF(price), price) AS p, "
        "googlesql_int64('0x1A') AS i FROM \"s.items\"",
        changes="s.printed",
    )

    assert world.rows("s.printed") == [("1.5", 26), ("20", 26)]
    assert world.query('SELECT max(p) FROM "s.printed"') == [("20",)]


def test_a_view_has_its_times_in_utc(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    world.do(
        'CREATE VIEW "s.days" AS SELECT CAST(seen AS DATE) AS d FROM "s.items"', changes="s.days"
    )

    assert world.rows("s.days") == [(None,), (datetime.date(2026, 1, 2),)]


def test_a_view_is_executed_whenever_it_is_read(world: World):
    world.do(DEAR, changes="s.dear")
    assert world.rows("s.dear") == [(2, decimal.Decimal("20.00"))]
    world.do('INSERT INTO "s.items" VALUES (3, 30, NULL)', changes="s.items")
    assert world.query("SELECT id FROM s.dear ORDER BY id") == [(2,), (3,)]
    assert world.query('SELECT count(*) FROM "s.dear"') == [(2,)]
    assert world.do('SELECT id FROM "s.dear"').rows == 2


def test_a_view_is_listed_as_one_with_its_query_and_columns(world: World):
    world.do(DEAR, changes="s.dear")
    query = 'SELECT id, price FROM "s.items" AS items WHERE (price > 10)'
    view, table = world.tables.list_tables("default")
    assert (view.name, view.rows, view.query, view.problem) == ("s.dear", None, query, None)
    assert (table.name, table.rows, table.query) == ("s.items", 2, None)
    assert [str(each.schema) for each in view.schema] == [
        str(Schema.LONG.as_nullable),
        str(Schema.decimal(10, 2).as_nullable),
    ]
    shape = world.tables.read_shapes("default")["s.dear"]
    assert (shape.is_view, shape.problem, shape.schema) == (True, None, view.schema)
    assert not world.tables.read_shapes("default")["s.items"].is_view
    shown = {each.name: each for each in world.queries.list_tables("default")}
    assert (shown["s.dear"].rows, shown["s.dear"].query) == (None, query)
    assert [each.name for each in shown["s.dear"].columns] == ["id", "price"]
    assert "s.dear" in [row[2] for row in world.query("SHOW ALL TABLES")]


def test_the_rows_of_a_view_are_files_for_a_run(world: World):
    world.do(
        'CREATE VIEW "s.all" AS SELECT *, sum(id) OVER () AS total, \'x\' AS "a ""b", [id] AS ids, '
        'TIME \'10:00\' AS "time", uuid() AS u FROM "s.items"',
        changes="s.all",
    )
    snapshot = world.tables.export("default", "s.all", str(world.folder / "out"))
    found = pq.read_table(snapshot.files)
    assert [each.schema.non_nullable.display_name for each in snapshot.schema] == [
        *(
            "long",
            "decimal",
            "timestamp-micros",
            "long",
            "string",
            "array",
            "time-micros",
            "string",
        ),
    ]
    kept = found.select(["id", "price", "seen", "total", 'a "b', "ids"]).to_pylist()
    assert [tuple(row.values()) for row in sorted(kept, key=lambda row: row["id"])] == [
        (*ROWS[0], 3, "x", [1]),
        (*ROWS[1], 3, "x", [2]),
    ]
    assert [path.name for path in (world.folder / "out").iterdir()] == ["part-00000.parquet"]


def test_views_over_views_are_found_in_any_order_of_their_names(world: World):
    world.do(
        'CREATE VIEW "s.z" AS SELECT id FROM "s.items"',
        'CREATE VIEW "s.m" AS SELECT id + 1 AS id FROM "s.z"',
        'CREATE VIEW "s.a" AS SELECT id + 1 AS id FROM "s.m"',
        changes="s.z s.m s.a",
    )
    assert sorted(world.rows("s.a")) == [(3,), (4,)]
    assert world.query("SELECT sum(id) FROM s.a JOIN s.m USING (id)") == [(3,)]


def test_the_names_of_a_column_list_are_the_columns(world: World):
    world.do('CREATE VIEW "s.v" ("n", "a, (b") AS SELECT id, price FROM "s.items"', changes="s.v")
    assert world.held.read_rows("default", "s.v", 1)[0] == ["n", "a, (b"]
    assert world.query('SELECT max(n), max("a, (b") FROM s.v') == [ROWS[1][:2]]
    with pytest.raises(QueryError, match="names 1 columns, but its query has 2"):
        world.do('CREATE VIEW "s.w" (n) AS SELECT id, price FROM "s.items"', changes="s.w")


def test_statements_create_replace_and_drop_views(world: World):
    world.do(DEAR, changes="s.dear")
    with pytest.raises(QueryError, match='View with name "s.dear" already exists'):
        world.do(DEAR, changes="s.dear")
    world.do(DEAR.replace("VIEW", "VIEW IF NOT EXISTS").replace("10", "0"), changes="s.dear")
    assert len(world.rows("s.dear")) == 1
    world.do(DEAR.replace("CREATE", "CREATE OR REPLACE").replace("10", "0"), changes="s.dear")
    assert len(world.rows("s.dear")) == 2
    world.do('DROP VIEW "s.dear"', 'DROP VIEW IF EXISTS "s.dear"', changes="s.dear")
    with pytest.raises(NotFoundError):
        world.rows("s.dear")
    with pytest.raises(QueryError, match="View with name s.dear does not exist"):
        world.do('DROP VIEW "s.dear"', changes="s.dear")


def test_what_fails_leaves_the_views_as_they_were(world: World):
    world.do(DEAR, changes="s.dear")
    for wrong in ("SELECT * FROM missing", 'CREATE VIEW "s.new" AS SELECT nothing FROM "s.items"'):
        with pytest.raises(QueryError):
            world.do('DROP VIEW "s.dear"', wrong, changes="s.dear s.new")
    assert [each.name for each in world.tables.list_tables("default")] == ["s.dear", "s.items"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        'CREATE OR REPLACE TABLE "s.dear" AS SELECT 1 AS a',
        'DROP TABLE "s.dear"',
        'DROP TABLE IF EXISTS "s.dear"',
        'INSERT INTO "s.dear" VALUES (1, 2)',
        'UPDATE "s.dear" SET id = 1',
        'DELETE FROM "s.dear"',
        'TRUNCATE "s.dear"',
        'ALTER TABLE "s.dear" ADD COLUMN c INTEGER',
        'MERGE INTO "s.dear" AS t USING (SELECT 1 AS a) s ON s.a = t.id WHEN MATCHED THEN DELETE',
    ],
)
def test_statements_for_tables_refuse_a_view(world: World, sql: str):
    world.do(DEAR, changes="s.dear")
    with pytest.raises(QueryError) as caught:
        world.do(sql, changes="s.dear")
    assert caught.value.message == (
        "'s.dear' is not allowed for this operation because it is currently a VIEW."
    )
    assert len(world.rows("s.dear")) == 1


@pytest.mark.parametrize("sql", ['DROP VIEW "s.items"', DEAR.replace("s.dear", "s.items")])
def test_statements_for_views_refuse_a_table(world: World, sql: str):
    sql = sql.replace("CREATE", "CREATE OR REPLACE")
    with pytest.raises(QueryError, match="because it is currently a TABLE."):
        world.do(sql, changes="s.items")
    with contextlib.suppress(LocalcdapError):
        world.do(sql, changes="s.other")
    assert world.rows("s.items") == ROWS


def test_a_created_table_has_not_the_name_of_a_view(world: World):
    world.do(DEAR, changes="s.dear")
    with pytest.raises(QueryError, match='View with name "s.dear" already exists'):
        world.do('CREATE TABLE "s.dear" AS SELECT 1 AS a', changes="s.dear")
    world.do('CREATE TABLE IF NOT EXISTS "s.dear" (a INTEGER)', changes="s.dear")
    assert len(world.rows("s.dear")) == 1


def test_a_name_passes_from_a_table_to_a_view_and_back(world: World):
    world.do(
        'CREATE TABLE "s.x" AS FROM "s.items"', makes=[CreatedTable("s.x", None)], changes="s.x"
    )
    world.do('DROP TABLE "s.x"', 'CREATE VIEW "s.x" AS SELECT 1 AS a', changes="s.x")
    assert world.tables.read_shapes("default")["s.x"].is_view
    world.do(
        'DROP VIEW "s.x"',
        'CREATE TABLE "s.x" AS SELECT 2 AS b',
        makes=[CreatedTable("s.x", None)],
        changes="s.x",
    )
    assert not world.tables.read_shapes("default")["s.x"].is_view
    assert world.rows("s.x") == [(2,)]


def test_no_view_reads_itself(world: World):
    world.do(DEAR, 'CREATE VIEW "s.w" AS FROM "s.dear"', changes="s.dear s.w")
    for query in ('FROM "s.dear"', 'FROM "s.w"', 'SELECT * FROM "s.items", "s.w"'):
        with pytest.raises(QueryError, match=r"'s\.(dear|w)' cannot be created, .* read itself"):
            world.do(f'CREATE OR REPLACE VIEW "s.dear" AS {query}', changes="s.dear")
    assert len(world.rows("s.w")) == 1


def test_a_view_of_a_missing_table_names_it_wherever_it_is_read(world: World):
    world.do(DEAR, 'CREATE VIEW "s.w" AS FROM "s.dear"', changes="s.dear s.w")
    world.do('DROP TABLE "s.items"', changes="s.items")
    told = "View 's.dear' cannot be read: Table with name s.items does not exist!"
    for sql in ("FROM s.dear", 'SELECT count(*) FROM "s.w"', "FROM s.w LIMIT 0", "DESCRIBE s.dear"):
        assert world.failure(sql) == told
    for read in (
        lambda: world.rows("s.w"),
        lambda: world.tables.export("default", "s.dear", str(world.folder / "out")),
        lambda: world.do('CREATE TABLE "s.c" AS FROM "s.w"', changes="s.c"),
        lambda: world.do('CREATE VIEW "s.c" AS FROM "s.w"', changes="s.c"),
    ):
        with pytest.raises(QueryError) as caught:
            read()
        assert caught.value.message == told
    shape = world.tables.read_shapes("default")["s.dear"]
    assert (shape.problem, shape.schema.field_names) == (told, ["id", "price"])
    assert [each.problem for each in world.tables.list_tables("default")] == [told, told]
    listed = [each for each in world.queries.list_tables("default") if each.schema == "default"]
    assert [each.problem for each in listed] == [told, told]
    assert world.query("SELECT 1") == [(1,)]


def test_a_view_reads_its_table_again_when_it_is_back(world: World):
    world.do(DEAR, changes="s.dear")
    world.do('DROP TABLE "s.items"', changes="s.items")
    done = world.do(
        'CREATE TABLE "s.items" AS SELECT 7 AS id, 11 AS price',
        'SELECT * FROM "s.dear"',
        changes="s.items",
    )
    assert done.rows == 1
    assert world.rows("s.dear") == [(7, 11)]
    assert world.tables.read_shapes("default")["s.dear"].problem is None


def test_a_table_with_other_columns_fails_its_views_when_they_are_read(world: World):
    world.do(DEAR, changes="s.dear")
    world.do('CREATE OR REPLACE TABLE "s.items" AS SELECT 1 AS other', changes="s.items")
    assert "View 's.dear' cannot be read: Referenced column \"price\" not found" in world.failure(
        "FROM s.dear"
    )
    world.do(
        "CREATE OR REPLACE TABLE \"s.items\" AS SELECT 'x' AS id, 12.5::DOUBLE AS price",
        changes="s.items",
    )
    assert world.rows("s.dear") == [("x", 12.5)]
    schema = world.tables.read_shapes("default")["s.dear"].schema
    assert [each.schema.non_nullable for each in schema] == [Schema.STRING, Schema.DOUBLE]


def test_no_sink_writes_into_a_view(world: World):
    world.do(DEAR, changes="s.dear")
    file = world.folder / "rows.parquet"
    pq.write_table(pa.table({"id": [1]}), file)
    row = Schema.record("r", [("id", Schema.LONG)])
    for write in (
        lambda tx: world.held.append(tx, "default", "s.dear", row, [file]),
        lambda tx: world.held.upsert_parquet(tx, "default", "s.dear", row, "id", [file]),
        lambda tx: world.held.write_parquet(
            tx, "default", "s.dear", row, TableWrite(truncate=True), [file]
        ),
    ):
        with (
            pytest.raises(StoreError, match="it is currently a VIEW"),
            world.store.transaction() as tx,
        ):
            write(tx)
    assert len(world.rows("s.dear")) == 1


def test_a_query_of_a_view_reads_tables_of_its_namespace_and_nothing_else(
    world: World, instance: Instance
):
    instance.namespaces.create("team")
    world.do(DEAR, changes="s.dear")
    assert world.query('SELECT id FROM "default"."s.dear"', namespace="team") == [(2,)]
    for query in (
        "FROM read_csv('/etc/passwd')",
        'FROM main."dataset_tables"',
        "FROM team.people",
        "FROM structured.notes",
    ):
        with pytest.raises(QueryError):
            world.do(f'CREATE VIEW "s.v" AS {query}', changes="s.v")


def test_a_dropped_view_leaves_its_table_and_a_namespace_takes_its_views_with_it(
    world: World, instance: Instance
):
    world.do(DEAR, changes="s.dear")
    world.tables.drop("default", "s.dear")
    assert [each.name for each in world.tables.list_tables("default")] == ["s.items"]
    instance.namespaces.create("team")
    batch = StatementBatch("team", ['CREATE VIEW "s.v" AS SELECT 1 AS a'], ["s.v"])
    world.statements.carry_out(batch)
    instance.namespaces.delete("team")
    instance.namespaces.create("team")
    assert world.tables.list_tables("team") == []


def test_the_tables_that_statements_read_are_known(world: World):
    assert world.do('CREATE VIEW "s.seen" AS FROM "s.items"', changes="s.seen").reads == []
    assert world.do('SELECT count(*) FROM "s.seen"').reads == ["s.items"]
    copied = world.do('CREATE TABLE "s.made" AS FROM "s.items" LIMIT 1', changes="s.made")
    assert copied.reads == ["s.items"]
    assert world.do('DELETE FROM "s.made"', changes="s.made").reads == []
    assert world.do("SELECT 1").reads == []


def test_names_that_differ_in_case_only_are_refused(world: World):
    with pytest.raises(LocalcdapError):
        world.do('CREATE VIEW "S.ITEMS" AS SELECT 1 AS a', changes="S.ITEMS")


def test_temporary_tables_end_with_their_statements(world: World):
    done = world.do(
        "CREATE TEMPORARY TABLE tmp AS SELECT 5 AS n",
        'CREATE TABLE "s.kept" AS SELECT n + 1 AS n FROM "temp"."main"."tmp"',
        'SELECT * FROM "temp"."main"."tmp"',
        changes="s.kept",
    )
    assert done.rows == 1
    assert world.rows("s.kept") == [(6,)]
    assert [each.name for each in world.tables.list_tables("default")] == ["s.items", "s.kept"]
    for failing in ("SELECT error('x')", "SELECT 1"):
        with pytest.raises(QueryError):
            world.do("CREATE TEMPORARY TABLE tmp AS SELECT 5 AS n", failing, "SELECT * FROM tmp2")
    with pytest.raises(QueryError, match="tmp does not exist"):
        world.do("SELECT * FROM tmp")


def test_views_are_in_backups(world: World):
    world.do(DEAR, changes="s.dear")
    world.store.back_up(world.folder / "copy.duckdb")
    with Store(world.folder / "copy.duckdb") as copy:
        assert NamespaceTables(copy).read_rows("default", "s.dear", 9)[1] == [
            (2, decimal.Decimal("20.00"))
        ]
