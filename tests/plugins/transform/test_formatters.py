"""CSVFormatter and JSONFormatter: texts of whole records."""

from __future__ import annotations

import csv
import datetime
import decimal

import pytest
from transform_plugins.csv.formatter import CSVFormatter
from transform_plugins.json import JSONFormatter

from localcdap.api import LogicalType, Schema
from localcdap.files.formats import FORMER_JSON, FORMER_TEXTS
from tests.plugins.transform.support import configure, messages, only_failure, record, run

OUT = record(body=Schema.STRING)
TEXTS = record(**dict.fromkeys("abc", Schema.STRING.as_nullable))


def line(properties, *values):
    given = dict(zip("abc", values, strict=True))
    (made,) = run(CSVFormatter, {"schema": str(OUT)} | properties, TEXTS, [given]).records
    return made["body"]


@pytest.mark.parametrize(
    ("properties", "values", "text"),
    [
        ({"format": "RFC4180"}, ("x", "y z", None), "x,y z,\r\n"),
        (
            {"format": "excel"},
            ("a,b", 'say "hi"', "two\nlines"),
            '"a,b","say ""hi""","two\nlines"\r\n',
        ),
        ({"format": "TDF"}, ("x", "a,b", "c\td"), 'x\ta,b\t"c\td"\r\n'),
        ({"format": "MYSQL"}, ("a\tb", None, "c\\d\ne"), "a\\\tb\t\\N\tc\\\\d\\ne\n"),
        ({"format": "DELIMITED", "delimiter": "VBAR"}, ("a|b", "c,d", "e"), '"a|b"|c,d|e\r\n'),
        ({"format": "DELIMITED"}, ("", "", ""), '"",,\r\n'),
        ({"format": "RFC4180"}, ("-1", "-1", " x "), '"-1",-1," x "\r\n'),
        ({"format": "RFC4180"}, ("a", "#b", "c "), 'a,"#b","c "\r\n'),
    ],
)
def test_a_record_is_a_line(properties, values, text):
    assert line(properties, *values) == text


AT = datetime.datetime(1969, 12, 31, 23, 59, 59, 5000, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("schema", "value", "text", "former"),
    [
        (Schema.INT, 7, "7", "7"),
        (Schema.DOUBLE, 1e10, "1.0E10", "1.0E10"),
        (Schema.BOOLEAN, True, "true", "true"),
        (Schema.DATE, datetime.date(2026, 1, 2), "20455", "2026-01-02"),
        (Schema.DATE, datetime.date(1, 1, 1), "-719162", "0001-01-01"),
        (Schema.TIME, datetime.time(0, 0, 1, 5), "1000005", "00:00:01.000005"),
        (Schema.of(LogicalType.TIME_MILLIS), datetime.time(1), "3600000", "01:00"),
        (Schema.TIMESTAMP, AT, "-995000", "1969-12-31T23:59:59.005Z[UTC]"),
        (Schema.of(LogicalType.TIMESTAMP_MILLIS), AT, "-995", "1969-12-31T23:59:59.005Z[UTC]"),
        (Schema.DATETIME, AT.replace(tzinfo=None, second=0), "1969-12-31T23:59:00.005", None),
        (Schema.DATETIME, datetime.datetime(2026, 1, 2), "2026-01-02T00:00:00", "2026-01-02T00:00"),
        # Java has no text for these.
        (Schema.decimal(10, 2), decimal.Decimal("12.50"), "12.50", "12.50"),
        (Schema.BYTES, "Zürich".encode(), "Zürich", "Zürich"),
        (record("r", d=Schema.DATE), {"d": datetime.date(2026, 1, 2)}, '{"d":"2026-01-02"}', None),
        (Schema.array(Schema.FLOAT.as_nullable), [0.1, None], "[0.1, null]", "[0.1,null]"),
        (Schema.array(Schema.DATE), [datetime.date(1970, 1, 2)], "[1]", '["1970-01-02"]'),
        (Schema.map(Schema.STRING, Schema.LONG), {"a": 1, "b": 2}, "{a=1, b=2}", '{"a":1,"b":2}'),
        (Schema.union([Schema.LONG, Schema.STRING]), "x", "x", "x"),
    ],
)
def test_values_are_the_texts_of_java_and_of_earlier_versions(schema, value, text, former):
    given, properties = record(v=schema.as_nullable), {"format": "TDF", "schema": str(OUT)}
    for more, expected in (({}, text), ({FORMER_TEXTS: "true"}, former or text)):
        (made,) = run(CSVFormatter, properties | more, given, [{"v": value}]).records
        assert next(csv.reader([made["body"]], delimiter="\t")) == [expected]


def test_unknown_formats_and_delimiters_are_failures():
    stage = configure(CSVFormatter, {"format": "XML", "delimiter": ";", "schema": str(OUT)}, TEXTS)
    assert messages(stage) == [
        "Format specified is not one of the allowed values.",
        "Unknown delimiter ';' specified.",
    ]


@pytest.mark.parametrize("cls", [CSVFormatter, JSONFormatter])
def test_the_output_has_one_field_for_the_text(cls):
    two = record(a=Schema.STRING, b=Schema.STRING)
    failure = only_failure(configure(cls, {"format": "EXCEL", "schema": str(two)}, TEXTS))
    assert failure.message == "Output schema must have exactly one field, it has 2."
    number = record(a=Schema.INT)
    failure = only_failure(configure(cls, {"format": "EXCEL", "schema": str(number)}, TEXTS))
    assert failure.message == "Invalid output field type 'int' for field 'a'."


def test_a_record_is_a_json_object():
    schema = record(
        n=Schema.LONG.as_nullable,
        raw=Schema.BYTES,
        many=Schema.array(Schema.DOUBLE),
        inner=record("inner", day=Schema.DATE),
        price=Schema.decimal(10, 2),
        at=Schema.TIMESTAMP,
    )
    given = {
        "n": None,
        "raw": b"\x01\xff",
        "many": [1.0, 2.5],
        "inner": {"day": datetime.date(2026, 1, 2)},
        "price": decimal.Decimal("12.50"),
        "at": datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC),
    }
    text = (
        '{"n":null,"raw":[1,-1],"many":[1.0,2.5],"inner":{"day":20455},'
        '"price":[4,-30],"at":1767322800000000}'
    )
    (made,) = run(JSONFormatter, {"schema": str(OUT)}, schema, [given]).records
    assert made == {"body": text}
    former = text.replace("20455", '"2026-01-02"').replace("[4,-30]", '"12.50"')
    former = former.replace("1767322800000000", '"2026-01-02T03:00:00Z"')
    (made,) = run(JSONFormatter, {"schema": str(OUT), FORMER_JSON: "true"}, schema, [given]).records
    assert made == {"body": former}
    as_bytes = record(body=Schema.BYTES)
    (made,) = run(JSONFormatter, {"schema": str(as_bytes)}, schema, [given]).records
    assert made == {"body": text.encode()}


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (3.4e38, "3.4E38"), (1e10, "1.0E10"), (1.5e-5, "1.5E-5")]
)
def test_floats_have_the_texts_of_their_own_type(value, text):
    floats = record(f=Schema.FLOAT, none=Schema.FLOAT.as_nullable, d=Schema.DOUBLE)
    given = {"f": value, "none": None, "d": 0.1}

    (made,) = run(CSVFormatter, {"format": "EXCEL", "schema": str(OUT)}, floats, [given]).records

    assert made["body"] == f"{text},,0.1\r\n"


def test_floats_in_json_have_the_digits_of_doubles_as_in_the_original():
    """``JsonEncoder`` hands a float to the writer of doubles."""
    schema = record(f=Schema.FLOAT, d=Schema.DOUBLE)
    (made,) = run(JSONFormatter, {"schema": str(OUT)}, schema, [{"f": 0.1, "d": 0.1}]).records

    assert made["body"] == '{"f":0.10000000149011612,"d":0.1}'
