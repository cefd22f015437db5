"""Rows in transactions: the same results as a dict of rows, values of all types, and wrong arguments."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.app.transactions import TransactionKind
from localcdap.api.dataset.rows import RowComparison, RowCondition, between, equal, one_of
from localcdap.api.errors import BadRequestError, NotFoundError, TransactionError
from localcdap.api.schema import Schema

COLUMNS = [
    ("id", Schema.LONG),
    ("text", Schema.STRING.as_nullable),
    ("number", Schema.INT.as_nullable),
]
RICH = [
    ("id", Schema.STRING),
    ("day", Schema.DATE.as_nullable),
    ("at", Schema.TIMESTAMP.as_nullable),
    ("local", Schema.DATETIME.as_nullable),
    ("price", Schema.decimal(12, 2).as_nullable),
    ("tags", Schema.array(Schema.STRING).as_nullable),
    ("more", Schema.map(Schema.STRING, Schema.LONG).as_nullable),
    ("inner", Schema.record("inner", [("a", Schema.INT), ("b", Schema.BYTES)]).as_nullable),
    ("either", Schema.union([Schema.STRING, Schema.LONG])),
]
ROW = {
    "id": "a",
    "day": datetime.date(2026, 2, 28),
    "at": datetime.datetime(2026, 1, 1, 12, 30, 5, 123456, tzinfo=datetime.UTC),
    "local": datetime.datetime(1950, 1, 1, 1, 2, 3),
    "price": Decimal("-12.30"),
    "tags": ["x", ""],
    "more": {"k": 2**40},
    "inner": {"a": 1, "b": b"\x00\xff"},
    "either": 7,
}


def in_rows(transactions, body, name="data", **how):
    return transactions.run(lambda tx: body(tx.dataset(name)._open_table()), **how)


keys = st.integers(0, 5)
texts = st.none() | st.sampled_from(["", "a", "b", "ä", "\U0001f600"])
numbers = st.none() | st.integers(-3, 3)
conditions = st.lists(
    st.one_of(
        st.builds(RowCondition, st.just("id"), st.sampled_from(list(RowComparison)[:5]), keys),
        st.builds(RowCondition, st.just("text"), st.sampled_from(list(RowComparison)[:5]), texts),
        st.builds(
            RowCondition, st.just("number"), st.sampled_from(list(RowComparison)[:5]), numbers
        ),
        st.builds(one_of, st.just("id"), st.lists(keys, max_size=3)),
        st.builds(one_of, st.just("number"), st.lists(numbers, max_size=3)),
    ),
    max_size=2,
)
rows = st.fixed_dictionaries({"id": keys, "text": texts, "number": numbers})
operations = st.one_of(
    st.tuples(st.just("write"), st.lists(rows, max_size=3)),
    st.tuples(st.just("update"), keys, st.fixed_dictionaries({"text": texts})),
    st.tuples(st.just("delete"), conditions),
    st.tuples(st.just("increment"), keys, st.fixed_dictionaries({"number": st.integers(-2, 2)})),
    st.tuples(st.just("compare_and_swap"), keys, st.just("text"), texts, texts),
    st.tuples(st.just("read"), keys),
    st.tuples(st.just("count"), conditions),
    st.tuples(st.just("select"), conditions, st.booleans(), st.none() | st.integers(0, 3)),
)


def holds(row, condition):
    value, wanted = row[condition.column], condition.value
    if value is None or wanted is None:
        return False
    return {
        "=": lambda: value == wanted,
        "<": lambda: value < wanted,
        "<=": lambda: value <= wanted,
        ">": lambda: value > wanted,
        ">=": lambda: value >= wanted,
        "in": lambda: value in wanted,
    }[condition.comparison]()


class Model:
    """A table as a dict of rows by key."""

    def __init__(self, held):
        self.held = dict(held)

    def find(self, conditions):
        return [row for row in self.held.values() if all(holds(row, each) for each in conditions)]

    def write(self, rows):
        self.held.update((row["id"], row) for row in rows)

    def read(self, key):
        return self.held.get(key)

    def update(self, key, values):
        empty = {"id": key, "text": None, "number": None}
        self.held[key] = {**self.held.get(key, empty), **values}

    def delete(self, conditions):
        gone = self.find(conditions)
        for row in gone:
            del self.held[row["id"]]
        return len(gone)

    def increment(self, key, amounts):
        before = (self.held.get(key) or {}).get("number") or 0
        self.update(key, {"number": before + amounts["number"]})
        return self.held[key]

    def compare_and_swap(self, key, column, old, new):
        matches = (self.held.get(key) or {}).get(column) == old
        if matches:
            self.update(key, {column: new})
        return matches

    def count(self, conditions):
        return len(self.find(conditions))

    def select(self, conditions, descending, limit):
        return sorted(self.find(conditions), key=lambda row: row["id"], reverse=descending)[:limit]


def call(table, operation):
    name, *arguments = operation
    if name == "select" and not isinstance(table, Model):
        wanted, descending, limit = arguments
        return table.select(wanted, order_by=["id"], descending=descending, limit=limit)
    return getattr(table, name)(*arguments)


class RolledBackError(Exception):
    pass


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=st.lists(st.tuples(st.lists(operations, max_size=6), st.booleans()), max_size=4))
def test_transactions_behave_as_dicts(transactions, create, cdap, steps):
    if not cdap.datasets.has_dataset("default", "data"):
        schema = str(Schema.record("r", COLUMNS))
        create("table", schema=schema, **{"schema.row.field": "id"})
    cdap.datasets.truncate("default", "data")
    model = Model({})
    for wanted, commits in steps:
        own = Model(model.held)

        def body(table, own=own, wanted=wanted, commits=commits, before=model):
            own.held = dict(before.held)
            for operation in wanted:
                assert call(table, operation) == call(own, operation), operation
            assert table.select([], order_by=["id"]) == own.select([], False, None)
            if not commits:
                raise RolledBackError

        if commits:
            in_rows(transactions, body)
            model = own
        else:
            with pytest.raises(RolledBackError):
                in_rows(transactions, body)
    found = in_rows(transactions, lambda table: table.select([], order_by=["id"]))
    assert found == model.select([], False, None)


def test_values_of_all_types(transactions, create):
    create("table", schema=str(Schema.record("r", RICH)), **{"schema.row.field": "id"})
    empty = {name: None for name, _ in RICH} | {"id": "b", "either": "text"}

    def write(table):
        table.write([ROW, empty])
        return table.read("a"), table.select([], order_by=["id"])

    def read(table):
        wanted = [equal("tags", ["x", ""]), equal("day", ROW["day"])]
        wanted += between("price", Decimal(-13), Decimal(0))
        return table.read("a"), table.select([], order_by=["id"]), table.select(wanted)

    assert in_rows(transactions, write) == (ROW, [ROW, empty])
    assert in_rows(transactions, read) == (ROW, [ROW, empty], [ROW])
    changed = {"inner": {"a": 2, "b": b""}, "either": "x"}
    in_rows(transactions, lambda table: table.update("a", changed))
    assert in_rows(transactions, lambda table: table.read("a")) == {**ROW, **changed}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda t: t.write([{"id": 1, "txt": ""}]), "no column 'txt'; available: id, text, number"),
        (lambda t: t.write([{"text": "a"}]), "needs a value of id"),
        (lambda t: t.write([{"id": 1, "number": 2**31}]), "cannot hold 2147483648: it has 32 bits"),
        (lambda t: t.write([{"id": 1, "text": "\ud800"}]), "half of a surrogate pair"),
        (lambda t: t.write([{"id": 1, "text": 1}]), "cannot hold 1: it is of type string"),
        (lambda t: t.read(None), "The key 'id' of table 'data' cannot be null"),
        (lambda t: t.read("1"), "Column 'id' of table 'data' cannot hold '1'"),
        (lambda t: t.update(1, {"id": 2}), "The key 'id' of a row cannot be changed"),
        (lambda t: t.increment(1, {"text": 1}), "must be of type int or long"),
        (lambda t: t.increment(1, {"number": 2**40}), "the sum has more than 32 bits"),
        (lambda t: t.select([one_of("id", ["x"])]), "cannot hold 'x'"),
        (
            lambda t: t.select([RowCondition("id", RowComparison.ONE_OF, 1)]),
            "with a list of values",
        ),
        (lambda t: t.select([], limit=-1), "must be 0 or more, not -1"),
        (lambda t: t.select([], order_by=["nix"]), "no column 'nix'"),
    ],
)
def test_wrong_arguments_change_nothing(transactions, create, body, message):
    schema = str(Schema.record("r", COLUMNS))
    create("table", schema=schema, **{"schema.row.field": "id"})

    def try_it(table):
        table.write([{"id": 9}])
        with pytest.raises(BadRequestError, match=message):
            body(table)
        return [row["id"] for row in table.select()]

    assert in_rows(transactions, try_it) == [9]
    assert in_rows(transactions, lambda table: table.count()) == 1


def test_a_map_has_no_order(transactions, create):
    create("table", schema=str(Schema.record("r", RICH)))
    with pytest.raises(BadRequestError, match="Column 'more' of table 'data' has no order"):
        in_rows(transactions, lambda table: table.select([], order_by=["more"]))


def test_many_rows_come_in_pages(transactions, create):
    fields = [("id", Schema.LONG), ("text", Schema.STRING)]
    create("table", schema=str(Schema.record("r", fields)), **{"schema.row.field": "id"})
    long = "x" * 1000
    rows = [{"id": number, "text": long} for number in range(25_000)]
    in_rows(transactions, lambda table: table.write(rows))
    assert in_rows(transactions, lambda table: table.select([], order_by=["id"])) == rows


def test_read_only_transactions_and_later_use(transactions, create):
    create("keyValueTable")
    kept = []

    def body(table):
        kept.append(table)
        table.write([{"key": b"a", "value": b""}])

    with pytest.raises(
        TransactionError, match="'?data'? cannot be changed in a read-only transaction"
    ):
        in_rows(transactions, body, kind=TransactionKind.READ_ONLY)
    with pytest.raises(TransactionError, match="The transaction of this table is over"):
        kept[0].read(b"a")


def test_each_operation_can_be_a_transaction(transactions, create):
    create("keyValueTable")

    def body(tx):
        tx.dataset("data").write(b"a", b"kept")
        raise RolledBackError

    with pytest.raises(RolledBackError):
        transactions.run(body, kind=TransactionKind.NONE)
    assert in_rows(transactions, lambda table: table.read(b"a"))["value"] == b"kept"


def test_a_dataset_cannot_touch_the_tables_of_another(transactions, create):
    create("keyValueTable", "data")
    create("keyValueTable", "data.more")
    create("keyValueTable", "other")

    def open_table(name):
        return lambda tx: tx.dataset("data").context.table(name)

    for name in ("other", "data.more", "data.none"):
        with pytest.raises(
            NotFoundError, match=f"Dataset 'data' .* has no table '{name}'; available: data"
        ):
            transactions.run(open_table(name))
