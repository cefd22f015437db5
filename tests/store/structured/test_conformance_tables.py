"""CDAP's StructuredTableTest, by number: what a table does."""

from __future__ import annotations

from typing import Any

import pytest

from localcdap.api.app import (
    Bound,
    InvalidTableFieldError,
    QueryOption,
    Range,
    SortOrder,
    TableUsageError,
)

from .conftest import Simple

IN, EX = Bound.INCLUSIVE, Bound.EXCLUSIVE


def full(i: int, **others: Any) -> dict[str, Any]:
    """A row of the fixture S."""
    row = {
        "key": i,
        "key2": i,
        "key3": "key3",
        "col1": f"val{i}",
        "col2": float(i),
        "col3": float(i),
        "col4": f"bytes-{i}".encode(),
    }
    return row | others


def s(n: int) -> list[dict[str, Any]]:
    return [full(i) for i in range(n)]


def p(n: int) -> list[dict[str, Any]]:
    return [full(i, key=i // 10, key3=str(i)) for i in range(n)]


def m(n: int) -> list[dict[str, Any]]:
    return [full(i, key=i % 10) for i in range(n)]


def between(begin: Any, end: Any, bounds: str = "[)") -> Range:
    """A range as mathematicians write it."""
    return Range(begin, end, IN if bounds[0] == "[" else EX, IN if bounds[1] == "]" else EX)


def numbers(*spans: tuple[int, int]) -> list[int]:
    """Those of the spans, both ends included."""
    return [n for first, last in spans for n in range(first, last + 1)]


def test_A1_ranges_with_both_bounds(simple: Simple):
    simple.fill(s(10))

    assert simple.scan(between((1, 8), (3, 3), "[]")) == [2, 3]
    assert simple.scan(between((1, 8), (3, 3), "[)")) == [2]


def test_A2_reads_give_what_was_written(simple: Simple):
    def read(columns=("col1", "col2", "col3", "col4")) -> list[Any]:
        return simple.do(lambda t: [t.read((i, i, "key3"), columns) for i in range(10)])

    assert read() == [None] * 10
    simple.fill(s(10))
    assert read() == s(10)
    assert [row.key for row in read()] == [(i, i, "key3") for i in range(10)]
    assert read(["col1"])[3] == {"key": 3, "key2": 3, "key3": "key3", "col1": "val3"}
    simple.do(lambda t: [t.delete((i, i, "key3")) for i in range(10)])
    assert read() == [None] * 10


def test_A3_multi_read_takes_whole_keys(simple: Simple):
    simple.do(lambda t: t.upsert_all(s(100) + [full(i, key3="new key3") for i in range(100)]))
    keys = [(i, i, ("key3", "new key3")[i % 2]) for i in range(100)]

    rows = simple.do(lambda t: t.multi_read(keys))

    assert sorted(row.key for row in rows) == keys
    assert simple.do(lambda t: t.multi_read([])) == []


def test_A4_nulls_are_written_and_read(simple: Simple):
    rows = [full(i, col2=None, col3=None, col4=None) for i in range(100)]
    simple.do(lambda t: [t.upsert(row) for row in rows])

    found = simple.do(lambda t: t.multi_read([(i, i, "key3") for i in range(100)]))

    unset = {"col5": None, "col6": None, "col7": None}
    assert sorted(map(dict, found), key=lambda row: row["key"]) == [row | unset for row in rows]


@pytest.mark.parametrize(
    ("range", "expected"),
    [
        (between((5,), (15,), "[)"), numbers((5, 14))),
        (between((5,), (15,), "(]"), numbers((6, 15))),
        (Range.singleton((46,)), [46]),
        (Range.singleton((2, 35)), []),  # A6
        (between((30,), (40, 40), "()"), numbers((31, 39))),  # A7
        (between((5,), (15, 15), "[)"), numbers((5, 14))),
        (between((5,), {"key": 15, "key3": "key3"}, "[]"), numbers((5, 15))),
        (Range((5,), begin_bound=EX), numbers((6, 99))),  # A8
        (Range(end=(18,), end_bound=IN), numbers((0, 18))),
        (Range.all(), numbers((0, 99))),
    ],
)
def test_A5_to_A8_ranges(simple: Simple, range: Range, expected: list[int]):
    simple.do(lambda t: t.upsert_all(s(100)))

    assert simple.scan(range) == expected


def test_A9_an_unknown_column_is_refused_by_the_call(simple: Simple):
    def body(table):
        with pytest.raises(InvalidTableFieldError, match="Field nokey is not part of the schema"):
            table.scan(Range({"nokey": 10}))

    simple.do(body)


def test_A10_multi_scans(simple: Simple):
    simple.do(lambda t: t.upsert_all(m(100)))
    tens = lambda *keys: [k + 10 * j for k in keys for j in range(10)]  # noqa: E731

    assert simple.multi_scan([Range.singleton((6, 26))]) == [26]
    assert simple.multi_scan([between((3,), (5,), "[)")]) == tens(3, 4)
    assert simple.multi_scan([between((3,), (5,), "[]")]) == tens(3, 4, 5)
    assert simple.multi_scan([between((3,), (5,), "(]")]) == tens(4, 5)
    assert simple.multi_scan([Range.singleton((3,)), Range.singleton((4,))]) == tens(3, 4)


K3 = lambda key, key3: {"key": key, "key3": key3}  # noqa: E731
C1 = lambda key, col1: {"key": key, "col1": col1}  # noqa: E731
C2 = lambda key, col2: {"key": key, "col2": col2}  # noqa: E731
ONE = Range.singleton


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        pytest.param([ONE((2, 26))], [26], id="A11"),
        pytest.param(
            [
                between((1, 11), (1, 15), "[]"),
                between((2,), (2, 25), "[)"),
                between((3, 31), (3, 35), "()"),
                between((4, 41), (4, 49), "(]"),
            ],
            numbers((11, 15), (20, 24), (32, 34), (42, 49)),
            id="A12",
        ),
        pytest.param(
            [
                between(K3(1, "11"), K3(1, "15"), "[]"),
                between((3,), K3(3, "35"), "[)"),
                between((4,), K3(5, "58"), "()"),
                between(K3(7, "71"), K3(7, "79"), "(]"),
            ],
            numbers((11, 15), (30, 34), (50, 57), (72, 79)),
            id="A13_ranges_skip_a_key",
        ),
        pytest.param([ONE((3,)), ONE((4,))], numbers((30, 49)), id="A15"),
        pytest.param([ONE((2, 29)), ONE((2, 28)), ONE((3,))], numbers((28, 39)), id="A15"),
        pytest.param([ONE((2, 29)), ONE((2, 28)), ONE((2,))], numbers((20, 29)), id="A15"),
        pytest.param(
            [between((0, 5), (4, 45), "()"), between((1, 15), (6, 60), "[]")],
            numbers((6, 60)),
            id="A16",
        ),
        pytest.param(
            [
                between((1,), C2(1, 15.0), "[]"),
                between(C1(3, "val30"), C1(3, "val38"), "[]"),
                between(C2(5, 53.0), K3(5, "55"), "()"),
                between(K3(7, "71"), C1(7, "val79"), "[]"),
            ],
            numbers((10, 15), (30, 38), (54, 54), (71, 79)),
            id="A19",
        ),
        pytest.param([ONE(C1(2, "val29")), ONE(C1(3, "val30"))], [29, 30], id="A19"),
        pytest.param([], [], id="A20"),
        pytest.param([between((0,), (10,)), Range.all()], numbers((0, 99)), id="A20"),
        pytest.param([ONE((5,)), ONE((1,))], numbers((10, 19), (50, 59)), id="A22"),
        pytest.param([ONE((5,)), between((1,), (2,))], numbers((10, 19), (50, 59)), id="A22"),
        pytest.param([ONE((0, 1)), ONE((5, 51))], [1, 51], id="A22"),
        pytest.param([ONE((0, 1)), ONE((5,)), ONE((6, 60))], [1, *numbers((50, 60))], id="A22"),
    ],
)
def test_A11_to_A22_multi_scans_of_mixed_ranges(simple: Simple, ranges, expected):
    simple.do(lambda t: t.upsert_all(p(100)))

    assert simple.multi_scan(ranges) == expected


@pytest.mark.parametrize(
    ("range", "expected"),
    [
        pytest.param(between(K3(1, "11"), K3(1, "15"), "[]"), numbers((11, 15)), id="A14"),
        pytest.param(between((1,), (1, 15), "[]"), numbers((10, 15)), id="A14"),
        pytest.param(between(K3(3, "31"), K3(3, "35"), "[)"), numbers((31, 34)), id="A14"),
        pytest.param(between(K3(3, "31"), (3, 35), "[)"), numbers((31, 34)), id="A14"),
        pytest.param(between(K3(5, "52"), K3(5, "58"), "()"), numbers((53, 57)), id="A14"),
        pytest.param(between((5, 52), K3(5, "58"), "()"), numbers((53, 57)), id="A14"),
        pytest.param(
            between(K3(7, "71"), {"key": 7, "key2": 79, "key3": "79"}, "(]"),
            numbers((72, 79)),
            id="A14",
        ),
        pytest.param(between((1,), C2(1, 115.0), "[]"), numbers((10, 19)), id="A18"),
        pytest.param(between((3,), C1(3, "val35"), "[)"), numbers((30, 34)), id="A18"),
        pytest.param(between(C2(5, 52.0), C2(5, 58.0), "()"), numbers((53, 57)), id="A18"),
        pytest.param(between(C1(7, "val71"), C1(7, "val79"), "(]"), numbers((72, 79)), id="A18"),
    ],
)
def test_A14_A18_scans_of_mixed_ranges(simple: Simple, range, expected):
    simple.do(lambda t: t.upsert_all(p(100)))

    assert simple.scan(range) == expected
    assert simple.multi_scan([range]) == expected


def test_A17_the_limit_is_one_for_all_ranges(simple: Simple):
    simple.do(lambda t: t.upsert_all(p(100)))

    assert simple.multi_scan([ONE((4,)), ONE((3,))], limit=15) == numbers((30, 44))


def test_A21_multi_scans_are_sorted_and_limited(simple: Simple):
    simple.do(lambda t: t.upsert_all(s(100)))
    ranges = [between((20 * i,), (20 * i + 10,)) for i in range(5)] + [ONE((11,))]
    expected = [*numbers((0, 9)), 11, *numbers((20, 29), (40, 49), (60, 69), (80, 89))]

    assert simple.multi_scan(ranges) == expected
    assert simple.multi_scan(ranges, limit=25) == expected[:25]


def test_A23_writing_again_replaces_values(simple: Simple):
    simple.fill(s(10))
    simple.fill([full(i, col1="new") for i in range(10)])

    assert [(row["key"], row["col1"]) for row in simple.rows()] == [(i, "new") for i in range(10)]


def test_A24_compare_and_swap(simple: Simple):
    simple.fill(s(1))
    key = (0, 0, "key3")
    news = {"col1": "new", "col2": 5.5, "col3": 6.5, "col4": b"new", "col5": 7}
    olds = full(0) | {"col5": None}

    def swap(table) -> list[bool]:
        return [table.compare_and_swap(key, c, olds[c], new) for c, new in news.items()]

    assert simple.do(swap) == [True] * 5
    assert simple.do(swap) == [False] * 5
    assert simple.do(lambda t: {k: t.read(key)[k] for k in news}) == news
    with pytest.raises(ValueError, match="key2.*primary key"):
        simple.do(lambda t: t.compare_and_swap(key, "key2", 0, 1))
    with pytest.raises(ValueError, match="Wrong type for field col1"):
        simple.do(lambda t: t.compare_and_swap(key, "col1", "new", 1))


def test_A25_compare_and_swap_of_a_missing_row(simple: Simple):
    key = (0, 0, "key3")
    swap = lambda old: simple.do(lambda t: t.compare_and_swap(key, "col1", old, "x"))  # noqa: E731

    assert swap("non-existent") is False
    assert simple.rows() == []
    assert swap(None) is True
    assert simple.do(lambda t: t.read(key, ["col1"]))["col1"] == "x"


def test_A26_increment(simple: Simple):
    key = (1, 1, "key3")

    def body(table) -> None:
        table.increment(key, "col5", 10)
        for column in ("col3", "key2", "col1"):
            with pytest.raises(ValueError, match=f"{column}.*cannot be incremented"):
                table.increment(key, column, 1)
        with pytest.raises(InvalidTableFieldError):
            table.increment(key, "nocol", 1)

    simple.do(body)
    assert simple.do(lambda t: t.read(key))["col5"] == 10
    simple.do(body)
    assert simple.do(lambda t: t.read(key))["col5"] == 20
    simple.do(lambda t: t.update({"key": 1, "key2": 1, "key3": "key3", "col5": None}))
    simple.do(body)
    assert simple.do(lambda t: t.read(key))["col5"] == 10


@pytest.mark.parametrize("options", [(), (QueryOption.PARTITIONED_UPDATE,)], ids=["A27", "A28"])
def test_A27_A28_delete_all(simple: Simple, options):
    simple.fill(s(10))
    delete = lambda where: simple.do(lambda t: t.delete_all(where, options=options))  # noqa: E731

    delete(between((6, 6), (8, 8), "[]"))
    assert simple.scan() == [0, 1, 2, 3, 4, 5, 9]
    delete(between((2,), (5,)))
    assert simple.scan() == [0, 1, 5, 9]
    delete(between((100,), (200,)))
    assert simple.scan() == [0, 1, 5, 9]
    delete(Range.all())
    assert simple.scan() == []


def test_A29_scan_delete_all(simple: Simple):
    simple.fill(s(10))
    delete = lambda where: simple.do(lambda t: t.scan_delete_all(where))  # noqa: E731

    delete(between({"key2": 7}, {"key2": 9}, "[]"))
    assert simple.scan() == numbers((0, 6))
    delete(between({"col2": 6.0}, {"col2": 6.0}, "[]"))
    assert simple.scan() == numbers((0, 5))
    delete(between((2,), (5,)))
    assert simple.scan() == [0, 1, 5]
    delete(between({"key2": 70}, {"key2": 90}, "[]"))
    assert simple.scan() == [0, 1, 5]
    delete(Range.all())
    assert simple.scan() == []


def test_A30_index_scans(simple: Simple):
    simple.fill([full(i, col1=("abc", "def", "ghi")[i // 5]) for i in range(15)])

    assert simple.scan(filters=[("col1", "def")]) == numbers((5, 9))
    assert simple.scan(filters=[("col1", "abc")]) == numbers((0, 4))
    assert simple.scan(filters=[("col1", "nothing")]) == []
    with pytest.raises(InvalidTableFieldError, match="col5.*not an indexed column"):
        simple.scan(filters=[("col5", 1)])


def test_A31_boolean_indexes(simple: Simple):
    simple.fill([full(i, col7=i // 5 == 1) for i in range(15)])

    assert simple.scan(filters=[("col7", True)]) == numbers((5, 9))


@pytest.mark.parametrize(
    ("range", "filters", "expected"),
    [
        (between((0,), (200,)), ["abc"], numbers((0, 99))),
        (between((0,), (200,)), ["abc", "def"], numbers((0, 199))),
        (between((0,), (200,)), ["abc", None], numbers((0, 199))),
        (between((0,), (200, 20000)), ["abc"], numbers((0, 99))),
        (between((0,), (200, 20000)), ["abc", "def"], numbers((0, 199))),
        (between((100,), (200,)), ["def"], numbers((100, 199))),
        (between((0,), (100,)), ["def"], []),
        (between((0,), (100,)), ["nothing"], []),
    ],
)
def test_A32_ranges_with_filters(simple: Simple, range, filters, expected):
    rows = [full(i, col1=("abc", "def", "ghi")[i // 100]) for i in numbers((0, 299))]
    simple.do(lambda t: t.upsert_all(rows))
    pairs = [("col6", None) if value is None else ("col1", value) for value in filters]

    assert simple.scan(range, limit=1000, filters=pairs) == expected
    with pytest.raises(InvalidTableFieldError):
        simple.scan(range, limit=1000, filters=[("col2", 1.0)])


def test_A33_ranges_with_boolean_filters(simple: Simple):
    simple.do(lambda t: t.upsert_all([full(i, col7=i // 100 == 1) for i in range(300)]))

    assert simple.scan(between((0,), (200,)), filters=[("col7", True)]) == numbers((100, 199))
    both = [("col7", True), ("col7", False)]
    assert simple.scan(between((0,), (200,)), filters=both) == numbers((0, 199))
    assert simple.scan(between((0,), (200,)), filters=[("col7", None)]) == []


def test_A34_scans_ordered_by_an_index(simple: Simple):
    simple.do(lambda t: t.upsert_all([full(i, col6=-i) for i in range(300)]))

    order = {"order_by": "col6", "order": SortOrder.DESC, "limit": 1000}
    assert simple.scan(between((0,), (200,)), **order) == numbers((0, 199))
    order["order"] = SortOrder.ASC
    assert simple.scan(between((100,), (300,)), **order) == numbers((100, 299))[::-1]
    with pytest.raises(InvalidTableFieldError, match="col2.*not an indexed column"):
        simple.scan(order_by="col2")


def test_A35_the_order_of_the_key(simple: Simple):
    simple.do(lambda t: t.upsert_all([full(i, col6=100) for i in range(300)]))
    where = {"range": between((0,), (200,)), "filters": [("col6", 100)], "limit": 1000}

    assert simple.scan(**where, order=SortOrder.ASC) == numbers((0, 199))
    assert simple.scan(**where, order=SortOrder.DESC) == numbers((0, 199))[::-1]


def test_A36_count(simple: Simple):
    simple.fill(s(5))
    overlapping = [Range(end=(2,), end_bound=IN), Range((0,), begin_bound=EX)]

    assert simple.do(lambda t: t.count()) == 5
    assert simple.do(lambda t: t.count([Range.all()])) == 5
    assert simple.do(lambda t: t.count(overlapping)) == 5
    assert simple.do(lambda t: t.count([])) == 0


@pytest.mark.parametrize("options", [(), (QueryOption.STALE_READ,)])
def test_A37_count_with_filters(simple: Simple, options):
    simple.fill(s(5))
    overlapping = [Range(end=(3,), end_bound=IN), Range((0,), begin_bound=EX)]
    only = [("col1", "val3")]

    assert simple.do(lambda t: t.count(overlapping, filters=only, options=options)) == 1


def test_A38_update_changes_the_fields_it_names(simple: Simple):
    simple.fill(s(1))
    key = {"key": 0, "key2": 0, "key3": "key3"}

    simple.do(lambda t: t.update(key | {"col1": "new", "col3": 100.0}))

    (row,) = simple.rows()
    assert {name: row[name] for name in full(0)} == full(0, col1="new", col3=100.0)


@pytest.mark.parametrize("before", ["val", None])
def test_A39_update_all(simple: Simple, before):
    simple.fill([full(i, col1=before) for i in range(10)])

    new = {"col1": "new", "col3": 100.0}
    simple.do(lambda t: t.update_all(between((6, 6), (8, 8)), new))

    assert [(row["col1"], row["col3"]) for row in simple.rows()] == [
        ("new", 100.0) if i in (6, 7) else (before, float(i)) for i in range(10)
    ]


def test_A40_update_all_refuses_keys_and_other_ranges(simple: Simple):
    def update_all(where: Range) -> Any:
        return lambda t: t.update_all(where, {"col1": "x"})

    simple.fill(s(3))

    with pytest.raises(InvalidTableFieldError, match="key2.*cannot be changed"):
        simple.do(lambda t: t.update_all(Range.all(), {"key2": 3, "col1": "x"}))
    for where in (Range({"key2": 1}), Range({"col1": "val1"}), Range(K3(1, "key3"))):
        with pytest.raises(InvalidTableFieldError, match="not the first of the primary key"):
            simple.do(update_all(where))
    with pytest.raises(TableUsageError, match="No fields"):
        simple.do(lambda t: t.update_all(Range.all(), {}))
    assert [row["col1"] for row in simple.rows()] == ["val0", "val1", "val2"]


def test_A41_update_needs_the_whole_key(simple: Simple):
    with pytest.raises(InvalidTableFieldError, match="key3 of the primary key.*missing"):
        simple.do(lambda t: t.update({"key": 1, "key2": 1, "col1": "x"}))


def test_A42_update_makes_no_row(simple: Simple):
    simple.do(lambda t: t.update(full(1)))

    assert simple.rows() == []
