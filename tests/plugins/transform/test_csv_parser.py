"""CSVParser: formats, types, pass-through fields, errors."""

from __future__ import annotations

import math

import pytest
from transform_plugins.csv.parser import CSVParser

from localcdap.api import Schema, StageError
from tests.plugins.transform.support import causes, configure, messages, only_failure, record, run

INPUT = record(body=Schema.STRING.as_nullable, offset=Schema.LONG.as_nullable)
FRUIT = record("etlSchemaBody", name=Schema.STRING, price=Schema.FLOAT)


def parse(text, schema, *, offset=7, **properties):
    given = {"field": "body", "schema": str(schema)} | properties
    return run(CSVParser, given, INPUT, [{"body": text, "offset": offset}])


def test_blanks_around_numbers_are_tolerated():
    emitted = parse("Banana, 1.0", FRUIT)

    assert emitted.records == [{"name": "Banana", "price": 1.0}]


def test_every_line_becomes_a_record_and_an_empty_text_none():
    assert [r["name"] for r in parse("Apple,2\nMelon,3", FRUIT).records] == ["Apple", "Melon"]
    assert parse("", FRUIT).records == []


def test_types():
    every = record(
        s=Schema.STRING,
        b=Schema.BOOLEAN,
        i=Schema.INT,
        l=Schema.LONG,
        d=Schema.DOUBLE,
        x=Schema.BYTES,
        n=Schema.INT.as_nullable,
        e=Schema.STRING.as_nullable,
    )

    (made,) = parse(r"é,TRUE,-2147483648,+9223372036854775807, NaN ,a\x41é,,", every).records

    assert math.isnan(made.pop("d"))
    assert made == {
        "s": "é",
        "b": True,
        "i": -(2**31),
        "l": 2**63 - 1,
        "x": b"aA\xe9",
        "n": None,
        "e": "",
    }


@pytest.mark.parametrize("text", [" 7", "7 ", "1_0", "7.0", "2147483648"])
def test_a_text_that_is_no_int_in_java_fails(text):
    with pytest.raises(StageError, match="is not a value of type int"):
        parse(text, record(i=Schema.INT))


def test_null_text_gives_one_record_of_nulls_with_the_passed_fields():
    schema = record(a=Schema.STRING.as_nullable, offset=Schema.LONG.as_nullable)

    assert parse(None, schema).records == [{"offset": 7, "a": None}]


def test_passed_fields_take_no_value_from_the_text_even_when_null():
    schema = record(a=Schema.STRING, offset=Schema.LONG.as_nullable, b=Schema.STRING)

    assert parse("x,y", schema, offset=None).records == [{"offset": None, "a": "x", "b": "y"}]


def test_the_parsed_field_may_be_one_of_the_results():
    schema = record(body=Schema.INT, b=Schema.STRING)

    assert parse("5,x", schema).records == [{"body": 5, "b": "x"}]


def test_values_beyond_the_schema_are_dropped():
    assert parse("a,1,more", FRUIT).records == [{"name": "a", "price": 1.0}]


def test_malformed_text_is_an_error_record_with_code_31():
    emitted = parse('"a,1', FRUIT)

    assert emitted.records == []
    ((failed, code, message),) = emitted.errors
    assert (failed, code) == ({"body": '"a,1', "offset": 7}, 31)
    assert "not closed" in message


def test_mysql_null():
    schema = record(a=Schema.INT.as_nullable, b=Schema.STRING.as_nullable)

    assert parse("\\N\t\\N", schema, format="mysql").records == [{"a": None, "b": None}]


@pytest.mark.parametrize(
    ("text", "schema", "message"),
    [
        ("a,", FRUIT, "'price' is of non-nullable type 'float'"),
        ("a", FRUIT, "A CSV record has 1 values, but the schema needs 2"),
        ("a,b", FRUIT, "'b' in CSV field 'price' is not a value of type float"),
        ("2147483648", record(i=Schema.INT), "'2147483648' in CSV field 'i'"),
        ("1_0", record(i=Schema.LONG), "'1_0' in CSV field 'i'"),
    ],
)
def test_what_does_not_fit_fails_the_run_with_field_and_value(text, schema, message):
    with pytest.raises(StageError) as error:
        parse(text, schema)
    assert message in error.value.message


@pytest.mark.parametrize(
    ("properties", "message", "cause"),
    [
        ({"format": "CSV"}, "Format 'CSV' is unsupported.", ["format"]),
        (
            {"format": "Custom"},
            "Delimiter must be specified for format option 'Custom'.",
            ["delimiter", "format"],
        ),
        (
            {"format": "tdf", "delimiter": ";"},
            "Custom delimiter can only be used for format option 'Custom'.",
            ["delimiter", "format"],
        ),
        (
            {"format": "Custom", "delimiter": "||"},
            "Delimiter '||' is not a single character.",
            None,
        ),
        ({"field": "text"}, "Field 'text' must be present in the input schema.", ["field"]),
    ],
)
def test_wrong_properties(properties, message, cause):
    stage = configure(CSVParser, {"field": "body", "schema": str(FRUIT)} | properties, INPUT)

    failure = only_failure(stage)
    assert failure.message == message
    if cause is not None:
        assert [each["stageConfig"] for each in causes(failure)] == cause


def test_wrong_inputs_are_all_reported_at_once():
    given = record(body=Schema.INT, name=Schema.INT)
    schema = record(name=Schema.STRING, tags=Schema.array(Schema.STRING))

    stage = configure(CSVParser, {"field": "body", "schema": str(schema)}, given)

    assert messages(stage) == [
        "Output field 'tags' is of type 'array', which cannot be parsed from CSV.",
        "Field 'body' is of invalid type 'int'.",
        "Output field 'name' must have same schema as input schema.",
    ]


def test_output_schema_is_the_given_one_and_errors_have_the_input_schema():
    stage = configure(CSVParser, {"field": "body", "schema": str(FRUIT)}, INPUT)

    assert (stage.output_schema, stage.error_schema) == (FRUIT, INPUT)
    unknown = configure(CSVParser, {"field": "body", "schema": str(FRUIT)}, None)
    assert messages(unknown) == []
    assert unknown.output_schema == FRUIT


def test_custom_delimiter():
    emitted = parse("a;1", FRUIT, format="custom", delimiter=";")

    assert emitted.records == [{"name": "a", "price": 1.0}]
