"""Reports of records that differ."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.schema import Schema
from localcdap.pipeline_tests.comparison import list_differences
from localcdap.pipeline_tests.model import Expectation

ROW = Schema.parse(
    '{"type":"record","name":"r","fields":[{"name":"id","type":"int"},{"name":"price","type":'
    '[{"type":"bytes","logicalType":"decimal","precision":9,"scale":2},"null"]},'
    '{"name":"at","type":[{"type":"long","logicalType":"timestamp-micros"},"null"]}]}'
)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 4), "name": st.sampled_from("abc"), "x": st.floats(allow_nan=False)}
    ),
    max_size=12,
)


def reported(expected, actual, schema=None, **how):
    found = list_differences(expected, actual, Expectation(**how), schema)
    return [(d.kind, d.label, [(f.field, f.expected, f.actual) for f in d.fields]) for d in found]


@given(RECORDS, st.randoms())
def test_records_in_another_order_are_the_same(records: list, order: random.Random):
    other = list(records)
    order.shuffle(other)

    assert reported(records, other) == []
    assert (reported(records, other, ordered=True) == []) is (records == other)


@given(RECORDS, RECORDS)
def test_as_many_are_missing_and_unexpected_as_the_numbers_say(expected: list, actual: list):
    for ordered in (False, True):
        kinds = [kind for kind, _, _ in reported(expected, actual, ordered=ordered)]
        surplus = kinds.count("unexpected") - kinds.count("missing")
        assert surplus == len(actual) - len(expected)


@given(RECORDS.filter(bool), st.data())
def test_one_changed_value_is_one_difference(records: list, data: st.DataObject):
    place = data.draw(st.integers(0, len(records) - 1))
    changed = [dict(each) for each in records]
    changed[place]["name"] = "other"

    ((kind, _, fields),) = reported(records, changed)
    ((ordered_kind, _, ordered_fields),) = reported(records, changed, ordered=True)
    assert (kind, ordered_kind) == ("changed", "changed")
    assert ("name", records[place]["name"], "other") in ordered_fields
    assert ("name", "other") in [(name, actual) for name, _, actual in fields]


def test_a_changed_record_is_recognised_by_what_it_kept():
    expected = [
        {"id": 1, "name": "ada", "city": "London"},
        {"id": 2, "name": "bob", "city": "Bonn"},
    ]
    actual = [{"id": 2, "name": "bob", "city": "Berlin"}, {"id": 3, "name": "eve", "city": "Rome"}]

    assert reported(expected, actual) == [
        ("changed", 'id=2 name="bob"', [("city", "Bonn", "Berlin")]),
        ("missing", 'id=1 name="ada" city="London"', []),
        ("unexpected", 'id=3 name="eve" city="Rome"', []),
    ]


def test_a_key_decides_which_records_belong_together():
    expected = [{"id": 1, "a": 1, "b": 1}, {"id": 2, "a": 2, "b": 2}]
    actual = [{"id": 1, "a": 2, "b": 2}, {"id": 2, "a": 1, "b": 1}]

    assert [label for _, label, _ in reported(expected, actual, key=["id"])] == ["id=1", "id=2"]


def test_a_record_put_in_between_leaves_the_others_in_order():
    expected = [{"id": n} for n in (1, 2, 3)]
    actual = [{"id": n} for n in (1, 9, 2, 3)]

    assert reported(expected, actual, ordered=True) == [("unexpected", "id=9", [])]


def test_a_field_that_is_not_there_is_null_unless_only_named_ones_count():
    actual = [{"id": 1, "name": "ada"}]

    assert reported([{"id": 1}], [{"id": 1, "name": None}]) == []
    assert reported([{"id": 1}], actual) == [("changed", "id=1", [("name", None, "ada")])]
    assert reported([{"id": 1}], actual, named_only=True) == []
    assert reported([{"id": 2, "name": "x"}], [{"id": 2, "name": "y"}], fields=["id"]) == []


def test_inner_fields_are_named_with_their_path():
    expected = [{"id": 1, "at": {"city": "Bonn", "zip": "1"}}]
    actual = [{"id": 1, "at": {"city": "Rome", "zip": "1"}}]

    assert reported(expected, actual) == [("changed", "id=1", [("at.city", "Bonn", "Rome")])]


def test_numbers_may_differ_by_their_last_digits_or_as_much_as_is_said():
    assert reported([{"x": 0.3}], [{"x": 0.1 + 0.2}]) == []
    assert reported([{"x": 10}], [{"x": 11}]) != []
    assert reported([{"x": 10}], [{"x": 10.4}], tolerance=0.5) == []
    assert reported([{"x": "10.0"}], [{"x": "10.4"}], tolerance=0.5) == []
    assert reported([{"x": True}], [{"x": 1}]) != []


def test_expected_values_are_read_as_their_schema_has_them():
    expected = [{"id": 1, "price": 12.5, "at": "2026-01-02T04:00:00+01:00"}]
    actual = [{"id": 1, "price": "12.50", "at": "2026-01-02T03:00:00Z"}]

    assert reported(expected, actual, ROW) == []
    assert reported([{"id": "x", "price": 1}], [{"id": 1, "price": "1.00"}], ROW) == [
        ("changed", 'price="1"', [("id", "x", 1)])
    ]
