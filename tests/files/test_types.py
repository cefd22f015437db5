"""Types of texts and of values of JSON."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path

import pytest

from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.files.types import (
    detect_column_type,
    guess_column_type,
    guess_schema_of_rows,
    infer_value_type,
    merge_types,
    replace_unknown,
)
from localcdap.plugin_lib.wrangler.recipe.samples import infer_column_type

TYPES_OF_CDAP = Path(__file__).with_name("detected_types.tsv")
DATE, TIMESTAMP = Schema.of(LogicalType.DATE), Schema.of(LogicalType.TIMESTAMP_MICROS)
NO_MEMBERS = Schema.map(Schema.STRING, Schema.STRING.as_nullable)


@pytest.mark.parametrize(
    ("texts", "of_cdap", "of_recordings"),
    [
        (["1", "-2"], Schema.INT, Schema.LONG),
        (["2147483648"], Schema.LONG, Schema.LONG),
        (["9" * 19], Schema.STRING, Schema.DOUBLE),
        (["007"], Schema.INT, Schema.STRING),  # most numbers with leading zeros are codes
        (["+1"], Schema.INT, Schema.STRING),
        ([".5", "1."], Schema.STRING, Schema.STRING),
        (["1.5", "1e3"], Schema.STRING, Schema.DOUBLE),
        (["1.5", "2147483648", "3"], Schema.DOUBLE, Schema.DOUBLE),
        (["true", "1.5"], Schema.BOOLEAN, Schema.STRING),
        (["true", "x"], Schema.STRING, Schema.STRING),
        (["1e" + 20 * "9", "1.5e-" + 20 * "9"], Schema.STRING, Schema.DOUBLE),
        ([" 1"], Schema.STRING, Schema.STRING),
        (["true", "FALSE"], Schema.BOOLEAN, Schema.BOOLEAN),
        (["2026-01-31"], Schema.STRING, DATE),
        (["2026-01-31T12:00Z"], Schema.STRING, TIMESTAMP),
        (["1", ""], Schema.INT.as_nullable, Schema.LONG),
        (["", " "], Schema.STRING.as_nullable, Schema.STRING),
        ([], Schema.STRING, Schema.STRING),
    ],
)
def test_texts_have_the_types_of_cdap_and_those_of_recordings(texts, of_cdap, of_recordings):
    assert detect_column_type(texts) == of_cdap
    assert guess_column_type(texts) == of_recordings


def test_each_text_has_the_type_of_the_original():
    """The lines are what ``TypeInference.getDataType`` of hydrator-plugins returned, and the text."""
    types = {"INTEGER": Schema.INT, "EMPTY": Schema.STRING.as_nullable}
    lines = TYPES_OF_CDAP.read_text(encoding="utf-8").rstrip("\n").split("\n")
    expected = {
        text.replace("\\t", "\t"): types.get(name) or Schema.of(Type[name])
        for name, text in (line.split("|", 1) for line in lines)
    }
    assert {text: detect_column_type([text]) for text in expected} == expected


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (None, Schema.NULL),
        (True, Schema.BOOLEAN),
        (1, Schema.LONG),
        (1.5, Schema.DOUBLE),
        ("2026-01-31", Schema.STRING),
        (b"x", Schema.BYTES),
        (decimal.Decimal("1.50"), Schema.decimal(38, 2)),
        (datetime.date(2026, 1, 31), Schema.DATE),
        (datetime.datetime(2026, 1, 31), Schema.DATETIME),
        (datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC), Schema.TIMESTAMP),
        (datetime.time(12), Schema.TIME),
        ([1, None], Schema.array(Schema.LONG.as_nullable)),
        ([], Schema.array(Schema.NULL)),
        ({}, NO_MEMBERS),
    ],
)
def test_a_value_has_the_type_of_its_class(value, type):
    assert infer_value_type(value) == type


def test_records_have_one_name_or_that_of_their_path():
    value = {"a": {"b": 1}}
    same, by_path = infer_value_type(value, "r"), infer_value_type(value, "r", by_path=True)
    assert [each.field("a").schema.name for each in (same, by_path)] == ["r", "r_a"]


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Schema.LONG, Schema.DOUBLE, Schema.DOUBLE),
        (Schema.LONG, Schema.BOOLEAN, Schema.STRING),
        (Schema.LONG, Schema.DATE, Schema.STRING),  # a date is stored as a number
        (Schema.LONG, Schema.NULL, Schema.LONG.as_nullable),
        (Schema.LONG.as_nullable, Schema.DOUBLE, Schema.DOUBLE.as_nullable),
        (Schema.decimal(38, 2), Schema.decimal(38, 5), Schema.decimal(38, 5)),
        (
            Schema.array(Schema.NULL),
            Schema.array(Schema.LONG),
            Schema.array(Schema.LONG.as_nullable),
        ),
        (NO_MEMBERS, infer_value_type({"a": 1}), infer_value_type({"a": 1})),
    ],
)
def test_merged_types_hold_the_values_of_both(one, other, both):
    assert merge_types(one, other) == both
    assert merge_types(other, one) == both


def test_a_field_that_one_record_lacks_is_nullable():
    both = merge_types(infer_value_type({"a": 1, "b": 2}), infer_value_type({"b": 3, "c": None}))
    assert both == Schema.record(
        "record",
        [("a", Schema.LONG.as_nullable), ("b", Schema.LONG), ("c", Schema.NULL)],
    )
    assert replace_unknown(both).field("c").schema == Schema.STRING.as_nullable
    assert replace_unknown(both).field("b").schema == Schema.LONG
    everything = replace_unknown(both, all_nullable=True).non_nullable
    assert everything.field("b").schema == Schema.LONG.as_nullable


def test_texts_of_json_may_be_dates():
    rows = [{"day": "2026-01-31", "mixed": "2026-01-31"}, {"day": None, "mixed": "x"}]
    fields = {field.name: field.schema for field in guess_schema_of_rows(rows, is_text=False)}
    assert fields == {"day": DATE.as_nullable, "mixed": Schema.STRING.as_nullable}


WIDE = 2**53 + 1
"""A whole number that no double holds."""


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2**53, 0.5], Schema.DOUBLE),
        ([WIDE, 0.5], Schema.STRING),
        ([0.5, 1, -WIDE, 2.5], Schema.STRING),
        ([1, WIDE], Schema.LONG),
        ([2**63 - 1], Schema.LONG),
        ([2**63], Schema.decimal(38, 0)),
        ([2**63, 1, WIDE], Schema.decimal(38, 0)),
        ([2**63, 0.5], Schema.STRING),
        ([10**38], Schema.STRING),
        ([WIDE, decimal.Decimal("1.50")], Schema.decimal(38, 2)),
        ([1, decimal.Decimal("0." + "1" * 20)], Schema.STRING),
        ([[WIDE, 0.5]], Schema.array(Schema.STRING.as_nullable)),
        ([{"a": WIDE}, {"a": 0.5}], Schema.record("record", [("a", Schema.STRING.as_nullable)])),
    ],
)
def test_no_type_of_a_column_loses_digits(values, expected):
    assert infer_column_type(values).non_nullable == expected
    assert infer_column_type(values[::-1]).non_nullable == expected
