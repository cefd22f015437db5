"""Tables sorted by key, and rows found in them."""

from __future__ import annotations

import datetime
import decimal
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape
from localcdap.engine.messages.host import TableFiles
from localcdap.engine.plan import tables as lookups
from localcdap.engine.plan.tables import sort_rows, write_lookup_file
from localcdap.engine.tasks.context import WorkerStageContext
from localcdap.engine.tasks.lookups import FileLookup, SortedRows
from localcdap.testing.references import START


def record(**fields: Any) -> Schema:
    return Schema.parse_record(
        {
            "type": "record",
            "name": "r",
            "fields": [{"name": n, "type": t} for n, t in fields.items()],
        }
    )


def snapshot(
    folder: Path, schema: Schema, rows: list[dict[str, Any]], key: str | None = None
) -> TableFiles:
    """A table of these rows, in several row groups."""
    file = folder / "snapshot.parquet"
    pq.write_table(
        pa.Table.from_batches([RecordCodec(schema).encode(rows)]), file, row_group_size=2
    )
    return TableFiles(schema, [str(file)], key)


def looked_into(
    folder: Path, schema: Schema, rows: list[dict[str, Any]], key: str | None = None
) -> FileLookup:
    """A lookup as a worker gets it."""
    made = FileLookup(write_lookup_file("t", snapshot(folder, schema, rows, key), folder))
    copy: FileLookup = pickle.loads(pickle.dumps(made))
    return copy


MOMENT = {"type": "long", "logicalType": "timestamp-micros"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}


def test_rows_are_found_by_key_with_their_types(tmp_path):
    schema = record(
        id="string",
        at=[MOMENT, "null"],
        price=MONEY,
        tags={"type": "array", "items": "string"},
        raw="bytes",
    )
    rows = [
        {
            "id": key,
            "at": START if key == "é" else None,
            "price": decimal.Decimal("1.25"),
            "tags": [key],
            "raw": b"\0",
        }
        for key in ("b", "é", "a", "", "𝄞")
    ]
    found = looked_into(tmp_path, schema, rows, "id")

    assert found.schema.field_names == ["at", "price", "tags", "raw"]
    for row in rows:
        assert found.get(row["id"]) == {k: v for k, v in row.items() if k != "id"}
    assert [found.get(key) for key in ("c", "A", "aa", "\ud800")] == [None] * 4
    assert list(found.get_all(["é", "none", "a"])) == ["é", "a"]
    assert not (tmp_path / "snapshot.parquet").exists()


@pytest.mark.parametrize(
    ("type", "value", "text"),
    [
        ("int", 7, "7"),
        ("long", -(2**62), str(-(2**62))),
        ("boolean", True, "true"),
        ("bytes", b"k", "k"),
        (MONEY, decimal.Decimal("1.50"), "1.50"),
        ({"type": "int", "logicalType": "date"}, datetime.date(2024, 2, 29), "2024-02-29"),
    ],
)
def test_keys_are_compared_as_text(tmp_path, type, value, text):
    found = looked_into(tmp_path, record(k=type, v="int"), [{"k": value, "v": 1}])
    assert found.get(text) == {"v": 1}


def test_of_equal_keys_the_first_row_counts_and_rows_without_a_key_none(tmp_path):
    keys = ["b", None, "a", "b", "a", None, "c"]
    rows = [{"key": key, "n": n, "m": 0} for n, key in enumerate(keys)]
    found = looked_into(tmp_path, record(n="int", key=["string", "null"], m="int"), rows)
    assert {k: v["n"] for k, v in found.get_all("abcd").items()} == {"a": 2, "b": 0, "c": 6}


@pytest.mark.parametrize("rows", [[], [{"key": None, "value": "x"}]])
def test_a_table_without_rows_finds_nothing(tmp_path, rows):
    schema = record(key=["string", "null"], value="string")
    assert looked_into(tmp_path, schema, rows).get("a") is None
    assert FileLookup(write_lookup_file("t", TableFiles(schema, []), tmp_path)).get("a") is None


def test_a_table_that_has_only_its_key_and_one_of_nulls(tmp_path):
    assert looked_into(tmp_path, record(k="string"), [{"k": "a"}], "k").get("a") == {}
    found = looked_into(tmp_path, record(k="string", n="null"), [{"k": "a", "n": None}])
    assert found.get("a") == {"n": None}


@pytest.mark.parametrize(
    ("schema", "key", "reported"),
    [
        (record(a="int", b="int", c="int"), None, "no key .* are: a, b, c"),
        (record(k={"type": "array", "items": "int"}, b="int"), None, "key 'k' is of type list"),
    ],
)
def test_a_table_without_a_plain_key_is_refused(tmp_path, schema, key, reported):
    with pytest.raises(StageError, match=f"table 't' .*{reported}"):
        write_lookup_file("t", snapshot(tmp_path, schema, [], key), tmp_path)


def test_a_table_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lookups, "MOST_LOOKUP_BYTES", 10)
    given = snapshot(tmp_path, record(k="string", v="string"), [{"k": "a", "v": "x" * 100}])
    with pytest.raises(StageError, match="at most 0 MiB can be looked into"):
        write_lookup_file("t", given, tmp_path)


def test_a_table_that_was_not_named_is_reported():
    context = WorkerStageContext.__new__(WorkerStageContext)
    context.stage_name, context.lookups = "s", {}
    with pytest.raises(
        StageError, match="table 'x', which its plugin does not name .* names: none"
    ):
        context.lookup("x")


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=30))
def test_whatever_the_keys_the_first_row_of_each_is_found(keys):
    shape = TableShape(record(k=["string", "null"], n="int"), "k")
    batch = RecordCodec(shape.schema).encode([{"k": k, "n": n} for n, k in enumerate(keys)])
    made = SortedRows(sort_rows("t", pa.Table.from_batches([batch]), shape), record(n="int"))
    for key in filter(None, keys):
        assert made.get(key) == {"n": keys.index(key)}


def test_a_hundred_thousand_rows_are_looked_up(tmp_path):
    count = 100_000
    rows = pa.table({"k": [f"k{n}" for n in range(count)], "v": pa.array(range(count), pa.int64())})
    pq.write_table(rows, tmp_path / "big.parquet")
    files = TableFiles(record(k="string", v="long"), [str(tmp_path / "big.parquet")])
    found = FileLookup(write_lookup_file("t", files, tmp_path))
    assert [found.get(f"k{n}") for n in range(0, count, 100)] == [
        {"v": n} for n in range(0, count, 100)
    ]
