"""Every operation on both kinds of tables beside a dict of rows, before and after commits."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.app import Bound, FieldType, Range, StructuredTableSpecification
from localcdap.api.dataset.rows import RowComparison, RowCondition
from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_identifier
from localcdap.store.store import Store, Transaction
from localcdap.store.transactions.operations import (
    CompareAndSwap,
    Count,
    Delete,
    Increment,
    Operation,
    Read,
    Rows,
    Update,
    Write,
)
from localcdap.store.transactions.pending_rows import PendingRows, StoredRows
from localcdap.store.transactions.selections import RowSelection
from localcdap.store.transactions.structured_table import StructuredTableInfo, TableInfo
from localcdap.store.transactions.table import OpenedTable, TableRef
from localcdap.testing.instance import open_new_store

SINGLE = struct.unpack("f", struct.pack("f", 0.1))[0]
FIELDS = {
    "a": FieldType.LONG,
    "n": FieldType.LONG,
    "f": FieldType.FLOAT,
    "d": FieldType.DOUBLE,
    "s": FieldType.STRING,
    "x": FieldType.BYTES,
    "t": FieldType.BOOLEAN,
    "b": FieldType.STRING,
}
SCHEMAS = {
    FieldType.LONG: Schema.LONG,
    FieldType.FLOAT: Schema.FLOAT,
    FieldType.DOUBLE: Schema.DOUBLE,
    FieldType.STRING: Schema.STRING,
    FieldType.BYTES: Schema.BYTES,
    FieldType.BOOLEAN: Schema.BOOLEAN,
}
FLOATS = [None, 0.1, 0.0, math.inf, math.nan]
VALUES: dict[str, list[Any]] = {
    "a": [-1, 0, 1, 2],
    "b": ["", "a", "😀"],
    "n": [None, -(2**63), -1, 0, 5, 2**63 - 1],
    "f": FLOATS,
    "d": FLOATS,
    "s": [None, "", "\uffff", "😀"],
    "x": [None, b"", b"\0", b"\xff"],
    "t": [None, True, False],
}
STRUCTURED = StructuredTableInfo(
    StructuredTableSpecification("model", fields=FIELDS, primary_key=["a", "b"])
)
DATASET = TableInfo(
    TableRef("model", "data", "data"),
    str(
        Schema.record(
            "r",
            [
                (name, SCHEMAS[type] if name == "a" else SCHEMAS[type].as_nullable)
                for name, type in FIELDS.items()
            ],
        )
    ),
    "a",
).table


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_new_store(tmp_path_factory.mktemp("operations") / "localcdap.duckdb") as store:
        with store.transaction() as tx:
            tx.execute(f"CREATE SCHEMA {DATASET.identifier.partition('.')[0]}")
            for table, key in ((STRUCTURED, ", PRIMARY KEY (a, b)"), (DATASET, "")):
                columns = ", ".join(
                    f"{quote_identifier(name)} {type}" for name, type in table.types.items()
                )
                tx.execute(f"CREATE TABLE {table.identifier} ({columns}{key})")
        yield store


class RolledBackError(Exception):
    pass


# -- strategies ---------------------------------------------------------------------------------


def values_of(name: str) -> st.SearchStrategy[Any]:
    return st.sampled_from(VALUES[name])


def keys_of(table: OpenedTable) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*map(values_of, table.key))


def others_of(table: OpenedTable) -> st.SearchStrategy[dict[str, Any]]:
    names = [name for name in FIELDS if name not in table.key]
    return st.fixed_dictionaries({}, optional={name: values_of(name) for name in names})


def rows_of(table: OpenedTable) -> st.SearchStrategy[dict[str, Any]]:
    key = st.fixed_dictionaries({name: values_of(name) for name in table.key})
    return st.builds(lambda key, others: {**key, **others}, key, others_of(table))


def points() -> st.SearchStrategy[Any]:
    names = st.lists(st.sampled_from([*FIELDS]), unique=True, max_size=3)
    named = names.flatmap(lambda n: st.fixed_dictionaries({name: values_of(name) for name in n}))
    return named.filter(
        lambda point: all(point[name] is not None for name in point if name in "ab")
    )


def pairs() -> st.SearchStrategy[tuple[str, Any]]:
    names = st.sampled_from([*FIELDS])
    return names.flatmap(lambda name: st.tuples(st.just(name), values_of(name)))


def make_conditions() -> st.SearchStrategy[RowCondition]:
    simple = st.builds(
        lambda pair, comparison: RowCondition(pair[0], comparison, pair[1]),
        pairs(),
        st.sampled_from(list(RowComparison)[:5]),
    ).filter(lambda each: each.value is not None)
    among = st.sampled_from([*FIELDS]).flatmap(
        lambda name: st.builds(
            RowCondition,
            st.just(name),
            st.just(RowComparison.ONE_OF),
            st.lists(values_of(name).filter(lambda value: value is not None), max_size=3),
        )
    )
    return st.one_of(simple, among)


def selections(table: OpenedTable) -> st.SearchStrategy[RowSelection]:
    parts: dict[str, Any] = {
        "keys": st.none() | st.lists(keys_of(table), max_size=3),
        "conditions": st.lists(make_conditions(), max_size=2),
    }
    if table is STRUCTURED:
        bounds = st.sampled_from(Bound)
        ranges = st.lists(st.builds(Range, points(), points(), bounds, bounds), max_size=2)
        parts["ranges"] = st.none() | ranges
        parts["filters"] = st.lists(pairs(), max_size=2)
    return st.builds(RowSelection, **parts)


def operations(table: OpenedTable) -> st.SearchStrategy[Operation]:
    where, names = selections(table), st.sampled_from([*FIELDS])
    others = [name for name in FIELDS if name not in table.key]
    swaps = st.sampled_from(others).flatmap(
        lambda name: st.builds(
            CompareAndSwap, keys_of(table), st.just(name), values_of(name), values_of(name)
        )
    )
    columns = st.none() | st.lists(names, min_size=1, max_size=3)
    order = st.lists(names, max_size=2, unique=True)
    limits = st.none() | st.integers(0, 3) | st.just(2**70)
    return st.one_of(
        st.builds(Read, where, columns, order, st.booleans(), limits),
        st.builds(Count, where),
        st.builds(Write, st.lists(rows_of(table), max_size=4), st.booleans()),
        st.builds(Update, where, others_of(table)),
        st.builds(Delete, where),
        st.builds(Increment, keys_of(table), st.just({"n": 1}) | st.just({"n": -(2**63)})),
        swaps,
    )


# -- the model ------------------------------------------------------------------------------------


def rank(value: Any) -> Any:
    """A value as it is compared: NaN is the largest number."""
    return (
        (math.isnan(value), 0.0 if math.isnan(value) else value)
        if isinstance(value, float)
        else value
    )


def to_stored(name: str, value: Any) -> Any:
    return SINGLE if FIELDS[name] is FieldType.FLOAT and value == 0.1 else value


def is_in_range(row: dict[str, Any], range: Range) -> bool:
    def is_past(point: Any, bound: Bound, sign: int) -> bool:
        if None in point.values():
            return False
        for name, value in point.items():
            if row[name] is None:
                return False
            left, right = rank(row[name]), rank(to_stored(name, value))
            if left != right:
                return (left > right) == (sign > 0)
        return bound is Bound.INCLUSIVE or not point

    return is_past(range.begin, range.begin_bound, 1) and is_past(range.end, range.end_bound, -1)


def fulfils(row: dict[str, Any], condition: RowCondition) -> bool:
    name = condition.column
    if row[name] is None:
        return False
    value = rank(row[name])
    if condition.comparison is RowComparison.ONE_OF:
        return value in [rank(to_stored(name, each)) for each in condition.value]
    limit = rank(to_stored(name, condition.value))
    return {
        "=": value == limit,
        "<": value < limit,
        "<=": value <= limit,
        ">": value > limit,
        ">=": value >= limit,
    }[condition.comparison]


class Model:
    """What a table should hold: rows by key."""

    def __init__(self, table: OpenedTable) -> None:
        self.table = table
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}

    def find(self, where: RowSelection) -> list[dict[str, Any]]:
        found = []
        for key, row in self.rows.items():
            equal = [rank(row[n]) == rank(to_stored(n, value)) for n, value in where.filters]
            if (
                (where.keys is None or key in where.keys)
                and (where.ranges is None or any(is_in_range(row, each) for each in where.ranges))
                and (not equal or any(equal))
                and all(fulfils(row, each) for each in where.conditions)
            ):
                found.append(row)
        return found

    def put(self, key: tuple[Any, ...], values: dict[str, Any]) -> None:
        row = self.rows.setdefault(key, dict.fromkeys(FIELDS))
        row.update(zip(self.table.key, key, strict=True))
        row.update((name, to_stored(name, value)) for name, value in values.items())

    def key_of(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.table.key)

    def perform(self, operation: Any) -> Any:
        return getattr(self, type(operation).__name__.lower())(operation)

    def read(self, read: Read) -> list[dict[str, Any]]:
        return self.find(read.selection)

    def count(self, count: Count) -> int:
        return len(self.find(count.selection))

    def write(self, write: Write) -> None:
        for row in write.rows:
            if write.replaces:
                self.rows.pop(self.key_of(row), None)
            self.put(self.key_of(row), row)

    def update(self, update: Update) -> None:
        for row in self.find(update.selection):
            self.put(self.key_of(row), update.values)

    def delete(self, delete: Delete) -> int:
        rows = self.find(delete.selection)
        for row in rows:
            del self.rows[self.key_of(row)]
        return len(rows)

    def get(self, key: Any, name: str) -> Any:
        return (self.rows.get(key) or {}).get(name)

    def increment(self, increment: Increment) -> Any:
        total = (self.get(increment.key, "n") or 0) + increment.amounts["n"]
        if not -(2**63) <= total < 2**63:
            return BadRequestError
        self.put(increment.key, {"n": total})
        return [self.rows[increment.key]]

    def compareandswap(self, swap: CompareAndSwap) -> bool:
        old = rank(to_stored(swap.column, swap.old))
        matches = rank(self.get(swap.key, swap.column)) == old
        if matches:
            self.put(swap.key, {swap.column: swap.new})
        return matches


def show(row: dict[str, Any]) -> dict[str, Any]:
    """A row that equals another one also where it holds NaN."""
    return {name: rank(value) for name, value in row.items()}


def sort(table: OpenedTable, rows: list[dict[str, Any]], read: Read) -> list[dict[str, Any]]:
    def order(rows: list[dict[str, Any]], name: str, descending: bool) -> list[dict[str, Any]]:
        some = [row for row in rows if row[name] is not None]
        some.sort(key=lambda row: rank(row[name]), reverse=descending)
        return some + [row for row in rows if row[name] is None]

    if table is STRUCTURED:
        for name in reversed(table.key):
            rows = order(rows, name, read.descending and not read.order_by)
    for name in reversed(read.order_by):
        rows = order(rows, name, read.descending)
    return rows


def compare(table: OpenedTable, operation: Operation, expected: Any, result: Any) -> None:
    if not isinstance(result, Rows):
        assert result == expected or result is expected
        return
    rows = [dict(zip(result.columns, values, strict=True)) for values in result.values]
    if isinstance(operation, Read):
        expected = sort(table, expected, operation)[: operation.limit]
        if operation.columns is not None:
            assert set(result.columns) == {*operation.columns, *table.key}
        # Rows that are equal in what they are sorted by have no order in a dataset.
        if table is DATASET and "a" not in operation.order_by:
            names = operation.order_by
            sorted_by = [[show(row).get(name) for name in names] for row in expected]
            if set(names) <= set(result.columns):
                assert [[show(row).get(name) for name in names] for row in rows] == sorted_by
            if operation.limit is not None:
                assert len(rows) == len(expected)
                return
            rows.sort(key=lambda row: row["a"])
            expected = sorted(expected, key=lambda row: row["a"])
    assert list(map(show, rows)) == [
        show({name: row[name] for name in result.columns}) for row in expected
    ]


def run(tx: Transaction, table: OpenedTable, steps: Sequence[list[Operation]]) -> None:
    """Perform the operations of transactions one after the other, and compare all results."""
    model = Model(table)
    rereads: list[Operation] = [Read()]
    for step in (*steps, rereads):
        rows: Any = StoredRows(table, tx) if table is STRUCTURED else PendingRows(DATASET, tx)
        for operation in (*step, *rereads):
            action = operation.prepare(table)
            expected = model.perform(operation)
            if expected is BadRequestError:
                with pytest.raises(BadRequestError, match="more than 64 bits"):
                    action(rows)
            else:
                compare(table, operation, expected, action(rows))
        if table is DATASET:
            rows.apply(tx)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@pytest.mark.parametrize("table", [STRUCTURED, DATASET], ids=["structured", "dataset"])
@given(data=st.data())
def test_both_kinds_of_tables_behave_as_dicts(
    store: Store, table: OpenedTable, data: st.DataObject
):
    rows = st.lists(rows_of(table), min_size=3, max_size=8)
    first = st.builds(lambda rows: [Write(rows)], rows)
    later = st.lists(operations(table), max_size=4)
    steps = data.draw(st.tuples(first, later, later))

    def body() -> None:
        with store.transaction() as tx:
            run(tx, table, steps)
            raise RolledBackError

    with pytest.raises(RolledBackError):
        body()
