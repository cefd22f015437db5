"""What Projection says of fields that its input lacks."""

from __future__ import annotations

import pytest

from localcdap.api import Schema
from localcdap.testing import artifact_ref
from localcdap.testing.references import validate_stage
from tests.conftest import REPOSITORY

GIVEN = Schema.record("r", [("country", Schema.STRING), ("age", Schema.INT)])


def configure(**properties: str):
    ref = artifact_ref(REPOSITORY / "plugins_dir" / "core-plugins", "transform", "Projection")
    return validate_stage("project", ref, properties, {"in": GIVEN})


def test_a_misspelt_field_to_drop_is_a_warning_with_the_nearest_name():
    configured = configure(drop="contry,age")

    assert configured.failures == []
    (warning,) = configured.result.warnings
    assert warning.message == (
        "Field 'contry' provided in 'Fields to drop' is not present in the input schema."
    )
    assert warning.corrective_action == "Did you mean 'country'?"


@pytest.mark.parametrize("properties", [{"keep": "contry"}, {"convert": "contry:int"}])
def test_other_misspelt_fields_are_failures(properties):
    (failure,) = configure(**properties).failures
    assert "Field 'contry' provided in" in failure.message
