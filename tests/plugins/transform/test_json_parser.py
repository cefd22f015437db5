"""JSONParser: members, paths, types, error records."""

from __future__ import annotations

import datetime
import decimal
import json

import pytest
from transform_plugins.json import JSONParser

from localcdap.api import Schema
from localcdap.java.json_path import JsonPathError, NothingFoundError, parse_path
from tests.plugins.transform.support import configure, messages, record, run

INPUT = record(body=Schema.STRING.as_nullable, id=Schema.INT)
DOCUMENT = {
    "store": {"book": [{"t": "A", "p": 1}, {"t": "B"}], "big name": 5},
    "t": "top",
    "none": None,
}


def parse(text, schema, **properties):
    given = {"field": "body", "schema": str(schema)} | properties
    return run(JSONParser, given, INPUT, [{"body": text, "id": 3}])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", DOCUMENT),
        ("$.t", "top"),
        ("t", "top"),
        ("$.store.book[0].t", "A"),
        ("$.store.book[-1].t", "B"),
        ("$['store']['big name']", 5),
        ('$.store["big name"]', 5),
        ("$.store.book[*].t", ["A", "B"]),
        ("$.store.book[*].p", [1]),
        ("$..t", ["top", "A", "B"]),
        ("$.store.book[0].*", ["A", 1]),
        ("$.nothing[*]", []),
        ("$.none", None),
    ],
)
def test_paths(path, value):
    assert parse_path(path).read(DOCUMENT) == value


@pytest.mark.parametrize("path", ["$.x", "$.t.x", "$.store.book[2]", "$.none.x", "$.t[0]"])
def test_a_definite_path_that_leads_nowhere(path):
    with pytest.raises(NothingFoundError):
        parse_path(path).read(DOCUMENT)


@pytest.mark.parametrize("path", ["", "$.a[", "$.a[?(1)]"])
def test_invalid_paths(path):
    with pytest.raises(JsonPathError):
        parse_path(path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.store.book[?(@.p == 1)].t", ["A"]),
        ("$.store.book[?(@.p)].t", ["A"]),
        ("$.store.book.length()", 2),
    ],
)
def test_filters_and_functions_are_those_of_recipes(path, value):
    schema = Schema.INT if value == 2 else Schema.array(Schema.STRING)
    text = json.dumps(DOCUMENT)

    assert parse(text, record(x=schema), mapping=f"x:{path}").records == [{"x": value}]


def test_members_by_name_with_conversions():
    schema = record(
        i=Schema.INT,
        l=Schema.LONG,
        d=Schema.DOUBLE,
        s=Schema.STRING,
        b=Schema.BOOLEAN,
        missing=Schema.STRING.as_nullable,
        when=Schema.DATE,
        at=Schema.TIMESTAMP,
        price=Schema.decimal(6, 2),
        tags=Schema.array(Schema.STRING),
        sizes=Schema.map(Schema.STRING, Schema.INT),
        inner=record("inner", x=Schema.INT.as_nullable),
        either=Schema.union([Schema.STRING, Schema.INT]),
    )
    text = """{"i": 3.0, "l": "12", "d": 4, "s": 5, "b": true, "when": "2020-02-29",
        "at": 1000000, "price": 12.34, "tags": ["a", 1], "sizes": {"s": 1}, "inner": {"y": 2},
        "either": 7, "extra": 1}"""

    emitted = parse(text, schema)

    assert emitted.errors == []
    assert emitted.records == [
        {
            "i": 3,
            "l": 12,
            "d": 4.0,
            "s": "5",
            "b": True,
            "missing": None,
            "when": datetime.date(2020, 2, 29),
            "at": datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
            "price": decimal.Decimal("12.34"),
            "tags": ["a", "1"],
            "sizes": {"s": 1},
            "inner": {"x": None},
            "either": 7,
        }
    ]


def test_mapping_takes_paths_and_copies_other_fields_from_the_input():
    schema = record(first=Schema.STRING, id=Schema.INT, all=Schema.array(Schema.INT))

    emitted = parse(
        '{"name": {"first": "Ann"}, "n": [{"v": 1}, {"v": 2}]}',
        schema,
        mapping="first:$.name.first, all:$.n[*].v,",
    )

    assert emitted.records == [{"first": "Ann", "id": 3, "all": [1, 2]}]


@pytest.mark.parametrize(
    ("text", "mapping", "message"),
    [
        ("{", None, "Field 'body' is not JSON"),
        ("[1]", None, "Cannot read field 'body': it is not an object."),
        (None, None, "Field 'body' is null."),
        ('{"n": 3.5}', None, "'n' must be of type int, but is 3.5"),
        ('{"n": 2147483648}', None, "'n' must be of type int"),
        ("{}", None, "'n' is null or missing"),
        ("{}", "n:$.a.b", "there is nothing at '$.a.b' for 'n'"),
        ('{"n": true}', None, "'n' must be of type int, but is true"),
    ],
)
def test_what_cannot_be_read_is_an_error_record(text, mapping, message):
    properties = {"mapping": mapping} if mapping else {}

    emitted = parse(text, record(n=Schema.INT), **properties)

    assert emitted.records == []
    ((failed, code, reported),) = emitted.errors
    assert (failed, code) == ({"body": text, "id": 3}, 31)
    assert message in reported


def test_a_nullable_field_without_a_value_at_its_path_is_null():
    emitted = parse("{}", record(n=Schema.INT.as_nullable), mapping="n:$.a.b")

    assert emitted.records == [{"n": None}]


def test_wrong_properties_are_all_reported_at_once():
    schema = record(a=Schema.STRING)

    stage = configure(
        JSONParser, {"field": "x", "schema": str(schema), "mapping": "a,b:,c:$.x[?(1)]"}, INPUT
    )

    pair = "Both field name and JSON expression map must be provided."
    reported = messages(stage)
    assert reported[:3] == ["Field 'x' must be present in the input schema.", pair, pair]
    assert "'$.x[?(1)]' is not a JSON path" in reported[3]
    assert stage.output_schema == schema
