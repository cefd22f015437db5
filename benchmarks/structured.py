"""Structured tables beside the SQL that one would write by hand, on the same rows in a DuckDB file."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Row, at_most

OPERATIONS: Final = 300
SCANNED_ROWS: Final = 100_000
BULK_ROWS: Final = 20_000
_COLUMNS: Final = {
    "namespace": "VARCHAR",
    "id": "BIGINT",
    "name": "VARCHAR",
    "size": "BIGINT",
    "ratio": "DOUBLE",
}
_UPSERT: Final = (
    "ON CONFLICT (namespace, id) DO UPDATE SET name = excluded.name, size = excluded.size, "
    "ratio = excluded.ratio"
)


def structured(folder: Path, rounds: int) -> Iterator[Row]:
    """Upserts and point reads one by one, each committed; one scan; one bulk write."""
    place = folder / "structured"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    ours, raw = _Ours(place / "ours.duckdb"), _Raw(place / "raw.duckdb")
    for side in (ours, raw):
        side.bulk(0, SCANNED_ROWS)
        side.checkpoint()
    fresh = iter(range(1, 1_000_000))
    for name, reference, work in (
        (
            f"{OPERATIONS} upserts, half of them new",
            "INSERT … ON CONFLICT",
            lambda side, n: [side.upsert(i + i % 2 * n * 10**8) for i in range(OPERATIONS)],
        ),
        (
            f"{OPERATIONS} point reads",
            "BEGIN, SELECT, COMMIT",
            lambda side, _: [side.read(i) for i in range(OPERATIONS)],
        ),
        (f"scan of {SCANNED_ROWS} rows", "SELECT, fetchall", lambda side, _: side.scan()),
        (
            f"bulk upsert of {BULK_ROWS} rows",
            "INSERT … SELECT unnest",
            lambda side, n: side.bulk((n + 1) * SCANNED_ROWS, BULK_ROWS),
        ),
    ):
        ours_s, raw_s = alternate(work, ours, raw, rounds, fresh)
        yield at_most(name, ours_s, reference, raw_s, 1.3)
    ours.close()
    raw.close()


def alternate(
    work: Callable[[Any, int], Any], ours: Any, raw: Any, rounds: int, fresh: Iterator[int]
) -> tuple[float, float]:
    """Median seconds of the work on either side, after one uncounted turn."""
    times: dict[Any, list[float]] = {ours: [], raw: []}
    for turn in range(rounds + 1):
        number = next(fresh)
        for side in (ours, raw):
            start = time.perf_counter()
            work(side, number)
            if turn:
                times[side].append(time.perf_counter() - start)
    return statistics.median(times[ours]), statistics.median(times[raw])


def _record(id: int) -> dict[str, Any]:
    return {"namespace": "default", "id": id, "name": f"item {id}", "size": id, "ratio": id / 7}


class _Ours:
    def __init__(self, path: Path) -> None:
        from localcdap.api.app import FieldType, StructuredTableSpecification
        from localcdap.store.store import Store
        from localcdap.store.structured.admin import StructuredTables

        types = {
            "VARCHAR": FieldType.STRING,
            "BIGINT": FieldType.LONG,
            "DOUBLE": FieldType.DOUBLE,
        }
        self._store = Store(path)
        self._tables = StructuredTables(self._store)
        self._tables.admin.create_or_update(
            StructuredTableSpecification(
                "items",
                fields={name: types[type] for name, type in _COLUMNS.items()},
                primary_key=["namespace", "id"],
            )
        )
        self._run = self._tables.transactions.run

    def upsert(self, id: int) -> None:
        self._run(lambda context: context.table("items").upsert(_record(id)))

    def read(self, id: int) -> int:
        return self._run(lambda context: context.table("items").read(("default", id)))["size"]

    def scan(self) -> int:
        return self._run(lambda c: sum(row["size"] for row in c.table("items").scan()))

    def bulk(self, first: int, count: int) -> None:
        records = [_record(id) for id in range(first, first + count)]
        self._run(lambda context: context.table("items").upsert_all(records))

    def checkpoint(self) -> None:
        self._store.read("CHECKPOINT")

    def close(self) -> None:
        self._tables.close()
        self._store.close()


class _Raw:
    def __init__(self, path: Path) -> None:
        import duckdb

        self._connection = duckdb.connect(str(path))
        columns = ", ".join(f"{name} {type}" for name, type in _COLUMNS.items())
        self._connection.execute(f"CREATE TABLE items ({columns}, PRIMARY KEY (namespace, id))")

    def upsert(self, id: int) -> None:
        sql = f"INSERT INTO items VALUES (?, ?, ?, ?, ?) {_UPSERT}"
        self._connection.execute(sql, list(_record(id).values())).fetchall()

    def read(self, id: int) -> int:
        sql = "SELECT namespace, id, name, size, ratio FROM items WHERE namespace = ? AND id = ?"
        self._connection.begin()
        rows = self._connection.execute(sql, ("default", id)).fetchall()
        self._connection.commit()
        return rows[0][3]

    def scan(self) -> int:
        sql = "SELECT namespace, id, name, size, ratio FROM items ORDER BY namespace, id"
        return sum(row[3] for row in self._connection.execute(sql).fetchall())

    def bulk(self, first: int, count: int) -> None:
        records = [_record(id) for id in range(first, first + count)]
        lists = [[record[name] for record in records] for name in _COLUMNS]
        source = ", ".join(f"unnest(?::{type}[])" for type in _COLUMNS.values())
        self._connection.execute(f"INSERT INTO items SELECT {source} {_UPSERT}", lists)

    def checkpoint(self) -> None:
        self._connection.execute("CHECKPOINT")

    def close(self) -> None:
        self._connection.close()
