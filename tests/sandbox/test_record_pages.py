"""Pages of records, and the types that several of them have in common."""

from __future__ import annotations

import pyarrow as pa
import pytest

from localcdap.api.connector import PageRequest, PositionedRecords
from localcdap.api.schema import Schema
from localcdap.sandbox import record_samples
from localcdap.sandbox.record_samples import SchemaMerger, cast_table, take_page


def test_the_schema_of_several_tables_takes_all_values() -> None:
    merger = SchemaMerger()
    tables = [
        pa.table({"a": pa.array([None], pa.string()), "b": [1], "c": [b"\xff"], "d": [True]}),
        pa.table({"a": [1], "b": [1.5], "c": [7], "d": pa.array([None], pa.string())}),
    ]
    for each in tables:
        merger.add(each)
    found = pa.concat_tables([cast_table(each, merger.schema) for each in tables])
    assert found.to_pydict() == {
        "a": [None, 1],
        "b": [1.0, 1.5],
        "c": ["\ufffd", "7"],
        "d": [True, None],
    }


def test_a_page_ends_with_its_time_its_size_or_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_samples, "_CHUNK", 10)
    schema = Schema.record("r", [("n", Schema.LONG)])

    def take(count: int, limit: int, seconds: float) -> tuple[int, object, bool]:
        records = ((f"k{n}", {"n": n}) for n in range(count))
        found = take_page(
            PositionedRecords(records, schema), PageRequest(limit=limit, after="x"), seconds
        )
        return found.rows, found.after, found.is_last

    assert take(25, 100, 60) == (25, "k24", True)
    assert take(25, 20, 60) == (20, "k19", False)
    assert take(25, 25, 60) == (25, "k24", False)
    assert take(25, 100, 0) == (10, "k9", False)
    assert take(0, 100, 60) == (0, "x", True)
    monkeypatch.setattr(record_samples, "_MOST_BYTES", 100)
    assert take(25, 100, 60) == (20, "k19", False)
