"""Rows of a recording as records of the schema of a stage, with the report on both."""

from __future__ import annotations

import datetime
import decimal
import json

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import LogicalType, Schema
from localcdap.pipeline.recordings.rows import RecordedRows, open_file
from localcdap.pipeline.recordings.sources import RowConverter, match_schemas

WANTED = Schema.record(
    "row",
    [
        ("id", Schema.INT),
        ("name", Schema.STRING.as_nullable),
        ("price", Schema.decimal(6, 2).as_nullable),
        ("day", Schema.of(LogicalType.DATE).as_nullable),
        ("note", Schema.STRING.as_nullable),
    ],
)


def convert(folder, rows, wanted):
    match = match_schemas(rows.schema, wanted)
    assert match.problems == []
    file = folder / "made" / "a.parquet"
    count = RowConverter(rows, wanted, match).write(file)
    records = pq.read_table(file).to_pylist()
    assert len(records) == count
    return records, match.notes


def test_texts_become_the_types_of_the_schema_and_every_difference_is_reported(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("ID,name,price,day,other\n1,ada,2.5,2026-01-02,x\n2,,,,\n")
    records, notes = convert(tmp_path, open_file(file), WANTED)
    assert records == [
        {
            "id": 1,
            "name": "ada",
            "price": decimal.Decimal("2.50"),
            "day": datetime.date(2026, 1, 2),
            "note": None,
        },
        {"id": 2, "name": None, "price": None, "day": None, "note": None},
    ]
    assert notes == [
        "Null, because the recording lacks them: note.",
        "Left out, because the schema lacks them: other.",
        "Taken under another case: ID as id.",
        "Converted: price from double to decimal, id from long to int.",
    ] or notes[-1].startswith("Converted: ")


def test_typed_values_become_texts_where_the_schema_says_so(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps([{"name": 5, "id": "7", "note": {"a": [1]}}]))
    records, _ = convert(tmp_path, open_file(file), WANTED)
    assert records[0]["name"] == "5"
    assert records[0]["id"] == 7
    assert records[0]["note"] == '{"a": [1]}'


def test_values_that_do_not_fit_are_all_listed_with_their_records(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id,price\nx,1\n3,many\n,2\n")
    rows = open_file(file)
    converter = RowConverter(rows, WANTED, match_schemas(rows.schema, WANTED))
    with pytest.raises(BadRequestError) as error:
        converter.check(1000)
    assert "record 1, field 'id': expected a value of type int, not \"x\"" in error.value.message
    assert "record 2, field 'price'" in error.value.message
    assert "record 3, field 'id': expected a value of type int, which must not be null" in (
        error.value.message
    )


def test_a_recording_that_lacks_a_field_that_must_not_be_null_does_not_match():
    found = match_schemas(Schema.record("r", [("name", Schema.STRING)]), WANTED)
    assert found.problems == [
        "The recording has no field 'id', which must not be null; it has name."
    ]


def test_a_recording_of_something_else_does_not_match():
    found = match_schemas(Schema.record("r", [("x", Schema.STRING)]), WANTED)
    assert found.problems == [
        "The recording has none of the fields id, name, price, day, note; it has x."
    ]


NAMES = st.lists(st.sampled_from(["a", "A", "b", "B", "c", "id", "ID"]), unique=True)


@given(NAMES, NAMES)
def test_no_field_of_the_recording_is_used_twice_and_none_is_lost_silently(recorded, wanted):
    given_, target = (
        Schema.record("r", [(name, Schema.STRING.as_nullable) for name in names])
        for names in (recorded, wanted)
    )
    found = match_schemas(given_, target)
    assert len(set(found.names.values())) == len(found.names)
    assert all(found.names[name] == name for name in recorded if name in wanted)
    told = " ".join(found.notes + found.problems)
    assert all(name in told for name in recorded if name not in found.names)
    assert all(name in told for name in wanted if name not in found.names.values())


@given(st.lists(st.fixed_dictionaries({"t": st.text(), "n": st.integers(-(2**31), 2**31 - 1)})))
def test_json_rows_of_the_right_types_come_through_unchanged(rows):
    schema = Schema.record("r", [("t", Schema.STRING), ("n", Schema.INT)])
    recorded = RecordedRows(lambda: iter(rows), schema)
    converter = RowConverter(recorded, schema, match_schemas(schema, schema))
    assert [each for batch in converter.read_batches() for each in batch] == rows
