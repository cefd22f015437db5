from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.tui.records.columns import format_histogram, profile_column


def of(values, type=None):
    return profile_column("c", pa.chunked_array([pa.array(values, type)]))


def test_numbers():
    found = of([1, 2, 2, None, 10])
    assert (found.type, found.count, found.nulls, found.distinct) == ("long", 5, 1, 3)
    assert (found.least, found.greatest, found.mean) == ("1", "10", "3.75")
    assert sum(found.histogram) == 4
    assert found.histogram[0] == 1
    assert found.histogram[-1] == 1
    assert [(f.value, f.count) for f in found.frequent][0] == ("2", 2)


def test_texts():
    found = of(["b", "", "a", "b", None])
    assert (found.empty, found.nulls, found.distinct) == (1, 1, 3)
    assert (found.least, found.greatest, found.mean) == ('""', "b", None)
    assert not found.histogram


@pytest.mark.parametrize(
    ("values", "type"),
    [
        ([], pa.int64()),
        ([None, None], pa.string()),
        ([None], pa.null()),
        ([float("nan"), float("inf")], pa.float64()),
        ([5, 5, 5], pa.int64()),
        ([True, False, None], pa.bool_()),
        ([[1], [], None], pa.list_(pa.int64())),
        ([{"a": 1}], pa.struct([("a", pa.int64())])),
        ([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        ([b"x"], pa.binary()),
        ([datetime.date(2026, 1, 1), datetime.date(2026, 2, 1)], pa.date32()),
        ([datetime.time(1, 2), None], pa.time64("ns")),
        ([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)] * 2, pa.timestamp("us", "UTC")),
        (["1.50"], pa.string()),
    ],
)
def test_every_type_has_a_profile(values, type):
    found = of(values, type)
    assert found.count == len(values)
    assert found.nulls == values.count(None)
    assert len(format_histogram(found.histogram)) in (0, len(found.histogram))


def test_dates_have_a_histogram_and_no_mean():
    found = of([datetime.date(2026, 1, 1), datetime.date(2026, 1, 31)])
    assert (found.least, found.greatest, found.mean) == ("2026-01-01", "2026-01-31", None)
    assert sum(found.histogram) == 2


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True) | st.none(), max_size=50))
def test_no_number_breaks_a_profile(values):
    found = of(values, pa.float64())
    assert sum(found.histogram) <= len(values)


def test_a_rare_value_is_seen():
    assert format_histogram([1000, 1, 0]) == "█▁ "
    assert format_histogram([]) == ""
