"""The transform CreateRecord, with the mapping of the original's example pipeline."""

from __future__ import annotations

import json
from typing import Any

import pytest
from core_plugins.create_record import CreateRecord

from localcdap.api import Schema
from localcdap.testing import StageTester

OWNER = Schema.record("owner", [("name", Schema.STRING), ("age", Schema.INT)])
FILMS = Schema.record(
    "films",
    [
        ("film_id", Schema.LONG),
        ("title", Schema.STRING.as_nullable),
        ("actor_id", Schema.INT),
        ("last_name", Schema.STRING),
        ("owner", OWNER),
        ("perhaps", OWNER.as_nullable),
    ],
)
EXAMPLE = {
    "id": ["film_id"],
    "title": ["title"],
    "actor": {"id": ["actor_id"], "lastName": ["last_name"]},
}
FILM = {
    "film_id": 1,
    "title": None,
    "actor_id": 7,
    "last_name": "Lovelace",
    "owner": {"name": "ada", "age": 36},
    "perhaps": None,
}


def stage(mapping: Any, include: str = "off") -> StageTester:
    text = mapping if isinstance(mapping, str) else json.dumps(mapping)
    given = {"fieldMapping": text, "includeNonMappedFields": include}
    return StageTester(CreateRecord, given, FILMS)


def test_the_example_of_the_original():
    made = stage(EXAMPLE)
    actor = Schema.record("actor", [("id", Schema.INT), ("lastName", Schema.STRING)])
    assert made.output_schema == Schema.record(
        "record", [("id", Schema.LONG), ("title", Schema.STRING.as_nullable), ("actor", actor)]
    )
    assert made.run([FILM]).records == [
        {"id": 1, "title": None, "actor": {"id": 7, "lastName": "Lovelace"}}
    ]
    assert {(e.source, e.field) for e in made.trace().edges} >= {
        ("actor_id", "actor"),
        ("last_name", "actor"),
    }


def test_all_fields_that_are_not_mapped_are_carried_over():
    made = stage(
        {"id": ["film_id"], "who": {"first": ["owner", "name"], "alone": ["perhaps", "age"]}}, "on"
    )
    assert made.problems == []
    assert made.output_schema is not None
    assert made.output_schema.field_names == [
        *("id", "who", "title", "actor_id", "last_name", "owner", "perhaps"),
    ]
    who = made.output_schema.field("who").schema
    assert who.field("alone").schema == Schema.INT.as_nullable
    (record,) = made.run([FILM]).records
    assert record["who"] == {"first": "ada", "alone": None}
    assert record["owner"] == {"age": 36}
    assert record["title"] is None


@pytest.mark.parametrize("mapping", ["", "{", "{}", "[]", '{"a": "b"}', '{"a": []}', '{"a": {}}'])
def test_mappings_that_are_none(mapping: str):
    message = (
        "Invalid field mapping provided."
        if mapping
        else "Required property 'fieldMapping' has no value."
    )
    assert stage(mapping).problems == [f"fieldMapping: {message}"]


def test_fields_that_are_not_there():
    assert stage({"a": ["x"], "b": {"c": ["owner", "y"], "d": ["title", "z"]}}).problems == [
        'fieldMapping: Field with name ["x"] not found in input schema.',
        'fieldMapping: Field with name ["owner","y"] not found in input schema.',
        'fieldMapping: Field with name ["title","z"] not found in input schema.',
    ]


def test_macros_leave_the_schema_open():
    assert stage("${mapping}").problems == []
    assert stage("${mapping}").output_schema is None
