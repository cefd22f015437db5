"""The ValueMapper transform's rules; its rows are in the tests of key-value tables."""

from __future__ import annotations

import pytest
from transform_plugins.value_mapper import ValueMapper

from localcdap.api import StageConfigurer
from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape
from tests.plugins.transform.support import causes, configure, messages, only_failure, record

GIVEN = record(id=Schema.INT, lang=Schema.STRING.as_nullable, land=Schema.STRING)


def test_the_new_field_takes_the_place_of_the_old_one():
    stage = configure(
        ValueMapper, {"mapping": "lang:langs:language,land:lands:land", "defaults": "land:?"}, GIVEN
    )

    assert messages(stage) == []
    assert stage.output_schema == record(
        "rec.formatted",
        id=Schema.INT,
        language=Schema.STRING.as_nullable,
        land=Schema.STRING,
    )


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, "Required property 'mapping' has no value."),
        ({"mapping": "lang:langs"}, "Invalid mapping: lang:langs."),
        ({"mapping": "lang:t:x", "defaults": "lang"}, "Invalid default: lang."),
        (
            {"mapping": "lang:t:x", "defaults": "land:x"},
            "Defaults key 'land' must be present as a source in mapping.",
        ),
        ({"mapping": "x:t:y"}, "Map key 'x' must be present in the input schema."),
        ({"mapping": "id:t:y"}, "Invalid input field type 'int' for mapped field 'id'."),
        ({"mapping": "lang:t:land"}, "Several fields would have the name 'land'."),
    ],
)
def test_what_is_wrong_is_said(properties: dict[str, str], expected: str):
    failure = only_failure(configure(ValueMapper, properties, GIVEN))

    assert failure.message == expected
    assert causes(failure)[0]["stageConfig"] in ("mapping", "defaults")


def test_a_table_that_does_not_exist_is_said_before_the_run():
    stage = StageConfigurer("map", {"in": GIVEN})
    stage.find_table = lambda name: TableShape(GIVEN) if name == "langs" else None
    config = ValueMapper.Config.build(
        {"mapping": "lang:langs:language,land:lands:country"}, stage.failures
    )

    ValueMapper(config).configure_connected(stage)

    (failure,) = stage.failures
    assert failure.message == "There is no table 'lands' to look values up in."
    assert causes(failure)[0]["configElement"] == "land:lands:country"
