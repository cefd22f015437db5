"""Distinct, Deduplicate and ErrorCollector: what configuring makes of their properties."""

from __future__ import annotations

import pytest
from core_plugins.aggregators.deduplicate import Deduplicate, Distinct
from core_plugins.error_collector import ErrorCollector

from localcdap.api import Schema
from tests.plugins.transform.support import causes, configure, messages, only_failure, record

INPUT = record("in", name=Schema.STRING, age=Schema.INT.as_nullable)
MAP = Schema.map(Schema.STRING, Schema.INT)
WITH_MAP = record(kv=Schema.array(record("inner", kv=MAP.as_nullable)), a=Schema.INT)


def test_distinct_keeps_the_listed_fields():
    stage = configure(Distinct, {"fields": "age, name"}, INPUT)

    assert stage.output_schema == record(
        "in.distinct", age=Schema.INT.as_nullable, name=Schema.STRING
    )
    assert configure(Distinct, {}, INPUT).output_schema == INPUT


def test_distinct_with_wrong_fields():
    failure = only_failure(configure(Distinct, {"fields": "name,x"}, INPUT))

    assert failure.full_message.endswith(
        "Field x does not exist in input schema. Remove this field."
    )
    assert causes(failure) == [{"stageConfig": "fields", "configElement": "x"}]
    assert messages(configure(Distinct, {}, WITH_MAP)) == [
        "Field 'kv' is or contains a map, and maps cannot be compared."
    ]


@pytest.mark.parametrize("operation", ["age:Max", "age:min numeric", " age : ANY ", "name:first"])
def test_deduplicate_operations(operation):
    stage = configure(Deduplicate, {"uniqueFields": "name", "filterOperation": operation}, INPUT)

    assert messages(stage) == []
    assert stage.output_schema == INPUT.renamed("in.dedup")


@pytest.mark.parametrize(
    ("properties", "message", "cause"),
    [
        (
            {"filterOperation": "age"},
            "Invalid filter operation. It should be of format 'fieldName:functionName'. But got : age",
            "filterOperation",
        ),
        (
            {"filterOperation": "age:avg x"},
            "Invalid function 'avg'. Must be one of FIRST,LAST,MIN,MAX,ANY.",
            "filterOperation",
        ),
        (
            {"filterOperation": "name:max"},
            "Field 'name' is of unsupported non-numeric type 'string'.",
            "filterOperation",
        ),
        (
            {"filterOperation": "x:any"},
            "Invalid filter ANY(x): Field 'x' does not exist in input schema",
            "filterOperation",
        ),
        ({"uniqueFields": "x"}, "Field 'x' does not exist in the input schema", "uniqueFields"),
    ],
)
def test_deduplicate_with_wrong_properties(properties, message, cause):
    failure = only_failure(configure(Deduplicate, properties, INPUT))

    assert failure.message == message
    assert causes(failure)[0]["stageConfig"] == cause


def test_error_collector_adds_the_wanted_fields_in_a_fixed_order():
    full = configure(
        ErrorCollector, {"stageField": "node", "codeField": "code", "messageField": "msg"}, INPUT
    )
    part = configure(ErrorCollector, {"codeField": "code"}, INPUT)

    assert full.output_schema is not None
    assert full.output_schema.field_names == ["name", "age", "msg", "code", "node"]
    assert part.output_schema == record(
        "errorin", name=Schema.STRING, age=Schema.INT.as_nullable, code=Schema.INT
    )


def test_error_collector_clashes():
    failure = only_failure(configure(ErrorCollector, {"codeField": "age"}, INPUT))

    assert failure.message == "Input schema already contains field 'age'."
    assert failure.corrective_action == "Set code field to a different value."
    assert causes(failure) == [
        {"stageConfig": "codeField"},
        {"inputField": "age", "inputStage": "in0"},
    ]
