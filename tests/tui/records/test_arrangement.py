"""Orders and filters of tables, whatever their values are."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.tui.records.columns import (
    ColumnOrder,
    RecordArrangement,
    ValueFilter,
    arrange,
    list_keys,
)

NOON = datetime.datetime(2026, 1, 1, 12)


@pytest.mark.parametrize(
    ("values", "type"),
    [
        ([None, None], pa.null()),
        ([True, False, None], pa.bool_()),
        ([{"a": 2}, {"a": 1}, None], pa.struct([("a", pa.int64())])),
        ([[2], [1], None], pa.list_(pa.int64())),
        ([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
        ([decimal.Decimal("1.5"), decimal.Decimal("-1.5")], pa.decimal128(5, 2)),
        ([1001, 2], pa.time64("ns")),
        ([1001, 2], pa.timestamp("ns")),
        ([NOON, NOON, None], pa.timestamp("us", "UTC")),
        ([b"x", None], pa.binary()),
        ([float("nan"), 1.0, None], pa.float64()),
        ([], pa.int64()),
    ],
)
def test_values_of_every_type_are_ordered_and_filtered(values, type):
    table = pa.table({"v": pa.array(values, type)})
    for is_descending in (False, True):
        places = arrange(table, RecordArrangement((ColumnOrder(0, is_descending),)))
        assert sorted(places) == list(range(len(values)))
    for place, key in enumerate(list_keys(table, 0)):
        kept = arrange(table, RecordArrangement(filters=(ValueFilter(0, key),)))
        left = arrange(table, RecordArrangement(filters=(ValueFilter(0, key, is_kept=False),)))
        assert place in kept
        assert sorted(kept + left) == list(range(len(values)))


@given(st.lists(st.tuples(st.integers(0, 3) | st.none(), st.integers(0, 3)), max_size=20))
def test_two_orders_are_those_of_python(rows):
    table = pa.table(
        {"a": pa.array([a for a, _ in rows], pa.int64()), "b": pa.array([b for _, b in rows])}
    )
    places = arrange(table, RecordArrangement((ColumnOrder(0), ColumnOrder(1, is_descending=True))))
    nulls_last = [(row[0] is None, row[0] or 0, -row[1], place) for place, row in enumerate(rows)]
    assert places == [each[-1] for each in sorted(nulls_last)]
