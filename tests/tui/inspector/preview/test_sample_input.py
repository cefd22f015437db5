from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records
from localcdap.api.schema import Schema
from localcdap.tui.inspector.preview.sample_input import (
    format_records,
    generate_records,
    parse_records,
)
from tests.tui.test_schema_text import records

SCHEMA = Schema.record(
    "r",
    [
        ("id", Schema.LONG),
        ("name", Schema.STRING.as_nullable),
        ("ok", Schema.BOOLEAN),
        ("day", Schema.DATE.as_nullable),
    ],
)


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": 1, "name": null, "ok": true, "day": "2026-01-02"}]',
        '{"id": 1, "name": null, "ok": true, "day": "2026-01-02"}',
        '{"id": 1, "name": null,\n "ok": true, "day": "2026-01-02"}',
        "id,name,ok,day\n1,,TRUE,2026-01-02\n",
        'day, ok ,id,name\n"2026-01-02",true,1,',
    ],
)
def test_records_are_read_from_json_lines_and_csv(text):
    assert parse_records(text, SCHEMA) == [{"id": 1, "name": None, "ok": True, "day": "2026-01-02"}]


def test_lines_of_json():
    assert parse_records('{"id": 1}\n{"id": 2}\n', None) == [{"id": 1}, {"id": 2}]
    assert parse_records("  \n", None) == []


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ('[{"id": 1', "not valid JSON"),
        ("id,name\n1,2,3", "records:2: 3 values, but 2 columns"),
        ("id, id\n1,2", "name every column once. It has id, id"),
        ('id\n"1\n', "records: Line 2: the quote at the beginning of value 1 is not closed"),
    ],
)
def test_what_is_wrong_is_reported(text, reported):
    with pytest.raises(BadRequestError, match=reported):
        parse_records(text, SCHEMA)


def test_text_of_records_reads_back():
    found = [{"id": 1, "name": "ünï\n"}, {"id": 2, "name": None}]
    assert parse_records(format_records(found), None) == found
    assert parse_records(format_records([]), None) == []


def test_generated_records_are_the_same_for_the_same_seed_and_fit():
    made = generate_records(SCHEMA, 50, 1)
    assert made == generate_records(SCHEMA, 50, 1) != generate_records(SCHEMA, 50, 2)
    assert len(decode_json_records(SCHEMA, made)) == 50
    assert None in [record["name"] for record in made]


@given(records, st.integers(0, 3))
def test_records_are_generated_for_whatever_schema(fields, seed):
    schema = Schema.record("r", fields)
    assert len(generate_records(schema, 3, seed)) == 3
