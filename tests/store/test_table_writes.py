"""Rows written into tables without a key: inserts, updates, upserts, truncation, relaxed schemas."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StoreError
from localcdap.api.schema import Schema
from localcdap.api.tables import Partitioning, SortField, TableWrite
from localcdap.store.store import Store
from localcdap.store.tables import NamespaceTables

Rows = list[dict[str, Any]]
ITEM = Schema.record(
    "item",
    [
        ("k", Schema.INT.as_nullable),
        ("at", Schema.INT.as_nullable),
        ("v", Schema.STRING.as_nullable),
    ],
)
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("store") / "x.duckdb") as store:
        yield store


@pytest.fixture
def table(store: Store, tmp_path: Path) -> Callable[..., Rows]:
    """Writes into a table of its own, and gives its rows."""
    name = f"d.t{next(NUMBERS)}"
    return lambda *parts, schema=ITEM: written(store, tmp_path, name, schema, *parts)


def written(
    store: Store, folder: Path, name: str, schema: Schema, *parts: tuple[TableWrite, Rows]
) -> Rows:
    tables = NamespaceTables(store)
    for how, rows in parts:
        file = folder / f"{next(NUMBERS)}.parquet"
        pq.write_table(pa.Table.from_batches([RecordCodec(schema).encode(rows)]), file)
        with store.transaction() as tx:
            tables.write_parquet(tx, "default", name, schema, how, [file])
    columns, found = tables.read_rows("default", name, 1000)
    return sorted((dict(zip(columns, row, strict=True)) for row in found), key=repr)


def item(k, at, v):
    return {"k": k, "at": at, "v": v}


INSERT = TableWrite()
UPSERT = TableWrite("upsert", ("k",), (SortField("at", descending=True),))


def test_inserts_add_and_truncation_begins_again(table):
    rows = [item(1, 1, "a"), item(1, 1, "a")]
    assert table((INSERT, rows), (INSERT, rows)) == rows * 2
    assert table((TableWrite(truncate=True), rows[:1])) == rows[:1]


def test_a_truncated_table_has_the_new_columns(table):
    table((INSERT, [item(1, 1, "a")]))
    other = Schema.record("o", [("x", Schema.DOUBLE)])
    assert table((TableWrite(truncate=True), [{"x": 0.5}]), schema=other) == [{"x": 0.5}]


def test_an_update_changes_what_is_there_only(table):
    how = TableWrite("update", ("k",))
    found = table(
        (INSERT, [item(1, 1, "a"), item(None, 1, "n")]), (how, [item(1, 2, "b"), item(2, 2, "c")])
    )
    assert found == sorted([item(1, 2, "b"), item(None, 1, "n")], key=repr)


def test_the_first_in_order_counts(table):
    found = table((UPSERT, [item(1, 1, "old"), item(1, 3, "new"), item(1, None, "none")]))
    assert found == [item(1, 3, "new")]


def test_columns_that_are_not_written_stay(table):
    table((INSERT, [item(1, 1, "a")]))
    part = Schema.record("p", [("k", Schema.INT), ("v", Schema.STRING)])
    how = TableWrite("upsert", ("k",))
    found = table((how, [{"k": 1, "v": "b"}, {"k": 2, "v": "c"}]), schema=part)
    assert found == [item(1, 1, "b"), item(2, None, "c")]


def test_repeated_keys_without_an_order_are_refused(table):
    with pytest.raises(StoreError, match='2 of the rows .* have the same key: "k" = 1'):
        table((TableWrite("upsert", ("k",)), [item(1, 1, "a"), item(1, 2, "b")]))


@pytest.mark.parametrize(
    ("operation", "among", "given"),
    [
        ("upsert", "held.at >= 2", [item(1, 1, "a"), item(1, 9, "x"), item(2, 9, "x")]),
        ("update", "held.at >= 2", [item(1, 1, "a"), item(2, 9, "x")]),
        ("update", "held.at < given.at AND held.v IN ('a')", [item(1, 9, "x"), item(2, 2, "b")]),
        (
            "update",
            "googlesql_less(1, googlesql_int64('2') * held.at - 2)",
            [item(1, 1, "a"), item(2, 9, "x")],
        ),
        ("update", "true -- whatever", [item(1, 9, "x"), item(2, 9, "x")]),
    ],
)
def test_only_rows_under_the_condition_are_matched(table, operation, among, given):
    held = [item(1, 1, "a"), item(2, 2, "b")]
    how = TableWrite(operation, ("k",), among=among)
    assert table((INSERT, held), (how, [item(1, 9, "x"), item(2, 9, "x")])) == given


@pytest.mark.parametrize(
    ("among", "reported"),
    [
        ("k >", "is not a condition: syntax error"),
        ("held.k IN (SELECT 1)", "has a subquery"),
        ("sum(held.k) OVER () > 1", "has a window"),
        ("1=1) WHEN MATCHED THEN DELETE --", "is not a condition"),
        ("true); DROP TABLE dataset_tables; SELECT (1", "is not a condition"),
        ("true); SELECT (1", "is more than a condition"),
        ("true) GROUP BY (k", "is more than a condition"),
        ("held.nothing = 1", 'does not have a column named "nothing"'),
    ],
)
def test_a_condition_is_no_more_than_that(table, among, reported):
    how = TableWrite("update", ("k",), among=among)
    with pytest.raises(StoreError) as raised:
        table((INSERT, [item(1, 1, "a")]), (how, [item(1, 2, "b")]))
    assert reported in raised.value.message
    assert table() == [item(1, 1, "a")]


def test_a_table_keeps_what_it_is_parted_by(store, tmp_path):
    def parted(how: TableWrite, schema: Schema = ITEM) -> Partitioning | None:
        written(store, tmp_path, "d.parted", schema, (how, []))
        shape = NamespaceTables(store).read_shapes("default")["d.parted"]
        assert (
            NamespaceTables(store).describe("default", "d.parted").partitioning
            == shape.partitioning
        )
        return shape.partitioning

    by_at, by_key = Partitioning(field="at"), Partitioning("integer", "k")
    assert parted(TableWrite(partitioning=by_at)) == by_at
    assert parted(TableWrite(partitioning=by_key)) == by_at
    assert parted(TableWrite(truncate=True)) == by_at
    only_key = Schema.record("o", [("k", Schema.INT)])
    assert parted(TableWrite(truncate=True, partitioning=by_key), only_key) == by_key
    other = Schema.record("o", [("x", Schema.INT)])
    assert parted(TableWrite(truncate=True), other) is None


def test_new_columns_need_leave(table):
    table((INSERT, [item(1, 1, "a")]))
    more = Schema.record("m", [*ITEM, ("w", Schema.INT.as_nullable)])
    row = item(2, 2, "b") | {"w": 7}
    with pytest.raises(StoreError, match="has no column 'w'"):
        table((INSERT, [row]), schema=more)
    found = table((TableWrite(relaxes=True), [row]), schema=more)
    assert found == [item(1, 1, "a") | {"w": None}, row]


def test_null_needs_leave_where_the_table_has_none(table):
    strict = Schema.record("s", [("k", Schema.INT)])
    table((INSERT, [{"k": 1}]), schema=strict)
    loose = Schema.record("l", [("k", Schema.INT.as_nullable)])
    with pytest.raises(StoreError, match="allows no null in column 'k'"):
        table((INSERT, [{"k": None}]), schema=loose)
    assert table((TableWrite(relaxes=True), [{"k": None}]), schema=loose) == [{"k": 1}, {"k": None}]


records = st.lists(
    st.builds(item, st.integers(0, 3) | st.none(), st.integers(0, 4), st.sampled_from(["a", "b"])),
    max_size=8,
    unique_by=lambda row: (row["k"], row["at"]),
)
writes = st.lists(
    st.tuples(st.sampled_from(["insert", "update", "upsert", "truncate"]), records), max_size=5
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes)
def test_any_writes_do_what_a_list_would(store, tmp_path, parts):
    """Each write as a loop over a list of rows; keys that are null match nothing."""
    model: Rows = []
    given = []
    for operation, rows in parts:
        if operation in ("insert", "truncate"):
            given.append((TableWrite(truncate=operation == "truncate"), rows))
            model = ([] if operation == "truncate" else model) + rows
            continue
        given.append((TableWrite(operation, ("k",), UPSERT.dedupe_by), rows))
        latest = {
            row["k"]: row for row in sorted(rows, key=lambda row: row["at"]) if row["k"] is not None
        }
        held = {row["k"] for row in model}
        model = [latest.get(row["k"], row) for row in model]
        if operation == "upsert":
            model += [row for key, row in latest.items() if key not in held]
            model += [row for row in rows if row["k"] is None]
    name = f"d.m{next(NUMBERS)}"
    if given:
        assert written(store, tmp_path, name, ITEM, *given) == sorted(model, key=repr)


def test_columns_of_32_bits_become_as_wide_as_the_rows(store: Store, tmp_path: Path):
    def make_schema(whole: Schema, real: Schema) -> Schema:
        inner = Schema.record("inner", [("a", Schema.array(whole))])
        return Schema.record("record", [("i", whole), ("f", real.as_nullable), ("r", inner)])

    name, space = f"d.t{next(NUMBERS)}", NamespaceTables(store)
    row = {"i": 1, "f": 0.5, "r": {"a": [1]}}
    large = {"i": 3000000000, "f": 1e300, "r": {"a": [2**62]}}
    written(store, tmp_path, name, make_schema(Schema.INT, Schema.FLOAT), (INSERT, [row]))
    wide = make_schema(Schema.LONG, Schema.DOUBLE)

    def fail() -> None:
        with store.transaction() as tx:
            space.write_parquet(tx, "default", name, wide, TableWrite(), [])
            raise StoreError("the run failed")

    with pytest.raises(StoreError):
        fail()
    assert space.describe("default", name).schema == make_schema(Schema.INT, Schema.FLOAT)

    assert written(store, tmp_path, name, wide, (INSERT, [large])) == [row, large]
    assert space.describe("default", name).schema == wide
