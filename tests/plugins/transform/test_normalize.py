"""Normalize: records for fields, texts of values, failures."""

from __future__ import annotations

import pytest
from transform_plugins.normalize import Normalize

from localcdap.api import Schema
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
