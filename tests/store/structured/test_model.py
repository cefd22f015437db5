"""A dict beside a table: random operations, transactions that fail, an instance that is opened again."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from localcdap.api.app import (
    Bound,
    FieldType,
    Range,
    SortOrder,
    StructuredTableSpecification,
    TransactionKind,
)
from localcdap.store.store import Store
from localcdap.store.structured.admin import StructuredTables
from localcdap.store.transactions.runner import SessionContext
from localcdap.store.transactions.session import LocalTransactionSession

FIELDS = {
    "b": FieldType.STRING,
    "a": FieldType.INTEGER,
    "n": FieldType.LONG,
    "f": FieldType.FLOAT,
    "s": FieldType.STRING,
    "x": FieldType.BYTES,
    "t": FieldType.BOOLEAN,
}
KEY = ("a", "b")
INDEXES = ("n", "s", "t")
SPEC = StructuredTableSpecification("model", fields=FIELDS, primary_key=KEY, indexes=INDEXES)

# Few values, so that keys and values meet; the odd ones: signs, cases, code points beyond the BMP, zeros.
VALUES = {
    "a": st.sampled_from([-(2**31), -1, 0, 1, 2, 2**31 - 1]),
    "b": st.sampled_from(["", "A", "a", "é", "\uffff", "😀", "a\0b"]),
    "n": st.sampled_from([None, -(2**63), -1, 0, 5, 2**62]),
    "f": st.sampled_from([None, -1.5, 0.0, 0.5, 3.0, float("inf")]),
    "s": st.sampled_from([None, "", "x", "Z", "\uffff", "😀"]),
    "x": st.sampled_from([None, b"", b"\0", b"\xff"]),
    "t": st.sampled_from([None, True, False]),
}
keys = st.tuples(VALUES["a"], VALUES["b"])
others = st.fixed_dictionaries({}, optional={k: v for k, v in VALUES.items() if k not in KEY})


def points(first: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Points of ranges: tuples of the key, and dicts that begin with one field."""
    tails = st.lists(st.sampled_from([k for k in FIELDS if k != "a"]), unique=True, max_size=2)
    named = st.builds(lambda names: ["a", *names], tails).flatmap(
        lambda names: st.tuples(*(VALUES[n] for n in names)).map(
            lambda values: dict(zip(names, values, strict=True))
        )
    )
    return st.one_of(first, named)


prefixes = st.one_of(st.just(()), st.tuples(VALUES["a"]), keys)
bounds = st.sampled_from(Bound)
key_ranges = st.builds(Range, prefixes, prefixes, bounds, bounds)
any_ranges = st.builds(Range, points(prefixes), points(prefixes), bounds, bounds)
filters = st.lists(
    st.sampled_from(INDEXES).flatmap(lambda name: st.tuples(st.just(name), VALUES[name])),
    max_size=2,
)


def inside(row: dict[str, Any], range: Range) -> bool:
    def side(point: Any, bound: Bound, sign: int) -> bool:
        named = dict(zip(KEY, point, strict=False)) if isinstance(point, tuple) else point
        if not named:
            return True
        if None in named.values():
            return False
        for name, value in named.items():
            if row[name] is None:
                return False
            if row[name] != value:
                return (row[name] > value) == (sign > 0)
        return bound is Bound.INCLUSIVE

    return side(range.begin, range.begin_bound, 1) and side(range.end, range.end_bound, -1)


class Model(RuleBasedStateMachine):
    """Rules run inside a transaction that some of them end."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="localcdap-model-")
        self.committed: dict[tuple[int, str], dict[str, Any]] = {}
        self.start()
        self.tables.admin.create_or_update(SPEC)
        self.begin()

    def start(self) -> None:
        self.store = Store(Path(self.folder.name) / "localcdap.duckdb")
        self.tables = StructuredTables(self.store)

    def stop(self) -> None:
        self.tables.close()
        self.store.close()

    def begin(self) -> None:
        self.rows = {key: dict(row) for key, row in self.committed.items()}
        self.session: LocalTransactionSession = self.tables.open(TransactionKind.DEFAULT, 60)
        self.table = SessionContext(self.session).table("model")

    @rule()
    def commit(self) -> None:
        self.session.commit()
        self.committed = self.rows
        self.begin()

    @rule()
    def roll_back(self) -> None:
        self.session.rollback()
        self.begin()

    @rule()
    def open_again(self) -> None:
        """The transaction that is open then is rolled back."""
        self.session.rollback()
        self.stop()
        self.start()
        self.begin()

    def put(self, key: tuple[int, str], values: dict[str, Any]) -> None:
        row = self.rows.setdefault(key, dict.fromkeys(FIELDS))
        row.update(values, a=key[0], b=key[1])

    def chosen(self, ranges: list[Range], wanted: Sequence[tuple[str, Any]] = ()) -> list[dict]:
        found = [r for _, r in sorted(self.rows.items()) if any(inside(r, w) for w in ranges)]
        return [r for r in found if not wanted or any(r[name] == v for name, v in wanted)]

    @rule(key=keys, values=others)
    def upsert(self, key, values) -> None:
        self.table.upsert({"a": key[0], "b": key[1]} | values)
        self.put(key, values)

    @rule(records=st.lists(st.tuples(keys, others), max_size=6))
    def upsert_all(self, records) -> None:
        self.table.upsert_all({"b": key[1], "a": key[0]} | values for key, values in records)
        for key, values in records:
            self.put(key, values)

    @rule(key=keys, values=others)
    def update(self, key, values) -> None:
        self.table.update({"a": key[0], "b": key[1]} | values)
        if key in self.rows:
            self.put(key, values)

    @rule(key=keys)
    def delete(self, key) -> None:
        self.table.delete(key)
        self.rows.pop(key, None)

    @rule(key=keys, amount=st.integers(-3, 3))
    def increment(self, key, amount) -> None:
        total = (self.rows.get(key, {}).get("n") or 0) + amount
        if total >= -(2**63):
            self.table.increment(key, "n", amount)
            self.put(key, {"n": total})
        else:
            with pytest.raises(ValueError, match="more than 64 bits"):
                self.table.increment(key, "n", amount)

    @rule(key=keys, data=st.data(), name=st.sampled_from([n for n in FIELDS if n not in KEY]))
    def compare_and_swap(self, key, data, name) -> None:
        old, new = data.draw(VALUES[name]), data.draw(VALUES[name])
        matches = self.rows.get(key, {}).get(name) == old
        assert self.table.compare_and_swap(key, name, old, new) is matches
        if matches:
            self.put(key, {name: new})

    @rule(where=key_ranges)
    def delete_all(self, where) -> None:
        self.table.delete_all(where)
        self.rows = {k: row for k, row in self.rows.items() if not inside(row, where)}

    @rule(where=any_ranges)
    def scan_delete_all(self, where) -> None:
        self.table.scan_delete_all(where)
        self.rows = {k: row for k, row in self.rows.items() if not inside(row, where)}

    @rule(where=key_ranges, values=others.filter(bool))
    def update_all(self, where, values) -> None:
        self.table.update_all(where, values)
        for row in self.chosen([where]):
            row.update(values)

    @rule(wanted=st.lists(keys, max_size=4))
    def multi_read(self, wanted) -> None:
        found = sorted(self.table.multi_read(wanted), key=lambda row: row.key)
        assert found == [row for key, row in sorted(self.rows.items()) if key in wanted]

    @rule(key=keys, columns=st.none() | st.lists(st.sampled_from(list(FIELDS)), min_size=1))
    def read(self, key, columns) -> None:
        row = self.rows.get(key)
        names = FIELDS if columns is None else {*KEY, *columns}
        assert self.table.read(key, columns) == (row and {name: row[name] for name in names})

    @rule(ranges=st.lists(any_ranges, max_size=3), limit=st.none() | st.integers(0, 5))
    def multi_scan(self, ranges, limit) -> None:
        assert list(self.table.multi_scan(ranges, limit=limit)) == self.chosen(ranges)[:limit]
        assert self.table.count(ranges) == len(self.chosen(ranges))

    @rule(where=any_ranges, wanted=filters, order=st.sampled_from(SortOrder))
    def scan(self, where, wanted, order) -> None:
        expected = self.chosen([where], wanted)
        if order is SortOrder.DESC:
            expected.reverse()
        assert list(self.table.scan(where, filters=wanted, order=order, limit=2**70)) == expected
        assert self.table.count([where], filters=wanted) == len(expected)

    @invariant()
    def holds_the_same(self) -> None:
        if hasattr(self, "table"):
            assert [dict(row) for row in self.table.scan()] == self.chosen([Range.all()])

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.rollback()
            self.stop()
            self.folder.cleanup()


Model.TestCase.settings = settings(
    max_examples=4,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestModel = Model.TestCase
