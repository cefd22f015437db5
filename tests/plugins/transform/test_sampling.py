"""Sampling: sizes and positions of both kinds, and failures. The conformance test runs it on Spark."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from core_plugins.aggregators.record_sample import Sampling
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api import Schema, StageError
from localcdap.testing import StageTester
from tests.plugins.transform.support import configure, messages, record

IDS = record("in", id=Schema.INT)
TEN = [{"id": number} for number in range(1, 11)]
MANUAL = {
    "sampleSize": "3",
    "samplingType": "systematic",
    "overSamplingPercentage": "20",
    "totalRecords": "10",
}
"""The example of CDAP's manual, which gives 4 of 10 records."""


def sample(properties: dict[str, str], records: list[dict[str, Any]] = TEN) -> list[int]:
    return [each["id"] for each in StageTester(Sampling, properties, IDS).run(records).records]


def test_systematic_samples():
    assert len(sample(MANUAL)) == 4
    assert sample(MANUAL | {"random": "0.5"}) == [2, 3, 5, 7]
    assert sample(MANUAL | {"random": "1"}) == [3, 4, 6, 8]
    half = {"samplePercentage": "50", "samplingType": "Systematic", "totalRecords": "10"}
    assert sample(half | {"random": "0.4"}) == [2, 3, 5, 7, 9]
    with pytest.raises(
        StageError, match="needs record 8, but the input has 7; 'totalRecords' says 10"
    ):
        sample(MANUAL | {"random": "1"}, TEN[:7])


@given(st.integers(1, 30), st.integers(0, 30))
def test_a_reservoir_has_each_record_at_most_once(size: int, count: int):
    records = [{"id": number} for number in range(count)]
    found = sample({"sampleSize": str(size), "samplingType": "Reservoir"}, records)
    assert found == sorted(set(found))
    assert len(found) == min(size, count)


def test_each_record_is_as_likely():
    plugin = Sampling(Sampling.Config({"sampleSize": 3, "samplingType": "Reservoir"}))
    found: Counter[int] = Counter()
    for run in range(2000):

        class Context:
            run_id = str(run)

        plugin.initialize(Context())
        plugin.aggregate("sample", iter(TEN), lambda each: found.update([each["id"]]))
    assert all(500 < found[number] < 700 for number in range(1, 11))


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (
            {"samplingType": "Reservoir"},
            ["Either 'samplePercentage' or 'sampleSize' should be specified."],
        ),
        (
            {"samplingType": "Systematic", "sampleSize": "1"},
            ["The number of all records is not known."],
        ),
        (
            {"samplingType": "Reservoir", "samplePercentage": "101", "totalRecords": "0"},
            ["'samplePercentage' is 101.", "'totalRecords' is 0."],
        ),
        (
            MANUAL | {"samplingType": "any"},
            ["Property 'samplingType' must be one of Systematic, Reservoir, not 'any'."],
        ),
        (MANUAL | {"random": "1.5"}, ["'random' is 1.5."]),
    ],
)
def test_failures(properties: dict[str, str], expected: list[str]):
    assert messages(configure(Sampling, properties, IDS)) == expected
