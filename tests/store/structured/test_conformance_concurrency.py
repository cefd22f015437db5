"""CDAP's StructuredTableConcurrencyTest, by number, and what of it a weaker isolation would let pass."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from localcdap.api.app import FieldType, Range, StructuredTableSpecification

from .conftest import Instance, Simple

SPEC = StructuredTableSpecification(
    "concurrent",
    fields={"key": FieldType.INTEGER, "str_col": FieldType.STRING, "long_col": FieldType.LONG},
    primary_key=["key"],
    indexes=["str_col"],
)
pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def table(instance: Instance) -> Simple:
    instance.admin.create_or_update(SPEC)
    return Simple(instance.transactions, "concurrent")


def at_once(threads: int, work: Callable[[int], Any]) -> list[Any]:
    """What the work gives in so many threads that begin together."""
    start = threading.Barrier(threads)

    def begin(number: int) -> Any:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads)))


def row(i: int, text: str = "x", number: int | None = None) -> dict[str, Any]:
    return {"key": i, "str_col": text, "long_col": number}


def test_C1_threads_read_one_row(table: Simple):
    table.fill([row(1, "a", 5)])

    assert at_once(15, lambda _: table.do(lambda t: dict(t.read((1,))))) == [row(1, "a", 5)] * 15


def test_C2_threads_write_rows_of_their_own(table: Simple):
    at_once(20, lambda i: table.do(lambda t: t.upsert(row(i, f"v{i}", i))))

    assert table.rows() == [row(i, f"v{i}", i) for i in range(20)]


def test_C3_threads_scan_all(table: Simple):
    table.do(lambda t: t.upsert_all(row(i) for i in range(99)))

    assert at_once(20, lambda _: table.rows()) == [[row(i) for i in range(99)]] * 20


def test_C4_threads_scan_by_an_index(table: Simple):
    table.do(lambda t: t.upsert_all(row(i, f"write-batch-{i // 9}") for i in range(99)))
    scan = lambda t: [r["key"] for r in t.scan(filters=[("str_col", "write-batch-5")])]  # noqa: E731

    assert at_once(20, lambda _: table.do(scan)) == [list(range(45, 54))] * 20


def test_C5_no_increment_is_lost(table: Simple):
    at_once(20, lambda _: table.do(lambda t: t.increment((1,), "long_col", 1)))

    assert table.do(lambda t: t.read((1,)))["long_col"] == 20


def test_C6_one_swap_succeeds(table: Simple):
    swap = lambda t: t.compare_and_swap((1,), "long_col", None, 777)  # noqa: E731

    assert sorted(at_once(20, lambda _: table.do(swap))) == [False] * 19 + [True]
    assert table.do(lambda t: t.read((1,)))["long_col"] == 777


def test_C7_threads_delete_one_row(table: Simple):
    table.fill([row(1)])

    at_once(15, lambda _: table.do(lambda t: t.delete((1,))))

    assert table.rows() == []


def test_no_change_of_a_value_that_was_read_is_lost(table: Simple):
    table.fill([row(1, "x", 0)])

    def add(t) -> None:
        t.update({"key": 1, "long_col": t.read((1,))["long_col"] + 1})

    at_once(8, lambda _: [table.do(add) for _ in range(3)])

    assert table.do(lambda t: t.read((1,)))["long_col"] == 24


def test_nobody_decides_by_what_another_changes(table: Simple):
    """Each may take the last but one row, none the last: the anomaly of snapshots called write skew."""
    table.fill([row(i) for i in range(8)])

    def take(i: int) -> None:
        def body(t) -> None:
            if t.count() > 1:
                t.delete((i,))

        table.do(body)

    at_once(8, take)

    assert len(table.rows()) == 1


def test_a_row_that_is_deleted_and_updated_meanwhile_has_one_of_both(table: Simple):
    """DuckDB lets both commit, and the update is gone although it was committed last."""
    table.fill([row(1, "old"), row(2, "old")])
    tried = []
    meanwhile = ThreadPoolExecutor(1)

    def update(t) -> None:
        tried.append(t.read((2,)))
        if len(tried) == 1:
            meanwhile.submit(lambda: table.do(lambda u: u.delete((1,)))).result()
        t.upsert(row(1, "new"))

    table.do(update)

    assert [r["str_col"] for r in table.rows()] == ["new", "old"]
    assert len(tried) == 2


def test_those_who_write_different_rows_do_not_wait_or_conflict(table: Simple):
    table.fill([row(i, "x", 0) for i in range(2)])
    tries = []
    both_inside = threading.Barrier(2, timeout=60)

    def add(i: int) -> None:
        def body(t) -> None:
            tries.append(i)
            value = t.read((i,))["long_col"]
            both_inside.wait()
            t.update({"key": i, "long_col": value + 1})

        table.do(body)

    at_once(2, add)

    assert sorted(tries) == [0, 1]
    assert [r["long_col"] for r in table.rows()] == [1, 1]


def test_a_range_that_another_writes_into_conflicts(table: Simple):
    table.fill([row(1, "x", 1)])
    meanwhile = ThreadPoolExecutor(1)
    sums = []

    def total(t) -> None:
        sums.append(sum(r["long_col"] for r in t.scan(Range((1,), (50,)))))
        if len(sums) == 1:
            meanwhile.submit(lambda: table.fill([row(7, "x", 10)])).result()
        t.upsert(row(99, "sum", sums[-1]))

    table.do(total)

    assert sums == [1, 11]
    assert table.do(lambda t: t.read((99,)))["long_col"] == 11
