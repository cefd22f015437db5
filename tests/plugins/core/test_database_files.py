"""All records of tables in DuckDB and SQLite files, page by page."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from core_plugins.connectors.database_files import DuckDBConnector, SQLiteConnector

from localcdap.api.connector import RecordPage
from localcdap.testing import ConnectorTester

ROWS = 25


def read_rows(pages: list[RecordPage]) -> list[dict[str, object]]:
    given = [pa.ipc.open_stream(each.arrow).read_all() for each in pages if each.arrow]
    return [row for table in given for row in table.to_pylist()]


@pytest.fixture
def lite(tmp_path: Path) -> ConnectorTester:
    database = sqlite3.connect(tmp_path / "x.sqlite")
    database.executescript(
        "CREATE TABLE t (rowid TEXT, a); CREATE VIEW v AS SELECT * FROM t ORDER BY a DESC;"
        "CREATE TABLE k (a INT PRIMARY KEY) WITHOUT ROWID; CREATE TABLE none (a INT)"
    )
    rows = [("same", n if n < ROWS - 1 else b"end") for n in range(ROWS)]
    database.executemany("INSERT INTO t VALUES (?, ?)", rows)
    database.executemany("INSERT INTO k VALUES (?)", [(n,) for n in range(ROWS)])
    database.execute("DELETE FROM t WHERE a = 3")
    database.commit()
    database.close()
    return ConnectorTester(SQLiteConnector, {"path": str(tmp_path / "x.sqlite")})


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_pages_of_sqlite_have_each_row_once(lite: ConnectorTester, limit: int) -> None:
    numbers = [str(n) for n in range(ROWS - 1) if n != 3]
    last = "b'end'" if limit == 1 else "end"  # a page of bytes only; with numbers they are texts
    for table, expected in (("t", [*numbers, last]), ("v", [last, *reversed(numbers)])):
        pages = lite.read_pages(f"/{table}", limit)
        rows = read_rows(pages)
        assert [str(row["a"]) for row in rows] == expected
        assert {row["rowid"] for row in rows} == {"same"}
        assert [each.total for each in pages[:2]] in ([ROWS - 1], [ROWS - 1, None])
    assert [row["a"] for row in read_rows(lite.read_pages("/k", limit))] == list(range(ROWS))
    assert [each.arrow for each in lite.read_pages("/none", limit)] == [b""]


def test_pages_of_duckdb_have_each_row_once(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        database.execute(f"CREATE TABLE t AS SELECT range AS a FROM range({ROWS})")
    duck = ConnectorTester(DuckDBConnector, {"path": str(tmp_path / "x.duckdb")})
    for limit in (5, 7, 100):
        pages = duck.read_pages("/main/t", limit)
        assert [row["a"] for row in read_rows(pages)] == list(range(ROWS))
        assert {each.version for each in pages} == {pages[0].version}
    before = pages[0].version
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        database.execute("INSERT INTO t VALUES (1)")
    assert duck.read_pages("/main/t")[0].version != before
