"""Transactions: kinds, time limits, nesting, what is refused outside, clients that vanish."""

from __future__ import annotations

import threading
import time

import msgspec
import pytest

from localcdap.api.app import (
    FieldType,
    Range,
    StructuredTableSpecification,
    TransactionConflictError,
    TransactionError,
    TransactionKind,
    TransactionTimeoutError,
)
from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError, StoreError
from localcdap.api.serialization.value_types import pack
from localcdap.datasets import transactions
from localcdap.datasets.transactions import TransactionService
from localcdap.rpc.frames import Call
from localcdap.store.transactions.operations import Operation, Write
from localcdap.store.transactions.structured_table import StructuredTableInfo
from localcdap.store.transactions.table import OpenedTable, TableRef
from localcdap.transactions.client import HostTransactionRunner

from .conftest import SIMPLE, Instance, Simple

KEY = (1, 1, "x")
ROW = {"key": 1, "key2": 1, "key3": "x", "col5": 1}


def put(context) -> None:
    context.table("simpleTable").upsert(ROW)


def test_a_body_takes_effect_as_a_whole_or_not_at_all(simple: Simple):
    def fail(context) -> None:
        put(context)
        context.table("simpleTable").upsert(ROW | {"key": 2})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        simple.transactions.run(fail)
    assert simple.rows() == []
    assert simple.transactions.run(lambda c: (put(c), "done")[1]) == "done"
    assert len(simple.rows()) == 1


def test_a_body_sees_what_it_wrote_and_others_do_not(simple: Simple):
    def body(table) -> None:
        table.upsert(ROW)
        assert table.read(KEY)["col5"] == 1
        table.delete(KEY)
        table.increment(KEY, "col5", 5)
        table.delete(KEY)
        table.upsert(ROW | {"col5": 3})
        assert table.compare_and_swap(KEY, "col5", 3, 4)
        seen = []
        other = threading.Thread(target=lambda: seen.append(simple.rows()))
        other.start()
        other.join()
        assert seen == [[]]

    simple.do(body)
    assert [row["col5"] for row in simple.rows()] == [4]


def test_a_refused_operation_does_not_spoil_its_transaction(simple: Simple):
    def body(table) -> None:
        table.upsert(ROW | {"col5": 2**63 - 1})
        for wrong in (
            lambda: table.upsert(ROW | {"col5": "x"}),
            lambda: table.upsert_all([ROW, {"key": 1}]),
            lambda: table.upsert_all([ROW | {"col1": "\ud800"}]),
            lambda: table.upsert_all([ROW | {"key": None}]),
            lambda: table.upsert_all([ROW | {"key": 2**31}]),
            lambda: table.increment(KEY, "col5", 1),
            lambda: table.increment(KEY, "col5", True),
            lambda: table.read(KEY, []),
            lambda: table.scan(limit=-1),
            lambda: table.delete(()),
        ):
            with pytest.raises(ValueError):
                wrong()

    simple.do(body)
    assert [row["col5"] for row in simple.rows()] == [2**63 - 1]


def test_a_table_that_is_not_there(simple: Simple):
    with pytest.raises(NotFoundError, match="no structured table 'other'; available: simpleTable"):
        simple.transactions.run(lambda c: c.table("other"))


def test_tables_and_rows_are_of_no_use_after_their_body(simple: Simple):
    simple.fill([ROW, ROW | {"key": 2}])

    def body(context):
        table = context.table("simpleTable")
        begun = iter(table.scan())
        next(begun)
        return context, table, table.scan(), begun, table.read(KEY)

    context, table, rows, begun, row = simple.transactions.run(body)

    for use in (
        lambda: context.table("simpleTable"),
        lambda: table.read(KEY),
        lambda: next(rows),
        lambda: list(rows),
        lambda: next(begun),
    ):
        with pytest.raises(TransactionError, match="is over"):
            use()
    assert row["col5"] == 1


def test_rows_can_be_closed(simple: Simple):
    simple.fill([ROW])

    def body(table) -> None:
        with table.scan() as rows:
            assert next(rows).key == KEY
            assert list(rows) == []
            assert next(rows, None) is None
        for use in (next, list):
            with pytest.raises(TransactionError, match="closed"):
                use(rows)

    simple.do(body)


def test_a_scan_shows_the_rows_of_its_moment(simple: Simple):
    simple.fill([ROW | {"key": i} for i in range(5)])

    def body(table) -> None:
        for row in table.scan():
            table.upsert(dict(row) | {"key": row["key"] + 10})

    simple.do(body)
    assert [row["key"] for row in simple.rows()] == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]


def test_a_transaction_inside_another_is_refused(simple: Simple):
    def outer(context) -> None:
        put(context)
        with pytest.raises(TransactionError, match="within active transaction"):
            simple.transactions.run(put)

    for kind in TransactionKind:
        if kind is not TransactionKind.READ_ONLY:
            simple.transactions.run(outer, kind=kind)
    assert len(simple.rows()) == 1


def test_a_read_only_transaction_sees_one_state_and_changes_nothing(simple: Simple):
    simple.fill([ROW])

    def body(context) -> None:
        table = context.table("simpleTable")
        before = table.count()
        other = threading.Thread(target=lambda: simple.fill([ROW | {"key": 2}]))
        other.start()
        other.join()
        assert table.count() == before
        for write in (
            lambda: table.upsert(ROW),
            lambda: table.delete(KEY),
            lambda: table.increment(KEY, "col5", 1),
            lambda: table.compare_and_swap(KEY, "col5", 1, 2),
            lambda: table.update_all(Range.all(), {"col5": 2}),
        ):
            with pytest.raises(TransactionError, match="read-only"):
                write()

    simple.transactions.run(body, kind=TransactionKind.READ_ONLY)
    assert len(simple.rows()) == 2


def test_without_a_transaction_each_operation_stays(simple: Simple):
    def body(context) -> None:
        table = context.table("simpleTable")
        table.upsert(ROW)
        assert [row.key for row in table.scan()] == [KEY]
        other = threading.Thread(target=lambda: simple.do(lambda t: t.increment(KEY, "col5", 5)))
        other.start()
        other.join()
        table.increment(KEY, "col5", 10)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        simple.transactions.run(body, kind=TransactionKind.NONE)
    assert [row["col5"] for row in simple.rows()] == [16]


@pytest.mark.slow
def test_without_a_transaction_the_time_is_that_of_each_operation(simple: Simple):
    def body(context) -> int:
        table = context.table("simpleTable")
        table.upsert(ROW)
        time.sleep(3.1)
        return table.count()

    assert simple.transactions.run(body, kind=TransactionKind.NONE, timeout_s=3.0) == 1


def test_a_transaction_sees_the_tables_of_its_beginning(simple: Simple, instance: Instance):
    wider = dict(SIMPLE.fields) | {"new": FieldType.STRING}

    def body(context) -> None:
        assert context.table("simpleTable").count() == 0
        spec = StructuredTableSpecification(
            "later", fields={"k": FieldType.LONG}, primary_key=["k"]
        )
        instance.admin.create_or_update(spec)
        instance.admin.create_or_update(
            StructuredTableSpecification("simpleTable", wider, SIMPLE.primary_key, SIMPLE.indexes)
        )
        with pytest.raises(NotFoundError, match="available: simpleTable"):
            context.table("later")
        assert "new" not in context.table("simpleTable").specification.fields
        assert list(context.table("simpleTable").scan(limit=2**70)) == []

    simple.transactions.run(body)
    assert simple.transactions.run(lambda c: c.table("later").count()) == 0
    simple.do(lambda t: t.upsert(ROW | {"new": "x"}))


def test_a_long_transaction_may_have_read_what_others_change(simple: Simple):
    simple.fill([ROW])
    tries = []

    def body(context) -> None:
        table = context.table("simpleTable")
        tries.append(table.count())
        other = threading.Thread(target=lambda: simple.do(lambda t: t.increment(KEY, "col5", 1)))
        other.start()
        other.join()
        table.upsert(ROW | {"key": 9})

    simple.transactions.run(body, kind=TransactionKind.LONG)
    assert tries == [1]
    assert [(row["key"], row["col5"]) for row in simple.rows()] == [(1, 2), (9, 1)]


def test_submitted_bodies_run_meanwhile(simple: Simple):
    go_on = threading.Event()

    def body(context) -> str:
        assert go_on.wait(60)
        put(context)
        return threading.current_thread().name

    future = simple.transactions.submit(body)
    failing = simple.transactions.submit(lambda c: c.table("other"))
    assert not future.done()
    go_on.set()

    assert future.result(60) != threading.current_thread().name
    assert isinstance(failing.exception(60), NotFoundError)
    assert len(simple.rows()) == 1


@pytest.mark.slow
def test_conflicts_are_tried_again_until_the_time_is_over(simple: Simple):
    simple.fill([ROW])
    tries = []

    def body(context) -> None:
        tries.append(context.table("simpleTable").read(KEY))
        other = threading.Thread(target=lambda: simple.do(lambda t: t.increment(KEY, "col5", 1)))
        other.start()
        other.join()
        context.table("simpleTable").upsert(ROW | {"col1": "mine"})

    with pytest.raises(TransactionConflictError, match="all \\d+ attempts"):
        simple.transactions.run(body, timeout_s=3.0)
    assert len(tries) > 1
    assert simple.rows()[0]["col1"] is None


def test_a_conflict_that_the_body_hides_is_tried_again(simple: Simple):
    simple.fill([ROW])
    tries = []

    def body(context) -> str:
        table = context.table("simpleTable")
        table.read(KEY)
        tries.append(1)
        if len(tries) == 1:
            other = threading.Thread(
                target=lambda: simple.do(lambda t: t.increment(KEY, "col5", 1))
            )
            other.start()
            other.join()
        try:
            table.increment(KEY, "col5", 10)
        except TransactionConflictError:
            raise ZeroDivisionError from None
        return "done"

    assert simple.transactions.run(body) == "done"
    assert len(tries) == 2
    assert simple.rows()[0]["col5"] == 12


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
def test_a_time_must_be_some_time(simple: Simple, timeout_s):
    with pytest.raises(BadRequestError, match="must be above 0"):
        simple.transactions.run(put, timeout_s=timeout_s)


def test_a_body_that_takes_too_long_leaves_nothing(simple: Simple):
    def body(context) -> None:
        put(context)
        time.sleep(0.15)
        context.table("simpleTable").count()

    with pytest.raises(TransactionTimeoutError, match="longer than 0.1 seconds"):
        simple.transactions.run(body, timeout_s=0.1)
    with pytest.raises(TransactionTimeoutError):
        simple.transactions.run(lambda c: (put(c), time.sleep(0.15)), timeout_s=0.1)
    assert simple.rows() == []


def test_a_body_that_takes_too_long_holds_nobody_up(simple: Simple):
    simple.fill([ROW])
    begun, done = threading.Event(), threading.Event()

    def body(context) -> None:
        context.table("simpleTable").increment(KEY, "col5", 100)
        begun.set()
        done.wait(60)

    slow = simple.transactions.submit(body, timeout_s=0.2)
    begun.wait(60)
    simple.do(lambda t: t.increment(KEY, "col5", 1))
    assert not slow.done()
    done.set()
    assert isinstance(slow.exception(60), TransactionTimeoutError)
    assert simple.rows()[0]["col5"] == 2


class Slow(Operation, frozen=True):
    """A statement that takes for ever, which none of a small table does."""

    def prepare(self, table: OpenedTable):
        pairs = "range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3"
        return lambda rows: rows._execute(f"SELECT count(*) FROM {pairs}")


def test_a_statement_that_takes_too_long_is_broken_off(stored, instance: Instance):
    instance.admin.create_or_update(SIMPLE)

    def body(context) -> None:
        put(context)
        context.perform(StructuredTableInfo(SIMPLE), Slow())

    with pytest.raises(TransactionTimeoutError, match="longer than 0.2 seconds"):
        stored.transactions.run(body, timeout_s=0.2)

    assert stored.transactions.run(lambda c: c.table("simpleTable").count()) == 0


# -- clients of the host ----------------------------------------------------------------------


@pytest.fixture
def service(stored):
    """Keeps a transaction that gets no message for a second."""
    stored.admin.create_or_update(SIMPLE)
    stored.transactions.run(lambda c: c.table("simpleTable").delete_all(Range.all()))
    service = TransactionService(stored, lease_s=1.0)
    yield service
    service.close()


def test_a_transaction_whose_client_vanished_is_rolled_back(service, stored):
    token = service.begin(TransactionKind.LONG, None)
    service.perform(token, TableRef.of_structured("simpleTable"), Write([ROW]))
    until = time.monotonic() + 60
    while service._leased:
        assert time.monotonic() < until
        time.sleep(0.01)

    for use in (
        lambda: service.commit(token),
        lambda: service.perform(token, TableRef.of_structured("simpleTable"), Write([ROW])),
        lambda: service.get_specification(token, "simpleTable"),
    ):
        with pytest.raises(
            TransactionConflictError, match="does not know this transaction any more"
        ):
            use()
    service.rollback(token)
    assert stored.transactions.run(lambda c: c.table("simpleTable").count()) == 0


@pytest.mark.slow
def test_a_client_that_thinks_for_long_keeps_its_transaction(stored, monkeypatch):
    stored.admin.create_or_update(SIMPLE)
    monkeypatch.setattr(transactions, "LEASE_S", 0.2)  # of the client, which renews it all the time
    service = TransactionService(stored, lease_s=60)

    class Elsewhere:
        """The service, but not itself: as a proxy is."""

        def __getattr__(self, name):
            return getattr(service, name)

    runner = HostTransactionRunner(Elsewhere)

    def body(context) -> None:
        put(context)
        (leased,) = service._leased.values()
        until = [leased._until]
        while len(until) < 3:
            assert time.monotonic() < until[0], "the client did not renew the lease"
            time.sleep(0.01)
            if leased._until > until[-1]:
                until.append(leased._until)
        context.table("simpleTable").increment(KEY, "col5", 1)

    runner.run(body)
    assert runner.run(lambda c: c.table("simpleTable").read(KEY))["col5"] == 2
    runner.close()
    service.close()


def test_garbage_from_a_client_is_refused(client, service):
    def call(method: str, **arguments) -> object:
        raw = {name: msgspec.Raw(pack(value)) for name, value in arguments.items()}
        return client.call(Call("transactions", method, raw))

    token = call("begin", kind="DEFAULT", timeout_s=100.0)
    ref = TableRef.of_structured("simpleTable")
    for operation in (
        {"type": "Write", "rows": [{"key": 1}]},
        {"type": "Write", "rows": [{'key"; DROP TABLE x; --': 1}]},
        {"type": "Drop"},
        {"type": "Read", "selection": {"keys": ["x"]}},
        {"type": "Read", "selection": {"ranges": [{"begin": [[1]]}]}},
        {"type": "Read", "selection": {"ranges": [{"begin": {"key": None}}]}, "limit": 5},
        {"type": "Read", "order_by": ["x"]},
        {"type": "Count", "selection": {"filters": [["x", 1]]}},
        {"type": "Delete", "selection": {"conditions": [["x", "=", 1]]}},
        {"type": "Increment", "key": [1, 1, "x"], "amounts": {"col5": "1"}},
        7,
    ):
        with pytest.raises(LocalcdapError):
            call("perform", token=token, ref=ref, operation=operation)
    with pytest.raises(LocalcdapError):
        call("begin", kind="OTHER", timeout_s=1.0)
    call("perform", token=token, ref=ref, operation={"type": "Write", "rows": [ROW]})
    call("commit", token=token)


def test_many_and_large_rows_come_in_pages(simple: Simple, monkeypatch):
    monkeypatch.setattr(transactions, "_PAGE_BYTES", 10_000)
    rows = [ROW | {"key": i, "col4": bytes(200)} for i in range(300)]
    simple.do(lambda t: t.upsert_all(rows))

    assert [row["key"] for row in simple.rows()] == list(range(300))


def test_closing_rolls_back_what_clients_left_open(stored, instance):
    instance.admin.create_or_update(SIMPLE)
    service = TransactionService(stored)
    token = service.begin(TransactionKind.DEFAULT, None)
    service.close()

    with pytest.raises(StoreError):
        service.commit(token)
