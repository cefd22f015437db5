"""The schema that rows propose."""

from __future__ import annotations

import datetime
import decimal

import pytest

from localcdap.api.directive.rows import Columns, Row
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.recipe.samples import infer_schema

D = decimal.Decimal
LONG, STRING, DOUBLE = (each.as_nullable for each in (Schema.LONG, Schema.STRING, Schema.DOUBLE))


def record(**fields):
    return Schema.record("record", fields.items())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, None, 2], Schema.LONG),
        ([1, 2**40], Schema.LONG),
        ([1, 2.5, 2**40], Schema.DOUBLE),
        ([1, "x"], Schema.STRING),
        ([None], Schema.STRING),
        ([True, False], Schema.BOOLEAN),
        ([True, 1], Schema.STRING),
        ([D("1.5"), D("2")], Schema.decimal(38, 1)),
        ([b"x"], Schema.BYTES),
        ([datetime.date(2026, 1, 2)], Schema.DATE),
        ([datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)], Schema.TIMESTAMP),
        ([datetime.datetime(2026, 1, 2)], Schema.DATETIME),
        ([datetime.time(1)], Schema.TIME),
        ([[1], [2.5]], Schema.array(DOUBLE)),
        ([[None], [], [3]], Schema.array(LONG)),
        ([[], [None]], Schema.array(STRING)),
        ([{"a": 1}, {"b": "x"}, {}], record(a=LONG, b=STRING)),
        ([{"a": None, "b": None}, {"a": 2.5}], record(a=DOUBLE, b=STRING)),
        ([{"a": {"b": 1}}, {"a": None}], record(a=record(b=LONG).as_nullable)),
    ],
    ids=str,
)
def test_the_type_of_a_column_is_one_that_its_values_fit(values, expected):
    schema = infer_schema([Row(c=value) for value in values], Columns(open=True))

    assert schema == Schema.record("etlSchemaBody", [("c", expected.as_nullable)])


def test_columns_have_the_order_of_the_rows_unless_all_are_known():
    known = [("B", Schema.LONG), ("a", None)]
    row = Row(a=1, b=1, c="x")
    schema = infer_schema([row], Columns(known, open=True))

    assert schema.field_names == ["a", "B", "c"]
    assert infer_schema([row], Columns(known)).field_names == ["B", "a", "c"]
    assert schema.field("B").schema == Schema.LONG
    assert schema.field("a").schema == LONG
    assert infer_schema([], Columns()) is None


def test_a_column_that_no_row_has_is_left_out_when_only_data_show_it():
    columns = Columns([("body", None), ("id", Schema.LONG)], open=True)

    assert infer_schema([Row(body_a=1)], columns).field_names == ["body_a", "id"]
    assert infer_schema([], columns).field_names == ["body", "id"]
