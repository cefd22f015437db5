"""JSON as values of a schema: each type and kind of JSON, as ``JsonStructuredRecordDatumReader`` reads it."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pytest

from localcdap.api import LogicalType, Schema
from localcdap.plugin_lib.json_values import JsonValueError, make_json_reader

DATE = Schema.of(LogicalType.DATE)
TIME_MILLIS = Schema.of(LogicalType.TIME_MILLIS)
TIME_MICROS = Schema.of(LogicalType.TIME_MICROS)
MILLIS = Schema.of(LogicalType.TIMESTAMP_MILLIS)
MICROS = Schema.of(LogicalType.TIMESTAMP_MICROS)
DATETIME = Schema.of(LogicalType.DATETIME)
DECIMAL = Schema.decimal(6, 2)
ENUM = Schema.enum(["A", "B"])
POINT = Schema.record("point", [("x", Schema.INT), ("y", Schema.INT.as_nullable)])
MOMENT = datetime.datetime(2020, 1, 5, 10, 20, 30, tzinfo=datetime.UTC)
FAILS = "fails"
TEXT, FRACTION, WHOLE, ZERO, EXPONENT = '"x"', "3.5", "2", "3.0", "1e2"
LONG_NUMBER, TRUE, NULL, OBJECT, ARRAY = (
    "12345678901234567890",
    "true",
    "null",
    '{"x": 1}',
    "[1, -1]",
)
NUMBER_TEXT = '"2"'
KINDS = (TEXT, NUMBER_TEXT, WHOLE, ZERO, FRACTION, EXPONENT, LONG_NUMBER, TRUE, NULL, OBJECT, ARRAY)
N = FAILS


def read(schema: Schema, json: str):
    """Return the value of JSON in a field of the schema, or that it fails."""
    try:
        return make_json_reader(Schema.record("r", [("f", schema)]))(f'{{"f": {json}}}')["f"]
    except JsonValueError as error:
        return FAILS if "'f" in str(error) else str(error)


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        # TEXT, NUMBER_TEXT, WHOLE, ZERO, FRACTION, EXPONENT, LONG_NUMBER, TRUE, NULL, OBJECT, ARRAY
        (Schema.BOOLEAN, (N, N, N, N, N, N, N, True, N, N, N)),
        (Schema.INT, (N, 2, 2, 3, N, 100, N, N, N, N, N)),
        (Schema.LONG, (N, 2, 2, 3, N, 100, N, N, N, N, N)),
        (Schema.FLOAT, (N, 2.0, 2.0, 3.0, 3.5, 100.0, 1.2345679e19, N, N, N, N)),
        (Schema.DOUBLE, (N, 2.0, 2.0, 3.0, 3.5, 100.0, 12345678901234567890.0, N, N, N, N)),
        (Schema.STRING, ("x", "2", "2", "3.0", "3.5", "1e2", LONG_NUMBER, N, N, N, N)),
        (ENUM, ("x", "2", "2", "3.0", "3.5", "1e2", LONG_NUMBER, N, N, N, N)),
        (Schema.BYTES, (N, N, N, N, N, N, N, N, N, N, b"\x01\xff")),
        (Schema.array(Schema.INT), (N, N, N, N, N, N, N, N, N, N, [1, -1])),
        (POINT, (N, N, N, N, N, N, N, N, N, {"x": 1, "y": None}, N)),
        (Schema.map(Schema.STRING, Schema.INT), (N, N, N, N, N, N, N, N, N, {"x": 1}, N)),
        (Schema.NULL, (N, N, N, N, N, N, N, N, None, N, N)),
        # Nullable: by the kind of JSON, so that a text is a number no longer, nor a number a text.
        (Schema.BOOLEAN.as_nullable, (N, N, N, N, N, N, N, True, None, N, N)),
        (Schema.INT.as_nullable, (N, N, 2, 3, N, 100, N, N, None, N, N)),
        (Schema.LONG.as_nullable, (N, N, 2, 3, N, 100, N, N, None, N, N)),
        (
            Schema.DOUBLE.as_nullable,
            (N, N, 2.0, 3.0, 3.5, 100.0, 12345678901234567890.0, N, None, N, N),
        ),
        (Schema.STRING.as_nullable, ("x", "2", N, N, N, N, N, N, None, N, N)),
        (ENUM.as_nullable, ("x", "2", N, N, N, N, N, N, None, N, N)),
        (Schema.BYTES.as_nullable, (N, N, N, N, N, N, N, N, None, N, b"\x01\xff")),
        (Schema.array(Schema.INT).as_nullable, (N, N, N, N, N, N, N, N, None, N, [1, -1])),
        (POINT.as_nullable, (N, N, N, N, N, N, N, N, None, {"x": 1, "y": None}, N)),
        # A union: the first member whose kind it is.
        (
            Schema.union([Schema.STRING, Schema.INT, Schema.DOUBLE]),
            ("x", "2", 2, 3, N, 100, N, N, N, N, N),
        ),
        (
            Schema.union([Schema.DOUBLE, Schema.BOOLEAN, POINT, Schema.NULL]),
            (
                N,
                N,
                2.0,
                3.0,
                3.5,
                100.0,
                12345678901234567890.0,
                True,
                None,
                {"x": 1, "y": None},
                N,
            ),
        ),
    ],
    ids=str,
)
def test_each_type_and_kind_of_json(schema, values):
    assert dict(zip(KINDS, (read(schema, kind) for kind in KINDS), strict=True)) == dict(
        zip(KINDS, values, strict=True)
    )


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize(
    ("schema", "original", "text", "value"),
    [
        (DATE, "18266", '"2020-01-05"', datetime.date(2020, 1, 5)),
        (DATE, "-1", '"1969-12-31"', datetime.date(1969, 12, 31)),
        (TIME_MILLIS, "37230500", '"10:20:30.500"', datetime.time(10, 20, 30, 500000)),
        (TIME_MICROS, "37230000001", '"10:20:30.000001"', datetime.time(10, 20, 30, 1)),
        (MILLIS, "1578219630000", '"2020-01-05T10:20:30Z"', MOMENT),
        (MICROS, "1578219630000000", '"2020-01-05T10:20:30.000000Z"', MOMENT),
        (MICROS, "1578219630000000", '"2020-01-05T11:20:30+01:00"', MOMENT),
        (MICROS, "1578219630000000", '"2020-01-05T10:20:30Z[UTC]"', MOMENT),
        (MICROS, "1578219630000000", '"2020-01-05T10:20:30"', MOMENT),
        (
            DATETIME,
            '"2020-01-05T10:20:30"',
            '"2020-01-05T10:20:30.000"',
            MOMENT.replace(tzinfo=None),
        ),
        (DECIMAL, "[4, -30]", "12.50", Decimal("12.50")),
        (DECIMAL, "[4, -30]", '"12.5"', Decimal("12.50")),
        (DECIMAL, "[-1]", "-0.01", Decimal("-0.01")),
        (Schema.BYTES, "[1, -1, 255]", '"Af//"', b"\x01\xff\xff"),
    ],
    ids=str,
)
def test_both_forms_of_logical_types(schema, original, text, value, nullable):
    field = schema.as_nullable if nullable else schema
    assert (read(field, original), read(field, text)) == (value, value)


@pytest.mark.parametrize(
    ("schema", "json"),
    [
        (Schema.INT, "2147483648"),
        (Schema.INT, '""'),
        (Schema.INT, '"1_0"'),
        (Schema.LONG, "9223372036854777000"),
        (Schema.LONG, "1e30"),
        (Schema.LONG, "1e999999999"),
        (Schema.DOUBLE, "1e400"),
        (Schema.DOUBLE, "NaN"),
        (DATE, "3.5"),
        (DATE.as_nullable, '"2024"'),
        (DATE, '"2024-05"'),
        (DATE, '"2024-02-30"'),
        (DATE, '"45123-01-01"'),
        (DATE, "99999999"),
        (TIME_MILLIS, "86400000"),
        (TIME_MICROS, "-1"),
        (MICROS, '"2024-05"'),
        (MICROS, "true"),
        (MICROS, "1e30"),
        (DATETIME, "5"),
        (DATETIME, '"2020-01-05 10:20:30"'),
        (DATETIME, '"2020-01-05T10:20:30Z"'),
        (DECIMAL, "12.505"),
        (DECIMAL, "12345.00"),
        (DECIMAL, "[]"),
        (DECIMAL, '"1e2x"'),
        (Schema.BYTES, '"not base64"'),
        (Schema.array(Schema.INT), "[1, null]"),
        (Schema.map(Schema.INT, Schema.INT), '{"x": 1}'),
        (DATE.as_nullable, '"18266"'),
        (Schema.DOUBLE.as_nullable, '"3.5"'),
    ],
    ids=str,
)
def test_what_does_not_fit_fails(schema, json):
    assert read(schema, json) == FAILS


@pytest.mark.parametrize(
    ("schema", "json", "value"),
    [
        (Schema.STRING, "1.10", "1.10"),
        (Schema.STRING, "12345678901234567890.12", "12345678901234567890.12"),
        (Schema.STRING, "0.1234567890123456789", "0.1234567890123456789"),
        (Schema.STRING, '"a\tb\\u0000\\ud83d\\ude00"', "a\tb\0\U0001f600"),
        (Schema.LONG, "9007199254740993", 9007199254740993),
        (Schema.LONG, "9007199254740992.0", 9007199254740992),
        (Schema.INT, '" 2 "', 2),
        (Schema.INT, "-0", 0),
        (DATE, '"18266"', datetime.date(2020, 1, 5)),
        (Schema.DOUBLE, '"-Infinity"', -math.inf),
        (Schema.DOUBLE.as_nullable, '"Infinity"', math.inf),
        (Schema.BOOLEAN, "TRUE", True),
        (Schema.INT.as_nullable, "Null", None),
        (
            Schema.map(Schema.INT, Schema.INT.as_nullable),
            '{"1": 2, "3": null, "1": 4}',
            {1: 4, 3: None},
        ),
        (Schema.map(Schema.BOOLEAN, Schema.INT), '{"TRUE": 1, "x": 2}', {True: 1, False: 2}),
        (Schema.union([DATE, Schema.STRING]), '"2020-01-05"', "2020-01-05"),
        (Schema.union([DATE, Schema.BOOLEAN]), '"2020-01-05"', datetime.date(2020, 1, 5)),
        (Schema.union([Schema.INT, Schema.STRING]), '{"int": 5, "string": null}', 5),
        (Schema.array(MICROS), "[0]", [datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)]),
    ],
    ids=str,
)
def test_values_of_the_edges(schema, json, value):
    assert read(schema, json) == value


NEAREST = "a number that its type does not hold became the nearest one"
HALF = "half of a surrogate pair became a question mark"


@pytest.mark.parametrize(
    ("schema", "json", "value", "change"),
    [
        (Schema.LONG, "9007199254740993.0", 9007199254740992, NEAREST),
        (Schema.LONG, "9223372036854775808", 9223372036854775807, NEAREST),
        (Schema.INT, "1.00000000000000001", 1, NEAREST),
        (Schema.FLOAT, "-1e39", -math.inf, NEAREST),
        (Schema.STRING, '"\\ud83d\\ude00\\ud800"', "\U0001f600?", HALF),
        (Schema.map(Schema.STRING, Schema.INT), '{"\\udc00": 1}', {"?": 1}, HALF),
    ],
)
def test_what_the_original_alters_is_noted(schema, json, value, change):
    noted = []
    read_noting = make_json_reader(Schema.record("r", [("f", schema)]), noted.append)
    text = f'{{"f": {json}}}'

    assert (read_noting(text), noted) == ({"f": value}, [change])
    with pytest.raises(JsonValueError, match=change):
        make_json_reader(Schema.record("r", [("f", schema)]))(text)


def test_what_follows_the_first_object_is_noted():
    noted = []
    read_noting = make_json_reader(Schema.record("r", [("f", Schema.INT)]), noted.append)
    assert read_noting(' {"f": 1} {"f": 2} x') == {"f": 1}
    assert noted == ["what follows the first object was left out"]
    with pytest.raises(JsonValueError, match="what follows the first object"):
        make_json_reader(Schema.record("r", [("f", Schema.INT)]))('{"f": 1} {"f": 2}')


@pytest.mark.parametrize(
    ("json", "record"),
    [
        ('{"ID": 1, "Name": "x"}', {"id": 1, "name": "x", "inner": None}),
        ('{"id": 1, "ID": 2}', {"id": 2, "name": None, "inner": None}),
        ('{"id": 1, "id": 2, "more": [{}, NaN]}', {"id": 2, "name": None, "inner": None}),
        ('{"id": 1, "INNER": {"KEY": 5}}', {"id": 1, "name": None, "inner": {"Key": 5}}),
    ],
)
def test_names_of_members_have_no_case_and_the_last_counts(json, record):
    inner = Schema.record("inner", [("Key", Schema.INT)])
    fields = [
        ("id", Schema.INT),
        ("name", Schema.STRING.as_nullable),
        ("inner", inner.as_nullable),
    ]
    assert make_json_reader(Schema.record("r", fields))(json) == record


def test_names_that_differ_in_case_are_compared_exactly_first():
    schema = Schema.record("r", [("id", Schema.INT.as_nullable), ("ID", Schema.INT.as_nullable)])
    assert make_json_reader(schema)('{"id": 1, "ID": 2}') == {"id": 1, "ID": 2}
    assert make_json_reader(schema)('{"Id": 3}') == {"id": None, "ID": 3}


@pytest.mark.parametrize(
    ("json", "message"),
    [
        ("{}", "'a.b' is null or missing, but its schema does not allow null"),
        ('{"b": null}', "'a.b' is null or missing, but its schema does not allow null"),
        ('{"b": {"c": 3.5}}', "'a.b' must be of type int, but is {\"c\":3.5}"),
        ('{"b": 1, "l": [1, "x"]}', "'a.l[]' must be of type int, but is \"x\""),
        ('{"b": 1, "n": "2"}', "'a.n' (nullable int) must be a number or null, but is \"2\""),
        ("5", "'a' must be an object"),
    ],
)
def test_a_message_names_field_type_and_value(json, message):
    inner = Schema.record(
        "inner",
        [
            ("b", Schema.INT),
            ("l", Schema.array(Schema.INT).as_nullable),
            ("n", Schema.INT.as_nullable),
        ],
    )
    with pytest.raises(JsonValueError) as failure:
        make_json_reader(Schema.record("r", [("a", inner)]))(f'{{"a": {json}}}')
    assert message in str(failure.value)


@pytest.mark.parametrize("json", ["{", "", '{"f": 01}', "[" * 100_000])
def test_what_is_not_json(json):
    with pytest.raises(ValueError, match=r"line 1 column|nested"):
        make_json_reader(Schema.record("r", [("f", Schema.INT)]))(json)
