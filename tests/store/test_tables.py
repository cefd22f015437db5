"""Dataset tables: every type, upserts, evolution of schemas, odd names, snapshots."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.arrow import RecordCodec, to_arrow_schema
from localcdap.api.errors import ConflictError, NotFoundError, StoreError
from localcdap.api.schema import LogicalType, Schema
from localcdap.api.tables import TableWrite
from localcdap.store.store import Store
from localcdap.store.tables import NamespaceTables
from localcdap.testing.instance import open_new_store

Rows = list[dict[str, Any]]
Files = Callable[..., list[Path]]

PERSON = Schema.record("person", [("id", Schema.LONG), ("name", Schema.STRING.as_nullable)])
EVERYTHING = Schema.record(
    "everything",
    [
        ("id", Schema.INT),
        ("boolean", Schema.BOOLEAN),
        ("long", Schema.LONG),
        ("float", Schema.FLOAT),
        ("double", Schema.DOUBLE),
        ("bytes", Schema.BYTES),
        ("string", Schema.STRING),
        ("enum", Schema.enum(["RED", "BLUE"])),
        ("date", Schema.DATE),
        ("time_ms", Schema.of(LogicalType.TIME_MILLIS)),
        ("time_us", Schema.TIME),
        ("timestamp_ms", Schema.of(LogicalType.TIMESTAMP_MILLIS)),
        ("timestamp_us", Schema.TIMESTAMP),
        ("datetime", Schema.DATETIME),
        ("decimal", Schema.decimal(38, 9)),
        ("nothing", Schema.STRING.as_nullable),
        ("array", Schema.array(Schema.LONG.as_nullable)),
        ("map", Schema.map(Schema.STRING, Schema.decimal(5, 2).as_nullable)),
        ("record", Schema.record("inner", [("a.b", Schema.INT), ('q"x', Schema.DATE.as_nullable)])),
        ("union", Schema.union([Schema.INT, Schema.STRING, Schema.array(Schema.INT), Schema.NULL])),
        ("deep", Schema.array(Schema.record("d", [("m", Schema.map(Schema.STRING, Schema.INT))]))),
    ],
)
EVERYTHING_ROW = {
    "id": 1,
    "boolean": True,
    "long": 2**62,
    "float": 0.5,
    "double": 1e300,
    "bytes": b"\x00\xff",
    "string": "a'b\"c ✓",
    "enum": "BLUE",
    "date": dt.date(1066, 10, 14),
    "time_ms": dt.time(1, 2, 3, 4000),
    "time_us": dt.time(23, 59, 59, 999_999),
    "timestamp_ms": dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC),
    "timestamp_us": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC),
    "datetime": dt.datetime(2020, 2, 29, 12, 0, 0, 1),
    "decimal": Decimal("12345678901234567890123456789.000000001"),
    "nothing": None,
    "array": [1, None, 3],
    "map": {"a": Decimal("1.25"), "b": None},
    "record": {"a.b": 7, 'q"x': None},
    "union": "text",
    "deep": [{"m": {"k": 1}}, {"m": {}}],
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_new_store(tmp_path / "x.duckdb") as store:
        yield store


@pytest.fixture
def tables(store: Store) -> NamespaceTables:
    return NamespaceTables(store)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Writes each list of records into a Parquet file of its own."""
    made: list[Path] = []

    def files(schema: Schema, *parts: Rows) -> list[Path]:
        paths = []
        for rows in parts:
            path = tmp_path / f"it's part {len(made)}.parquet"
            pq.write_table(pa.Table.from_batches([RecordCodec(schema).encode(rows)]), path)
            made.append(path)
            paths.append(path)
        return paths

    return files


@pytest.fixture
def upsert(store: Store, tables: NamespaceTables, files: Files) -> Callable[..., int]:
    def upsert(
        schema: Schema, *parts: Rows, key: str = "id", name: str = "t", space="default"
    ) -> int:
        with store.transaction() as tx:
            return tables.upsert_parquet(tx, space, name, schema, key, files(schema, *parts))

    return upsert


@pytest.fixture
def write(store: Store, tables: NamespaceTables, files: Files) -> Callable[..., int]:
    """Writes rows into a table without a key, which may change for them."""

    def write(schema: Schema, *parts: Rows) -> int:
        how = TableWrite(relaxes=True)
        with store.transaction() as tx:
            return tables.write_parquet(tx, "default", "t", schema, how, files(schema, *parts))

    return write


@pytest.fixture
def rows(tables: NamespaceTables, tmp_path: Path) -> Callable[..., Rows]:
    """The records of a table by way of a snapshot, sorted by ``key``."""

    def rows(name: str = "t", key: str = "id", space: str = "default") -> Rows:
        snapshot = tables.export_parquet(space, name, tmp_path / "snapshot" / "new")
        (file,) = snapshot.files
        batch = pq.read_table(file).cast(to_arrow_schema(snapshot.schema)).to_batches()
        records = [r for b in batch for r in RecordCodec(snapshot.schema).decode(b)]
        return sorted(records, key=lambda r: r[key])

    return rows


def person(number: int, name: str | None) -> dict[str, Any]:
    return {"id": number, "name": name}


def test_every_type_comes_back_as_it_went_in(upsert, rows, tables: NamespaceTables):
    other = EVERYTHING_ROW | {"id": 2, "union": [1, 2], "map": {}, "array": []}
    third = EVERYTHING_ROW | {"id": 3, "union": None, "deep": []}
    assert upsert(EVERYTHING, [EVERYTHING_ROW, other, third]) == 3

    assert rows() == [EVERYTHING_ROW, other, third]
    assert tables.describe("default", "t").schema == EVERYTHING


def test_rows_of_the_same_key_are_replaced_and_the_last_of_the_input_wins(upsert, rows):
    assert upsert(PERSON, [person(1, "a"), person(2, "b")]) == 2
    count = upsert(
        PERSON, [person(2, "c"), person(3, "d"), person(2, "e")], [person(3, "f"), person(4, None)]
    )

    assert count == 3
    assert rows() == [person(1, "a"), person(2, "e"), person(3, "f"), person(4, None)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "value"),
    [
        (f.name, EVERYTHING_ROW[f.name])
        for f in EVERYTHING
        if f.schema.is_simple and f.name != "nothing"
    ],
)
def test_every_simple_type_can_be_the_key(upsert, rows, field: str, value: Any):
    schema = Schema.record("r", [(field, EVERYTHING.field(field).schema), ("n", Schema.INT)])
    upsert(schema, [{field: value, "n": 1}], key=field)
    upsert(schema, [{field: value, "n": 2}], key=field)

    assert rows(key=field) == [{field: value, "n": 2}]


def test_many_rows_in_many_files(upsert, tables: NamespaceTables, store: Store):
    parts = [[person(i, f"{p}") for i in range(p * 500, p * 500 + 1000)] for p in range(10)]
    assert upsert(PERSON, *parts) == 5500

    assert tables.describe("default", "t").rows == 5500
    counts = store.read('SELECT name, count(*) FROM "default".t GROUP BY name ORDER BY name')
    assert counts == [(str(p), 500) for p in range(9)] + [("9", 1000)]


def test_a_write_is_part_of_the_callers_transaction(store: Store, tables, files, upsert, rows):
    upsert(PERSON, [person(1, "a")])

    def write() -> None:
        with store.transaction() as tx:
            for name in ("t", "u"):
                new = files(PERSON, [person(1, "b")])
                tables.upsert_parquet(tx, "default", name, PERSON, "id", new)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert rows() == [person(1, "a")]
    assert [t.name for t in tables.list_tables("default")] == ["t"]


def test_several_writes_in_one_transaction(store: Store, tables, files, rows):
    wide = Schema.record("person", [*PERSON, ("age", Schema.INT)])
    with store.transaction() as tx:
        tables.upsert_parquet(tx, "default", "t", PERSON, "id", files(PERSON, [person(1, "a")]))
        tables.upsert_parquet(tx, "default", "t", PERSON, "id", files(PERSON, [person(1, "b")]))
        row = person(1, "b") | {"age": 5}
        tables.drop(tx, "default", "t")
        tables.upsert_parquet(tx, "default", "t", wide, "id", files(wide, [row]))

    assert rows() == [row]


# -- evolution ------------------------------------------------------------------------------


def test_new_fields_become_columns_and_absent_ones_null(write, rows, tables: NamespaceTables):
    write(PERSON, [person(1, "a")])
    write(Schema.record("p", [("age", Schema.INT), ("id", Schema.LONG)]), [{"id": 2, "age": 7}])

    assert rows() == [person(1, "a") | {"age": None}, person(2, None) | {"age": 7}]
    held = tables.describe("default", "t").schema
    assert held == Schema.record("person", [*PERSON, ("age", Schema.INT.as_nullable)])


def test_a_table_does_not_change_by_itself(upsert, rows, tables: NamespaceTables):
    upsert(PERSON, [person(1, "a")])
    before = tables.describe("default", "t").schema
    wide = Schema.record("p", [*PERSON, ("age", Schema.INT), ("city", Schema.STRING)])

    with pytest.raises(StoreError) as caught:
        upsert(wide, [person(2, "b") | {"age": 7, "city": "x"}])

    assert caught.value.message == "Table 't' has no column 'age'; it has no column 'city'."
    assert "--update-datasets" in caught.value.corrective_action
    assert rows() == [person(1, "a")]
    assert tables.describe("default", "t").schema == before


def one(schema: Schema) -> Schema:
    return Schema.record("r", [("id", Schema.INT), ("x", schema)])


INNER = Schema.record("i", [("a", Schema.INT), ("b", Schema.STRING.as_nullable)])
TURNED = Schema.record("i", [("b", Schema.STRING.as_nullable), ("a", Schema.INT.as_nullable)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("held", "written", "value", "then"),
    [
        (Schema.LONG, Schema.INT, 5, Schema.LONG),
        (Schema.DOUBLE, Schema.FLOAT, 0.5, Schema.DOUBLE),
        (Schema.STRING, Schema.enum(["A"]), "A", Schema.STRING),
        (Schema.enum(["A"]), Schema.enum(["B", "A"]), "B", Schema.enum(["A", "B"])),
        (Schema.STRING, Schema.STRING.as_nullable, None, Schema.STRING.as_nullable),
        (Schema.STRING, Schema.NULL, None, Schema.STRING.as_nullable),
        (Schema.NULL, Schema.STRING, "new", Schema.STRING.as_nullable),
        (Schema.NULL, Schema.array(INNER), [{"a": 1, "b": "x"}], Schema.array(INNER).as_nullable),
        (Schema.TIME, Schema.of(LogicalType.TIME_MILLIS), dt.time(1), Schema.TIME),
        (
            Schema.array(Schema.LONG),
            Schema.array(Schema.INT.as_nullable),
            [1, None],
            Schema.array(Schema.LONG.as_nullable),
        ),
        (
            Schema.map(Schema.STRING, Schema.INT),
            Schema.map(Schema.STRING, Schema.INT.as_nullable),
            {"a": None},
            Schema.map(Schema.STRING, Schema.INT.as_nullable),
        ),
        (
            INNER,
            TURNED,
            {"b": "x", "a": None},
            Schema.record("i", [("a", Schema.INT.as_nullable), ("b", Schema.STRING.as_nullable)]),
        ),
    ],
)
def test_types_that_fit_are_written(write, upsert, rows, tables, held, written, value, then):
    write(one(held), [])
    write(one(written), [{"id": 1, "x": value}])

    assert rows() == [{"id": 1, "x": value}]
    assert tables.describe("default", "t").schema == one(then)
    with tables._store.transaction() as tx:
        tables.drop(tx, "default", "t")
    upsert(one(held), [])
    if then == held:
        upsert(one(written), [{"id": 1, "x": value}])
        assert rows() == [{"id": 1, "x": value}]
    else:
        with pytest.raises(StoreError, match="in column 'x', the rows to write"):
            upsert(one(written), [{"id": 1, "x": value}])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("held", "written", "texts"),
    [
        (Schema.INT, Schema.LONG, ("int", "long")),
        (Schema.STRING, Schema.INT.as_nullable, ("string", "int")),
        (Schema.LONG, Schema.TIMESTAMP, ("long", "timestamp-micros")),
        (Schema.DATETIME, Schema.TIMESTAMP, ("datetime", "timestamp-micros")),
        (Schema.decimal(5, 2), Schema.decimal(6, 2), ("decimal(5, 2)", "decimal(6, 2)")),
        (Schema.STRING, Schema.DATETIME, ("string", "datetime")),
        (Schema.array(Schema.INT), Schema.array(Schema.LONG), ("INTEGER[]", "BIGINT[]")),
        (Schema.array(Schema.NULL), Schema.array(Schema.LONG), ("INTEGER[]", "BIGINT[]")),
        (INNER, Schema.record("i", [("a", Schema.INT)]), ('STRUCT("a"', 'STRUCT("a"')),
        (Schema.union([Schema.INT, Schema.STRING]), Schema.INT, ("STRUCT", "int")),
    ],
)
def test_types_that_do_not_fit_are_refused_by_name(upsert, rows, held, written, texts):
    upsert(one(held), [])

    with pytest.raises(StoreError) as caught:
        upsert(one(written), [])
    assert caught.value.message.startswith("Table 't' holds " + texts[0])
    assert "column 'x'" in caught.value.message
    assert "to write hold " + texts[1] in caught.value.message
    assert rows() == []


# -- refusals -------------------------------------------------------------------------------


def test_a_null_key_is_refused(upsert, tables: NamespaceTables):
    schema = Schema.record("r", [("id", Schema.INT.as_nullable)])

    with pytest.raises(
        StoreError, match="2 of the rows to write into table 't' have no value of the key 'id'"
    ):
        upsert(schema, [{"id": 1}, {"id": None}], [{"id": None}])
    assert tables.list_tables("default") == []


@pytest.mark.parametrize("key", ["nope", "array", "record", "union", "map"])
def test_a_key_must_be_a_simple_field(upsert, key: str):
    with pytest.raises(
        StoreError, match=f"key '{key}' of table 't' must be a field of a simple type"
    ):
        upsert(EVERYTHING, [], key=key)


def test_the_key_of_a_table_does_not_change(store: Store, upsert, tables, files):
    upsert(PERSON, [person(1, "a")])

    with pytest.raises(
        StoreError, match="rows of table 't' have key 'id', but the rows to write have key 'name'"
    ):
        upsert(PERSON, [], key="name")
    with (
        pytest.raises(StoreError, match="but the rows to write have no key"),
        store.transaction() as tx,
    ):
        tables.append(tx, "default", "t", PERSON, [])


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (("ID", Schema.INT), "'id' and 'ID' differ in case only"),
        (("", Schema.INT), "cannot be called ''"),
        (("d", Schema.decimal(39, 1)), "39 digits"),
        (("r", Schema.record("n", [("x", Schema.reference("n").as_nullable)])), "contains itself"),
        (
            ("r", Schema.record("n", [("x", Schema.INT), ("X", Schema.INT)])),
            "'x' and 'X' differ in",
        ),
        (("file_index", Schema.INT), "cannot have a field 'file_index'"),
    ],
)
def test_what_no_table_can_hold_is_refused(store: Store, tables, field, message: str):
    schema = Schema.record("r", [("id", Schema.INT), field])

    with pytest.raises(StoreError, match=message), store.transaction() as tx:
        tables.upsert_parquet(tx, "default", "t", schema, "id", [])
    assert tables.list_tables("default") == []


def test_names_that_differ_in_case_only_are_refused(upsert):
    upsert(PERSON, [], name="sales")

    with pytest.raises(ConflictError, match="'Sales' .* differs in case only from 'sales'"):
        upsert(PERSON, [], name="Sales")
    with pytest.raises(ConflictError, match="'other' in namespace 'Default' differs in case only"):
        upsert(PERSON, [], name="other", space="Default")


# -- appending, listing, dropping -----------------------------------------------------------


def test_appended_rows_stay_beside_each_other(store: Store, tables: NamespaceTables, files, rows):
    for _ in range(2):
        with store.transaction() as tx:
            written = files(PERSON, [person(1, "a"), person(1, "a")], [person(2, "b")])
            assert tables.append(tx, "default", "t", PERSON, written) == 3

    assert [r["id"] for r in rows()] == [1, 1, 1, 1, 2, 2]
    assert tables.describe("default", "t").key is None


def test_tables_are_listed_described_and_dropped(store: Store, upsert, tables: NamespaceTables):
    upsert(PERSON, [person(1, "a")], name="b")
    upsert(PERSON, [], name="a")
    upsert(PERSON, [], name="c", space="other")

    assert [(t.name, t.rows, t.key) for t in tables.list_tables("default")] == [
        ("a", 0, "id"),
        ("b", 1, "id"),
    ]
    assert tables.list_tables("nowhere") == []
    with pytest.raises(NotFoundError, match="no table 'c' in namespace 'default'; available: a, b"):
        tables.describe("default", "c")
    with store.transaction() as tx:
        tables.drop(tx, "default", "b")
    assert [t.name for t in tables.list_tables("default")] == ["a"]
    with pytest.raises(NotFoundError), store.transaction() as tx:
        tables.drop(tx, "default", "b")
    with pytest.raises(NotFoundError):
        tables.export_parquet("default", "b", store.path.parent / "out")


@pytest.mark.parametrize(
    "name", ["a.b", 'say "hi"', "it's", "größe ✓", "select", "x; DROP TABLE y", "%s"]
)
def test_any_name_can_be_that_of_a_table_and_its_fields(upsert, rows, tables, name: str):
    schema = Schema.record("r", [(name, Schema.INT), ("v", Schema.STRING)])
    upsert(schema, [{name: 1, "v": "a"}], key=name, name=name)
    upsert(schema, [{name: 1, "v": "b"}], key=name, name=name)

    assert rows(name=name, key=name) == [{name: 1, "v": "b"}]
    assert [t.name for t in tables.list_tables("default")] == [name]


@pytest.mark.parametrize("space", ["main", "temp", "system", "information_schema", "pg_catalog"])
def test_any_namespace_can_have_tables(upsert, rows, tables, space: str):
    upsert(PERSON, [person(1, "a")], name="dataset_tables", space=space)

    assert rows(name="dataset_tables", space=space) == [person(1, "a")]
    assert [t.namespace for t in tables.list_tables(space)] == [space]
