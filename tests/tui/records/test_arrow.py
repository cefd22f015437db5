"""Records as tables: types as the schema says, or as the values have in common."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.schema import Schema
from localcdap.tui.records.values import build_table, format_arrow_type

SCHEMA = Schema.record(
    "r",
    [
        ("id", Schema.LONG),
        ("name", Schema.STRING.as_nullable),
        ("price", Schema.decimal(5, 2)),
        ("day", Schema.DATE),
        ("at", Schema.TIMESTAMP),
        ("local", Schema.DATETIME),
        ("raw", Schema.BYTES),
        ("tags", Schema.array(Schema.STRING)),
        ("by", Schema.map(Schema.STRING, Schema.LONG)),
        ("in", Schema.record("i", [("x", Schema.INT)])),
    ],
)
RECORD = {
    "id": 1, "name": None, "price": "2.50", "day": "2026-01-02", "at": "2026-01-02T03:04:05Z",
    "local": "2026-01-02T03:04:05", "raw": "AAE=", "tags": ["a"], "by": {"k": 1}, "in": {"x": 2},
}  # fmt: skip


def test_the_schema_gives_the_types():
    table = build_table([RECORD, RECORD], SCHEMA)
    assert [format_arrow_type(field.type) for field in table.schema] == [
        "long", "string", "decimal(5, 2)", "date", "timestamp", "datetime", "bytes",
        "array<string>", "map<string, long>", "record",
    ]  # fmt: skip
    assert table.num_rows == 2
    assert build_table([], SCHEMA).column_names == SCHEMA.field_names


def test_records_that_do_not_match_the_schema_are_shown():
    table = build_table([{**RECORD, "id": "many", "more": True}], SCHEMA)
    assert table.column("id").to_pylist() == ["many"]
    assert table.column("more").to_pylist() == [True]


def test_without_a_schema_a_column_has_the_common_type_of_its_values():
    table = build_table([{"a": 1, "b": 1, "c": "x"}, {"a": 2.5, "b": "y", "d": [1]}, 7], None)
    assert [format_arrow_type(field.type) for field in table.schema] == [
        "double", "string", "string", "string", "long",
    ]  # fmt: skip
    assert table.column("b").to_pylist() == ["1", "y", None]
    assert table.column("d").to_pylist() == [None, "[1]", None]
    assert table.column("value").to_pylist() == [None, None, 7]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=[]), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.lists(json_values, max_size=4))
def test_any_json_is_a_table(records):
    table = build_table(records, None)
    assert not records or table.num_rows == len(records) or not table.num_columns
    json.dumps(table.column_names)
