"""Records as JSON: every value comes back, and what does not fit is reported with its place."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records, encode_json_record, format_json_value
from localcdap.api.schema import Schema, Type
from tests.api.strategies import RECORD_SCHEMAS, values

ALL = Schema.record(
    "all",
    [
        ("raw", Schema.BYTES),
        ("day", Schema.DATE),
        ("at", Schema.TIMESTAMP),
        ("amount", Schema.decimal(10, 2)),
        ("ratio", Schema.DOUBLE),
        ("names", Schema.array(Schema.STRING)),
        ("by", Schema.map(Schema.INT, Schema.STRING).as_nullable),
        ("either", Schema.union([Schema.INT, Schema.DOUBLE, Schema.STRING])),
    ],
)
RECORD = {
    "raw": b"\x00\xff",
    "day": datetime.date(2026, 1, 2),
    "at": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
    "amount": decimal.Decimal("12.50"),
    "ratio": math.inf,
    "names": ["a"],
    "by": {1: "x"},
    "either": 2.0,
}
WRITTEN = {
    "raw": "AP8=",
    "day": "2026-01-02",
    "at": "2026-01-02T03:04:05Z",
    "amount": "12.50",
    "ratio": "Infinity",
    "names": ["a"],
    "by": {"1": "x"},
    "either": 2.0,
}


@pytest.mark.parametrize(
    ("value", "text"),
    [("0E-9", "0"), ("0.00", "0.00"), ("1E-8", "0.00000001"), ("-1.5E+3", "-1500"), ("7", "7")],
)
def test_a_decimal_is_written_without_an_exponent(value, text):
    assert encode_json_record(decimal.Decimal(value)) == text


def has_union(schema: Schema) -> bool:
    parts = [schema.items, schema.keys, schema.values]
    inner = schema.non_nullable
    parts += [inner.items, inner.keys, inner.values]
    if inner.type is Type.UNION:
        return True
    if inner.type is Type.RECORD:
        return any(has_union(field.schema) for field in inner)
    return any(has_union(part) for part in parts if part is not None)


def shown(value) -> str:
    """A text that distinguishes values and their classes, but for the order of members; NaN is like NaN."""
    if isinstance(value, dict):
        return str(sorted((shown(k), shown(v)) for k, v in value.items()))
    if isinstance(value, list):
        return str([shown(each) for each in value])
    if isinstance(value, datetime.time | datetime.datetime):
        value = value.replace(fold=0)  # of no meaning in UTC
    if isinstance(value, decimal.Decimal) and not value:
        value = decimal.Decimal(0)  # zeros of any scale are written as 0
    return repr(value)


CERTAIN = RECORD_SCHEMAS.filter(lambda schema: not has_union(schema))


def test_the_form_that_is_documented():
    assert encode_json_record(RECORD) == WRITTEN
    assert decode_json_records(ALL, [WRITTEN]) == [RECORD]


@settings(max_examples=25, deadline=None)
@given(CERTAIN.flatmap(lambda s: st.tuples(st.just(s), values(s))))
def test_every_record_comes_back(drawn):
    schema, record = drawn

    text = json.dumps(encode_json_record(record))

    (found,) = decode_json_records(schema, [json.loads(text)])
    assert shown(found) == shown(record)


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-01-02T03:04:05", (3, 4)),
        ("2026-01-02T03:04:05+02:00", (1, 4)),
        ("2026-01-02T03:04:05Z[UTC]", (3, 4)),
    ],
)
def test_timestamps_of_any_zone_are_read_as_utc(written, moment):
    schema = Schema.record("r", [("at", Schema.TIMESTAMP)])

    (record,) = decode_json_records(schema, [{"at": written}])

    assert (record["at"].hour, record["at"].minute) == moment
    assert record["at"].tzinfo is datetime.UTC


def test_all_that_does_not_fit_is_reported_with_its_place():
    schema = Schema.record(
        "r",
        [
            ("id", Schema.INT),
            ("at", Schema.TIMESTAMP.as_nullable),
            ("tags", Schema.array(Schema.record("tag", [("n", Schema.LONG)]))),
        ],
    )
    given_records = [
        {"id": 1, "tags": []},
        {"id": 3_000_000_000, "at": "yesterday", "tags": [{"n": 1}, {"n": "x"}]},
        {"tags": [], "ID": 1},
        7,
    ]

    with pytest.raises(BadRequestError) as caught:
        decode_json_records(schema, given_records, "people")

    assert caught.value.message.splitlines() == [
        "The records of 'people' do not fit their schema:",
        "record 2, field 'id': expected a value of type int, not 3000000000.",
        "record 2, field 'at': expected a timestamp such as '2026-01-02T03:04:05Z', not \"yesterday\".",
        "record 2, field 'tags[1].n': expected a value of type long, not \"x\".",
        "record 3: there is no field 'ID'; fields: id, at, tags.",
        "record 3, field 'id': expected a value of type int, which must not be null, not null.",
        "record 4: expected an object, not 7.",
    ]


@settings(max_examples=25, deadline=None)
@given(
    RECORD_SCHEMAS,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda c: st.lists(c, max_size=3) | st.dictionaries(st.text(), c, max_size=3),
        max_leaves=6,
    ),
)
def test_any_json_is_read_or_refused(schema, garbage):
    with contextlib.suppress(BadRequestError):
        (found,) = decode_json_records(schema, [garbage])
        assert list(found) == schema.field_names


@pytest.mark.parametrize(
    ("value", "most_letters", "text"),
    [
        (None, 60, "null"),
        ("é", 60, '"é"'),
        ({"a": [1, True]}, 60, '{"a": [1, true]}'),
        (datetime.date(2026, 1, 2), 60, '"2026-01-02"'),
        ("x" * 58, 60, f'"{"x" * 58}"'),
        ("x" * 59, 60, f'"{"x" * 58}…'),
        ("x" * 79, 80, f'"{"x" * 78}…'),
    ],
)
def test_json_in_messages_is_one_line_and_cut(value, most_letters, text):
    assert format_json_value(value, most_letters) == text
    assert len(text) <= most_letters
