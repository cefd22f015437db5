"""Normalize: records for fields, texts of values, failures."""

from __future__ import annotations

import datetime

import pytest
from transform_plugins.normalize import Normalize

from localcdap.api import Schema
from localcdap.files.formats import FORMER_TEXTS
from tests.plugins.transform.support import causes, configure, messages, only_failure, record, run

INPUT = record(
    CustomerId=Schema.STRING,
    ItemId=Schema.STRING.as_nullable,
    ItemCost=Schema.DOUBLE.as_nullable,
    PurchaseDate=Schema.STRING.as_nullable,
)
OUTPUT = record(
    ID=Schema.STRING,
    Date=Schema.STRING,
    AttributeType=Schema.STRING,
    AttributeValue=Schema.STRING,
)
WITH_INT = {f.name: f.schema for f in OUTPUT} | {"ID": Schema.INT}
GOOD = {
    "fieldMapping": "CustomerId:ID, PurchaseDate:Date",
    "fieldNormalizing": "ItemId:AttributeType:AttributeValue,ItemCost:AttributeType:AttributeValue",
    "outputSchema": str(OUTPUT),
}


def purchase(customer, item, cost, date):
    values = (customer, item, cost, date)
    return dict(zip(INPUT.field_names, values, strict=True))


def test_one_record_for_each_value():
    rows = [
        purchase("S23424242", "UR-AR-243123-ST", 245.67, "08/09/2015"),
        purchase("R45764646", "SKU-234294242942", None, None),
        purchase("X", None, None, "d"),
    ]

    made = run(Normalize, GOOD, INPUT, rows).records

    assert [(r["ID"], r["Date"], r["AttributeType"], r["AttributeValue"]) for r in made] == [
        ("S23424242", "08/09/2015", "ItemId", "UR-AR-243123-ST"),
        ("S23424242", "08/09/2015", "ItemCost", "245.67"),
        ("R45764646", "null", "ItemId", "SKU-234294242942"),
    ]


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (Schema.DATE, datetime.date(1969, 12, 31), "-1"),
        (Schema.FLOAT, 0.10000000149011612, "0.1"),
        (Schema.FLOAT, 3.3999999521443642e38, "3.4E38"),
        (Schema.FLOAT, 1e10, "1.0E10"),
        (Schema.FLOAT, -0.0, "-0.0"),
        (Schema.FLOAT, float("nan"), "NaN"),
        (Schema.FLOAT, float("-inf"), "-Infinity"),
        (Schema.DOUBLE, 0.10000000149011612, "0.10000000149011612"),
        (Schema.LONG, -(2**63), "-9223372036854775808"),
        (Schema.BOOLEAN, True, "true"),
    ],
)
def test_values_have_the_texts_of_their_types(schema, value, text):
    properties = GOOD | {
        "fieldMapping": "copy:ID,copy:Date",
        "fieldNormalizing": "id:AttributeType:AttributeValue",
    }

    given = record(id=schema, copy=schema)
    (made,) = run(Normalize, properties, given, [{"id": value, "copy": value}]).records
    assert made == {"ID": text, "Date": text, "AttributeType": "id", "AttributeValue": text}


def test_stages_of_earlier_versions_keep_texts_of_dates():
    properties = GOOD | {
        "fieldMapping": "copy:ID,copy:Date",
        "fieldNormalizing": "id:AttributeType:AttributeValue",
        FORMER_TEXTS: "true",
    }
    day = datetime.date(1969, 12, 31)

    given = record(id=Schema.DATE, copy=Schema.DATE.as_nullable)
    (made,) = run(Normalize, properties, given, [{"id": day, "copy": None}]).records
    assert (made["ID"], made["AttributeValue"]) == ("null", "1969-12-31")


@pytest.mark.parametrize(
    ("properties", "message", "cause"),
    [
        (
            {"fieldMapping": "CustomerId"},
            "Field name and mapping must be provided.",
            {"stageConfig": "fieldMapping", "configElement": "CustomerId"},
        ),
        (
            {"fieldMapping": "x:ID"},
            "Field 'x' must be present in input schema.",
            {"stageConfig": "fieldMapping", "configElement": "x:ID"},
        ),
        (
            {"fieldMapping": "CustomerId:x"},
            "Mapping 'x' must be present in output schema.",
            {"stageConfig": "fieldMapping", "configElement": "CustomerId:x"},
        ),
        (
            {"fieldNormalizing": "ItemId:AttributeType"},
            "Normalizing field, field name, and field value must all be provided.",
            {"stageConfig": "fieldNormalizing", "configElement": "ItemId:AttributeType"},
        ),
        (
            {"fieldNormalizing": "CustomerId:AttributeType:AttributeValue"},
            "Field 'CustomerId' cannot be used for both mapping and normalizing.",
            {
                "stageConfig": "fieldNormalizing",
                "configElement": "CustomerId:AttributeType:AttributeValue",
            },
        ),
        (
            {"fieldNormalizing": "ItemId:Date:AttributeValue,ItemCost:ID:AttributeValue"},
            "Invalid normalizing field type output column name 'ID'.",
            {"stageConfig": "fieldNormalizing", "configElement": "ItemCost:ID:AttributeValue"},
        ),
        (
            {"outputSchema": str(record(**WITH_INT))},
            "Invalid type 'int' for output schema field 'ID'.",
            {"outputField": "ID"},
        ),
    ],
)
def test_wrong_properties(properties, message, cause):
    failure = only_failure(configure(Normalize, GOOD | properties, INPUT))

    assert failure.message == message
    assert causes(failure) == [cause]


def test_a_good_stage():
    stage = configure(Normalize, GOOD, INPUT)

    assert messages(stage) == []
    assert stage.output_schema == OUTPUT
