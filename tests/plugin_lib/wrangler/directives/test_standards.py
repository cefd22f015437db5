"""validate-standard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.spark_frame import FAILURE, SENT
from tests.plugin_lib.wrangler.directives.recipes import (
    build_valid_directives,
    list_problems,
    run_failing,
)

RECIPE = "validate-standard :person hl7-fhir-r4"
SCHEMA = {
    "$schema": "http://json-schema.org/draft-06/schema#",
    "oneOf": [{"$ref": "#/definitions/Patient"}, {"$ref": "#/definitions/Organization"}],
    "definitions": {
        "boolean": {"type": "boolean"},
        "Patient": {
            "properties": {
                "resourceType": {"const": "Patient"},
                "active": {"$ref": "#/definitions/boolean"},
                "name": {"type": "array", "items": {"properties": {"family": {"type": "string"}}}},
            },
            "additionalProperties": False,
            "required": ["resourceType"],
        },
        "Organization": {
            "properties": {"resourceType": {"const": "Organization"}},
            "required": ["resourceType"],
        },
    },
}


def checked(folder: Path, person: Any) -> list[Any] | RowFailure:
    executor = RecipeExecutor(build_valid_directives(RECIPE), {ARGUMENT: str(folder)})
    executor.start()
    return executor.run({"person": person})


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    (tmp_path / "hl7-fhir-r4.json").write_text(json.dumps(SCHEMA))
    return tmp_path


@pytest.mark.parametrize(
    "person",
    [
        {"resourceType": "Patient", "active": True, "name": [{"family": "Moe"}]},
        {"resourceType": "Organization"},
        None,
    ],
)
def test_what_meets_the_standard_stays(schemas, person):
    assert checked(schemas, person) == [{"person": person}]


@pytest.mark.parametrize(
    ("person", "issues"),
    [
        ({"resourceType": "Patient", "active": "yes"}, ['at #/active: "yes" is not of type']),
        (
            {"resourceType": "Patient", "name": [{}, {"family": 1}], "shoes": 2},
            ["at #/name/1/family: 1 is not of type", "at #: Additional properties"],
        ),
        ({"resourceType": "Shoe"}, ["at #: ", "oneOf"]),
        ({"active": True}, ["at #: "]),
        ({"resourceType": "Patient", "active": b"x"}, ["Unsupported type"]),
    ],
)
def test_what_does_not_is_sent_to_the_error_port_with_the_places(schemas, person, issues):
    made = checked(schemas, person)

    assert isinstance(made, RowFailure)
    assert (made.kind, made.code) == (SENT, 1)
    assert all(issue in made.message for issue in issues)


def test_a_text_fails(schemas):
    made = checked(schemas, "{}")

    assert isinstance(made, RowFailure)
    assert made.kind == FAILURE
    assert "is a str; an object is needed" in made.message


@pytest.mark.parametrize(
    "content", ["{", "3", "[" * 100_000, '{"type": "shoe"}', '{"$ref": "file:///etc/hosts"}']
)
def test_a_file_that_is_no_schema_is_reported(tmp_path, content):
    (tmp_path / "hl7-fhir-r4.json").write_text(content)

    made = checked(tmp_path, {})

    assert isinstance(made, RowFailure)
    assert "the schema of the standard is no" in made.message


def test_the_schema_is_a_file_of_the_user():
    assert ARGUMENT in run_failing(RECIPE, {"person": {}}).message
    assert "no standard 'x12'" in list_problems("validate-standard :a x12")[0]


def test_what_is_known_of_the_column_is_reported_before():
    (directive,) = build_valid_directives(RECIPE)
    text, record = Columns([("person", Schema.STRING)]), Columns([("person", None)])

    directive.propagate(text)
    directive.propagate(record)

    assert "not an object" in text.problems[0][0]
    assert "hl7-fhir-r4.json" in record.warnings[0][0]
