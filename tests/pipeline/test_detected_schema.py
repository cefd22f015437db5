"""The schema that a source finds in its data."""

from __future__ import annotations

import pytest

from localcdap.pipeline.method_calls import detect_output_schema
from localcdap.testing.instance import TemporaryInstance


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("instance")
    (folder / "sales.csv").write_text("id,name\n1,ada\n2,\n")
    (folder / "names.csv").write_text("id,unit price\n1,2.5\n")
    with TemporaryInstance(folder) as instance:
        yield instance.cdap.studio


def detect(studio, **properties):
    plugin = {"name": "File", "type": "batchsource", "properties": properties}
    return detect_output_schema(
        studio, {"name": "In", "plugin": plugin}, arguments={"in": "sales.csv"}
    )


def fields_of(found):
    return [(field.name, field.schema.display_name) for field in found.schema]


def test_the_schema_is_found_whatever_the_stage_had_before(studio):
    old = '{"type":"record","name":"r","fields":[{"name":"old","type":"string"}]}'
    found = detect(studio, path="${in}", format="csv", skipHeader="true", schema=old)
    assert fields_of(found) == [("id", "int"), ("name", "string")]
    assert found.failure is None


def test_names_that_no_field_may_have_are_made_valid(studio):
    found = detect(studio, path="names.csv", format="csv", skipHeader="true")
    assert fields_of(found) == [("id", "int"), ("unit_price", "double")]
    assert found.failure is None


def test_without_data_the_failure_says_why(studio):
    found = detect(studio, path="missing.csv", format="csv")
    assert found.schema is None
    assert "does not exist" in found.failure.message
    assert detect(studio, format="csv").failure.field == "path"
