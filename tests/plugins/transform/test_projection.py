"""Projection: what configuring makes of its properties."""

from __future__ import annotations

import pytest
from core_plugins.projection import Projection, can_convert

from localcdap.api import Schema, StageConfigurer, Type
from tests.plugins.transform.support import causes, configure, messages, only_failure, record

INPUT = record(
    "in",
    id=Schema.STRING,
    ts=Schema.LONG,
    headers=Schema.map(Schema.STRING, Schema.STRING),
    cost=Schema.FLOAT.as_nullable,
)


def test_fields_are_kept_then_converted_then_renamed():
    stage = configure(
        Projection, {"keep": "id, cost", "convert": "cost:DOUBLE", "rename": "cost:price"}, INPUT
    )

    assert messages(stage) == []
    assert stage.output_schema == record(
        "in.projected", id=Schema.STRING, price=Schema.DOUBLE.as_nullable
    )


def test_a_dropped_name_may_be_used_again():
    schema = record(A=Schema.INT, B=Schema.INT)

    stage = configure(Projection, {"drop": "B", "rename": "A:B"}, schema)

    assert stage.output_schema == record("rec.projected", B=Schema.INT)


def test_empty_properties_change_nothing():
    stage = configure(Projection, {"drop": "", "convert": "", "rename": "", "keep": ""}, INPUT)

    assert stage.output_schema == INPUT.renamed("in.projected")


@pytest.mark.parametrize(
    ("properties", "message", "cause"),
    [
        (
            {"drop": "id", "keep": "ts"},
            "Cannot specify both drop and keep.",
            [{"stageConfig": "drop"}, {"stageConfig": "keep"}],
        ),
        (
            {"drop": "id,ts,headers,cost,x"},
            "'Fields to drop' cannot contain all the fields of the input schema.",
            [{"stageConfig": "drop"}],
        ),
        (
            {"keep": "id,x"},
            "Field 'x' provided in 'Fields to keep' must be present in the input schema.",
            [{"stageConfig": "keep", "configElement": "x"}],
        ),
        (
            {"rename": "x:y"},
            "Field 'x' provided in 'Fields to rename' must be present in the input schema.",
            [{"stageConfig": "rename", "configElement": "x:y"}],
        ),
        (
            {"convert": "x:int"},
            "Field 'x' provided in 'Convert' is not present in the input schema.",
            [{"stageConfig": "convert", "configElement": "x:int"}],
        ),
        (
            {"rename": "id:a,id:b"},
            "Cannot rename 'id' to both 'a' and 'b'.",
            [
                {"stageConfig": "rename", "configElement": "id:a"},
                {"stageConfig": "rename", "configElement": "id:b"},
            ],
        ),
        (
            {"rename": "id:a,ts:a"},
            "Cannot rename more than one field to 'a'.",
            [{"stageConfig": "rename"}],
        ),
        (
            {"convert": "ts:map"},
            "Cannot convert field 'ts' to a 'map'.",
            [{"stageConfig": "convert", "configElement": "ts:map"}],
        ),
        (
            {"convert": "ts:string,ts:bytes"},
            "Cannot convert 'ts' to multiple types.",
            [{"stageConfig": "convert"}],
        ),
        (
            {"convert": "ts:int"},
            "Cannot convert field 'ts' from type 'long' to type 'int'.",
            [{"stageConfig": "convert", "configElement": "ts:int"}],
        ),
        (
            {"convert": "headers:string"},
            "Cannot convert field 'headers' from type 'map' to type 'string'.",
            [{"stageConfig": "convert", "configElement": "headers:string"}],
        ),
        (
            {"rename": "id"},
            "'id' in 'rename' is not a pair of two names with a colon between them.",
            [{"stageConfig": "rename", "configElement": "id"}],
        ),
    ],
)
def test_wrong_properties(properties, message, cause):
    failure = only_failure(configure(Projection, properties, INPUT))

    assert failure.message == message
    assert causes(failure) == cause


@pytest.mark.parametrize(
    ("source", "targets"),
    [
        (Schema.BOOLEAN, {Type.BOOLEAN, Type.STRING, Type.BYTES}),
        (Schema.INT, set(Type.__members__.values()) & {Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE}
         | {Type.STRING, Type.BYTES}),
        (Schema.LONG, {Type.LONG, Type.FLOAT, Type.DOUBLE, Type.STRING, Type.BYTES}),
        (Schema.FLOAT, {Type.FLOAT, Type.DOUBLE, Type.INT, Type.LONG, Type.STRING, Type.BYTES}),
        (Schema.DOUBLE, {Type.DOUBLE, Type.INT, Type.LONG, Type.STRING, Type.BYTES}),
        (Schema.DATE, {Type.STRING}),
        (Schema.decimal(5, 1).as_nullable, {Type.STRING}),
        (Schema.array(Schema.INT), set()),
        (Schema.union([Schema.INT, Schema.STRING]), set()),
        (Schema.NULL, set()),
    ],
)  # fmt: skip
def test_which_types_become_which(source, targets):
    simple = [t for t in Type if t.is_simple and t is not Type.NULL]

    assert {t for t in simple if can_convert(source, t)} == targets


def test_the_last_of_two_fields_of_one_name_counts_at_the_place_of_the_first():
    stage = configure(Projection, {"rename": "id:ts", "convert": "id:string"}, INPUT)

    assert list(stage.failures) == []
    assert [each.message for each in stage.warnings] == [
        "Output field 'ts' occurs twice: it has the values of 'ts'."
    ]
    assert [each.name for each in stage.output_schema] == ["ts", "headers", "cost"]
    assert stage.output_schema.field("ts").schema == INPUT.field("ts").schema


def test_only_the_needed_input_fields_are_read():
    plugin = Projection(Projection.Config({"drop": ["headers"], "keep": []}))

    assert plugin.input_fields(StageConfigurer("s", {"in": INPUT})) == ["id", "ts", "cost"]


def test_unknown_input():
    stage = configure(Projection, {"drop": "a", "rename": "b:c"}, None)

    assert messages(stage) == []
    assert stage.output_schema is None
