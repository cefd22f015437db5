"""DateTransform: dates of texts and Unix times, and failures."""

from __future__ import annotations

import json

import pytest
from date_transform.date_transform import DateTransform

from localcdap.api import Schema
from tests.plugins.transform.support import configure, messages, only_failure, record, run

INPUT = record("in", id=Schema.INT, day=Schema.STRING.as_nullable, at=Schema.LONG.as_nullable)
OUTPUT = record("out", id=Schema.INT, date=Schema.STRING.as_nullable)
PROPERTIES = {
    "sourceFields": "day",
    "sourceFormat": "MM/dd/yyyy",
    "targetFields": "date",
    "targetFormat": "yyyy-MM-dd",
    "schema": json.dumps(OUTPUT.to_json()),
}


def test_texts():
    given = [{"id": 1, "day": "05/23/2026"}, {"id": 2, "day": ""}, {"id": 3, "day": None}]
    assert run(DateTransform, PROPERTIES, INPUT, given).records == [
        {"id": 1, "date": "2026-05-23"},
        {"id": 2, "date": None},
        {"id": 3, "date": None},
    ]


@pytest.mark.parametrize(("unit", "time"), [("Seconds", 86_400), ("Milliseconds", 86_400_000)])
def test_unix_times(unit: str, time: int):
    properties = PROPERTIES | {"sourceFields": "at", "secondsOrMilliseconds": unit}
    (made,) = run(DateTransform, properties, INPUT, [{"id": 1, "at": time}]).records
    assert made == {"id": 1, "date": "1970-01-02"}


def test_a_date_becomes_a_number():
    schema = json.dumps(record(year=Schema.INT, day=Schema.STRING.as_nullable).to_json())
    properties = PROPERTIES | {"targetFields": "year", "targetFormat": "yyyy", "schema": schema}
    given = [{"id": 1, "day": "05/23/2026"}]
    assert run(DateTransform, properties, INPUT, given).records == [
        {"year": 2026, "day": "05/23/2026"}
    ]


def test_a_missing_date_that_is_needed_is_an_error_record():
    schema = json.dumps(record(date=Schema.STRING).to_json())
    emitted = run(DateTransform, PROPERTIES | {"schema": schema}, INPUT, [{"id": 1, "day": None}])
    ((_, code, message),) = emitted.errors
    assert (emitted.records, code) == ([], 31)
    assert message == "Field 'day' has no date for 'date'."


def test_another_text_fails_the_stage():
    with pytest.raises(Exception, match="Cannot parse value May 23 for format yyyy-MM-dd"):
        run(DateTransform, PROPERTIES, INPUT, [{"id": 1, "day": "May 23"}])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sourceFields": "when"}, ["Source field 'when' is not present in input schema."]),
        ({"sourceFields": "id"}, ["Source Field 'id' is unexpected type 'int'."]),
        (
            {"targetFormat": "yyyy-bb"},
            ["Field 'targetFormat' contains invalid date pattern 'yyyy-bb'."],
        ),
        ({"sourceFormat": ""}, ["Source field 'day' is a string, and there is no source format."]),
        (
            {"targetFields": "date,other"},
            [
                "Target field 'other' is not present in output schema.",
                "Target and source fields must contain the same number of fields.",
            ],
        ),
    ],
)
def test_failures(changes: dict[str, str], expected: list[str]):
    assert messages(configure(DateTransform, PROPERTIES | changes, INPUT)) == expected


def test_an_output_field_that_no_record_has_a_value_for():
    schema = json.dumps(record(date=Schema.STRING.as_nullable, city=Schema.STRING).to_json())
    failure = only_failure(configure(DateTransform, PROPERTIES | {"schema": schema}, INPUT))
    assert failure.message.startswith("Field 'city' of the output schema is neither")
