"""Datasets beside the SQL that one would write by hand, on the same rows in a DuckDB file."""

from __future__ import annotations

import multiprocessing
import shutil
import statistics
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measure import Row, at_most, within
from benchmarks.structured import alternate

if TYPE_CHECKING:
    from localcdap.api.app.transactions import TransactionContext

OPERATIONS: Final = 300
ROWS: Final = 1_000_000
INDEXED_ROWS: Final = 100_000
PARTITIONS: Final = 10_000
FILES: Final = 20
TRIP_S: Final = 0.00015
"""One round trip between two processes, as the target of operations from another process counts it."""


def datasets(folder: Path, rounds: int) -> Iterator[Row]:
    """Reads and writes by key, each committed; reads by an index; one scan."""
    place = folder / "datasets"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    ours, raw = _Ours(place), _Raw(place / "raw.duckdb")
    fresh = iter(range(1, 1_000_000))
    for name, reference, work in (
        (
            f"{OPERATIONS} reads by key of {INDEXED_ROWS} rows",
            "BEGIN, SELECT, COMMIT",
            lambda side, _: [side.read(number * 7) for number in range(OPERATIONS)],
        ),
        (
            f"{OPERATIONS} writes by key, half of them new",
            "INSERT … ON CONFLICT",
            lambda side, n: [side.write(i + i % 2 * n * 10**8) for i in range(OPERATIONS)],
        ),
        (
            f"{OPERATIONS} reads by an index",
            "BEGIN, SELECT, COMMIT",
            lambda side, _: [side.read_by_index(number) for number in range(OPERATIONS)],
        ),
        (f"scan of {ROWS} rows", "SELECT, fetchall", lambda side, _: side.scan()),
        (f"list of {PARTITIONS} partitions", "SELECT, fetchall", lambda side, _: side.list()),
    ):
        ours_s, raw_s = alternate(work, ours, raw, rounds, fresh)
        yield at_most(name, ours_s, reference, raw_s, 1.3)
    ours_s, raw_s = alternate(lambda side, _: side.read_files(), ours, raw, rounds, fresh)
    # Each query has a DuckDB of its own, without access to files, for which it pays once.
    name = f"SQL on {INDEXED_ROWS} rows in {FILES} files, one partition"
    yield within(name, ours_s, 0.15, "read_parquet, hive partitioning", raw_s)
    yield from _measure_other_process(ours, raw, rounds)
    ours.close()
    raw.close()


def _measure_other_process(ours: _Ours, raw: _Raw, rounds: int) -> Iterator[Row]:
    """Operations of a dataset class in a process that is a client of the host, in one transaction."""
    with _OtherProcess(ours.place / "home") as other:
        for name, reference, operation in (
            (f"{OPERATIONS} reads by key from another process", "SELECT", "read"),
            (f"{OPERATIONS} writes by key from another process", "INSERT … ON CONFLICT", "write"),
        ):
            times: list[list[float]] = [[], []]
            for turn in range(rounds + 1):
                pair = other.measure(operation), raw.measure(operation)
                if turn:
                    for kept, taken in zip(times, pair, strict=True):
                        kept.append(taken)
            ours_s, raw_s = map(statistics.median, times)
            limit_s = 1.3 * raw_s + OPERATIONS * TRIP_S
            yield within(name, ours_s, round(limit_s, 3), reference, raw_s)


def write_files(folder: Path) -> None:
    """Write rows into one file for each day."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for day in range(FILES):
        ids = range(day, INDEXED_ROWS, FILES)
        names = [f"item {number}" for number in ids]
        table = pa.table({"id": ids, "city": [each % 20000 for each in ids], "name": names})
        (folder / f"day={day}").mkdir(parents=True)
        pq.write_table(table, folder / f"day={day}" / "part-0.parquet")


class _Ours:
    def __init__(self, place: Path) -> None:
        from localcdap.api.schema import Schema
        from localcdap.datasets.model import DatasetRequest
        from localcdap.home import Home
        from localcdap.host import open_in_process

        self.place = place
        self._open = open_in_process(Home(place / "home"))
        self._cdap = self._open.__enter__()
        schema = Schema.record(
            "item", [("id", Schema.LONG), ("city", Schema.LONG), ("name", Schema.STRING)]
        )
        keyed = {"schema": str(schema), "schema.row.field": "id"}
        create = self._cdap.datasets.create
        create(DatasetRequest("kv", "keyValueTable"))
        create(DatasetRequest("indexed", "indexedTable", {**keyed, "columnsToIndex": "city"}))
        create(DatasetRequest("items", "table", keyed))
        days = {"partitioning.fields.": "day", "partitioning.field.day": "INT"}
        create(DatasetRequest("parts", "partitionedFileSet", days))
        files = {**days, "format": "parquet", "schema": str(schema)}
        create(DatasetRequest("files", "partitionedFileSet", files))
        write_files(Path(self._cdap.datasets.describe("default", "files").folder))
        self._run = self._cdap.transactions.run
        store = self._cdap.transaction_service._tables._store
        with store.transaction() as tx:
            values = "SELECT encode(i::VARCHAR), encode('value ' || i)"
            tx.execute(f'INSERT INTO "default".kv {values} FROM range({INDEXED_ROWS}) t(i)')
            for name, rows in (("indexed", INDEXED_ROWS), ("items", ROWS)):
                values = "SELECT i, i % 20000, 'item ' || i"
                tx.execute(f'INSERT INTO "default".{name} {values} FROM range({rows}) t(i)')
            for name, rows in (("parts", PARTITIONS), ("files", FILES)):
                values = "SELECT i, 'day=' || i, 0, MAP {}::MAP(VARCHAR, VARCHAR)"
                tx.execute(
                    f'INSERT INTO "default"."{name}.partitions" {values} FROM range({rows}) t(i)'
                )
        store.write_checkpoint()

    def read(self, number: int) -> bytes:
        key = str(number).encode()
        found: bytes = self._run(lambda tx: tx.dataset("kv").read(key))
        assert found
        return found

    def write(self, number: int) -> None:
        key = str(number).encode()
        self._run(lambda tx: tx.dataset("kv").write(key, b"value"))

    def read_by_index(self, value: int) -> int:
        found = self._run(lambda tx: tx.dataset("indexed").read_by_index("city", value))
        assert len(found) == INDEXED_ROWS // 20000
        return len(found)

    def scan(self) -> int:
        return self._run(lambda tx: sum(1 for _ in tx.dataset("items").scan()))

    def list(self) -> int:
        return self._run(lambda tx: len(tx.dataset("parts").get_partitions()))

    def read_files(self) -> int:
        from localcdap.datasets.sql import SqlRequest

        sql = "SELECT count(*) FROM files WHERE day = 7 AND city > 10"
        return len(self._cdap.sql.query(SqlRequest(sql)).arrow)

    def close(self) -> None:
        self._open.__exit__(None, None, None)


class _OtherProcess:
    """A process that opens datasets of an instance as a client of its host."""

    def __init__(self, home: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, end = context.Pipe()
        self._process = context.Process(target=_serve_measures, args=(str(home), end))
        self._process.start()

    def __enter__(self) -> _OtherProcess:
        return self

    def measure(self, operation: str) -> float:
        """Return the seconds that operations in one transaction took there."""
        self._connection.send(operation)
        taken: float = self._connection.recv()
        return taken

    def __exit__(self, *_: object) -> None:
        self._connection.send(None)
        self._process.join()


def _serve_measures(home: str, connection: Connection) -> None:
    from localcdap.home import Home
    from localcdap.host.cdap import connect

    def perform(tx: TransactionContext, operation: str) -> None:
        values = tx.dataset("kv")
        for number in range(OPERATIONS):
            key = str(number * 7).encode()
            if operation == "read":
                values.read(key)
            else:
                values.write(key, b"value")

    with connect(Home(Path(home))) as cdap:
        for operation in iter(connection.recv, None):
            start = time.perf_counter()
            cdap.transactions.run(lambda tx, operation=operation: perform(tx, operation))
            connection.send(time.perf_counter() - start)


class _Raw:
    def __init__(self, path: Path) -> None:
        import duckdb

        self._connection = execute = duckdb.connect(str(path))
        execute.execute("CREATE TABLE kv (key BLOB PRIMARY KEY, value BLOB)")
        execute.execute("CREATE TABLE items (id BIGINT, city BIGINT, name VARCHAR)")
        execute.execute("CREATE TABLE indexed (id BIGINT PRIMARY KEY, city BIGINT, name VARCHAR)")
        execute.execute(
            f"INSERT INTO kv SELECT encode(i::VARCHAR), encode('value ' || i) FROM range({INDEXED_ROWS}) t(i)"
        )
        for name, rows in (("indexed", INDEXED_ROWS), ("items", ROWS)):
            execute.execute(
                f"INSERT INTO {name} SELECT i, i % 20000, 'item ' || i FROM range({rows}) t(i)"
            )
        execute.execute(
            "CREATE TABLE parts AS SELECT i AS day, 'day=' || i AS path, 0::BIGINT AS created, "
            f"MAP {{}}::MAP(VARCHAR, VARCHAR) AS metadata FROM range({PARTITIONS}) t(i)"
        )
        self._files = path.parent / "files"
        write_files(self._files)
        execute.execute("CREATE INDEX by_city ON indexed (city)")
        execute.execute("CHECKPOINT")

    def measure(self, operation: str) -> float:
        """Return the seconds of operations in one transaction."""
        values = {
            "read": ("SELECT value FROM kv WHERE key = ?", lambda key: [key]),
            "write": (
                "INSERT INTO kv VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                lambda key: [key, b"value"],
            ),
        }
        sql, list_values = values[operation]
        start = time.perf_counter()
        self._connection.begin()
        for number in range(OPERATIONS):
            self._connection.execute(sql, list_values(str(number * 7).encode())).fetchall()
        self._connection.commit()
        return time.perf_counter() - start

    def read(self, number: int) -> bytes:
        found: bytes = self._select("SELECT value FROM kv WHERE key = ?", str(number).encode())[0][
            0
        ]
        return found

    def write(self, number: int) -> None:
        sql = "INSERT INTO kv VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        self._connection.execute(sql, [str(number).encode(), b"value"]).fetchall()

    def read_by_index(self, value: int) -> int:
        return len(self._select("SELECT id, city, name FROM indexed WHERE city = ?", value))

    def scan(self) -> int:
        return len(self._connection.execute("FROM items ORDER BY id").fetchall())

    def list(self) -> int:
        return len(self._connection.execute("FROM parts ORDER BY path").fetchall())

    def read_files(self) -> int:
        files = f"read_parquet('{self._files}/*/*', hive_partitioning = true)"
        sql = f"SELECT count(*) FROM {files} WHERE day = 7 AND city > 10"
        return len(self._connection.execute(sql).fetchall())

    def close(self) -> None:
        self._connection.close()

    def _select(self, sql: str, value: object) -> list[tuple]:  # type: ignore[type-arg]
        self._connection.begin()
        rows = self._connection.execute(sql, [value]).fetchall()
        self._connection.commit()
        return rows
