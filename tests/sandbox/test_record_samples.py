"""Samples of streams of records."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.connector import RecordStream, SampleRequest, SampleType, Unreadable
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records
from localcdap.api.schema import Schema
from localcdap.sandbox.record_samples import check_sample_request, take_sample

NUMBERS = Schema.record("n", [("n", Schema.INT), ("kind", Schema.STRING)])


def stream(count: int, kinds: int = 3) -> RecordStream:
    return RecordStream(({"n": n, "kind": f"k{n % kinds}"} for n in range(count)), NUMBERS)


def numbers(*args: object, **kwargs: object) -> list[int]:
    return [each["n"] for each in take_sample(*args, **kwargs).records]


@pytest.mark.parametrize(
    ("count", "limit", "description"),
    [
        (0, 10, "0 of 0 records"),
        (1, 10, "1 of 1 record"),
        (10, 10, "10 of 10 records"),
        (11, 10, "10 of 11 records"),
    ],
)
def test_the_first_ones(count: int, limit: int, description: str) -> None:
    found = take_sample(stream(count), SampleRequest(limit=limit), 5)
    assert [each["n"] for each in found.records] == list(range(min(count, limit)))
    assert found.description == description
    assert found.is_complete


def test_the_number_of_all_is_known_estimated_or_not() -> None:
    request = SampleRequest(limit=1000)
    known = stream(5000)
    known.total = 2_400_000
    assert take_sample(known, request, 5).description == "1,000 of 2.4 M records"
    endless = ({"n": n, "kind": "x"} for n in itertools.count())
    open_end = take_sample(RecordStream(endless, NUMBERS), request, 0.05)
    assert open_end.description.startswith("1,000 of an unknown number of records")
    shared = RecordStream(({"n": n} for n in itertools.count()), NUMBERS, share=lambda: 0.5)
    estimated = take_sample(shared, request, 0.05)
    assert estimated.is_estimate
    assert estimated.total == 2 * estimated.read
    assert " of about " in estimated.description


@given(st.integers(0, 300), st.integers(1, 50), st.integers(0, 2**31))
def test_random_ones(count: int, limit: int, seed: int) -> None:
    request = SampleRequest(limit=limit, sampling_type=SampleType.RANDOM, seed=seed)
    found = numbers(stream(count), request, 5)
    assert len(found) == min(count, limit)
    assert found == sorted(set(found))
    assert found == numbers(stream(count), request, 5)


def test_random_ones_are_even() -> None:
    hits: Counter[int] = Counter()
    for seed in range(400):
        request = SampleRequest(limit=5, sampling_type=SampleType.RANDOM, seed=seed)
        hits.update(numbers(stream(20), request, 5))
    assert min(hits.values()) > 60 < max(hits.values()) < 145  # 100 each on average


@given(st.integers(0, 400), st.integers(1, 60), st.integers(1, 80), st.integers(0, 99))
def test_stratified_ones(count: int, limit: int, kinds: int, seed: int) -> None:
    request = SampleRequest(
        limit=limit, sampling_type=SampleType.STRATIFIED, strata="kind", seed=seed
    )
    found = take_sample(stream(count, kinds), request, 5)
    assert len(found.records) == min(count, limit)
    taken = Counter(each["kind"] for each in found.records)
    given = Counter(f"k{n % kinds}" for n in range(count))
    assert all(taken[kind] <= given[kind] for kind in taken)
    if len(given) <= limit:
        assert set(taken) == set(given)  # each value at least once
        assert all(
            abs(taken[kind] - limit * given[kind] / max(count, 1)) < 2
            for kind in given
            if count > limit and limit > 4 * kinds
        )


def test_a_column_that_is_not_there() -> None:
    request = SampleRequest(sampling_type=SampleType.STRATIFIED, strata="city")
    with pytest.raises(BadRequestError, match="no column 'city'") as error:
        take_sample(stream(3), request, 5)
    assert error.value.corrective_action == "Available: n, kind."


def test_records_that_cannot_be_read_are_counted() -> None:
    items = [{"n": 0}, Unreadable("Line 2: torn."), {"n": 2}]
    found = take_sample(RecordStream(items, NUMBERS), SampleRequest(), 5)
    assert [each["n"] for each in found.records] == [0, 2]
    assert found.unreadable == ["Line 2: torn."]
    assert found.read == 3


def test_the_time_ends_a_long_read() -> None:
    endless = ({"n": n, "kind": "x"} for n in itertools.count())
    request = SampleRequest(limit=5, sampling_type=SampleType.RANDOM, seed=1)
    found = take_sample(RecordStream(endless, NUMBERS), request, 0.05)
    assert len(found.records) == 5
    assert not found.is_complete
    assert "as far as the time allowed" in found.description


@pytest.mark.parametrize(
    "wrong",
    [
        SampleRequest(limit=0),
        SampleRequest(limit=100_001),
        SampleRequest(sampling_type=SampleType.STRATIFIED),
        SampleRequest(sampling_type=SampleType.MATCHING),
        SampleRequest(sampling_type=SampleType.FAILING, properties={"recipe": " "}),
    ],
)
def test_wrong_requests(wrong: SampleRequest) -> None:
    with pytest.raises(BadRequestError):
        check_sample_request(wrong)


def test_records_without_a_schema_have_the_types_of_their_columns() -> None:
    given = [{"n": 1, "o": {"a": [1]}}, {"N": "x", "o": 1e22}, {"n": None, "o": b"b"}]
    text = Schema.STRING.as_nullable
    schema = Schema.record("r", [("n", text), ("o", text)])
    stream = RecordStream(iter(given), None, find_schema=lambda _: schema)
    found = take_sample(stream, SampleRequest(), 5).records
    assert decode_json_records(schema, found) == found
    assert found == [
        {"n": "1", "o": '{"a":[1]}'},
        {"n": "x", "o": "1.0E22"},
        {"n": None, "o": "b"},
    ]
