from __future__ import annotations

import json

import msgspec
import pytest

from localcdap.api.failures import (
    ARTIFACT_NOT_FOUND,
    ArtifactId,
    Cause,
    FailureCollector,
    ValidationFailure,
)


def as_json(failure: ValidationFailure) -> dict:
    return json.loads(msgspec.json.encode(failure))


@pytest.fixture
def failures() -> FailureCollector:
    return FailureCollector("hash", ["users", "orders"])


def test_a_failure_of_a_stage(failures):
    failure = failures.add("It is wrong.", "Correct it.").failure

    assert as_json(failure) == {
        "type": "Invalid Stage",
        "message": "It is wrong.",
        "correctiveAction": "Correct it.",
        "causes": [],
        "stage": "hash",
    }


def test_an_absent_corrective_action_is_null(failures):
    assert as_json(failures.add("Wrong.").failure)["correctiveAction"] is None


def test_a_failure_of_a_property(failures):
    failure = failures.add("Wrong.").with_config_property("fields").failure

    assert as_json(failure) == {
        "type": "Invalid Field",
        "message": "Wrong.",
        "correctiveAction": None,
        "causes": [{"attributes": {"stageConfig": "fields"}}],
        "stage": "hash",
        "field": "fields",
    }


def test_an_element_of_a_property(failures):
    one = failures.add("Wrong.").with_config_property("fields", element="x").failure
    other = failures.add("Wrong.").with_config_element("fields", "x").failure

    assert one == other
    assert one.causes == [Cause({"stageConfig": "fields", "configElement": "x"})]


def test_an_input_field_is_reported_in_every_input_stage(failures):
    failure = failures.add("Wrong.").with_input_field("id").failure

    assert [c.attributes for c in failure.causes] == [
        {"inputField": "id", "inputStage": "users"},
        {"inputField": "id", "inputStage": "orders"},
    ]
    assert failure.type == "Invalid Stage"
    assert failure.field is None


def test_an_input_field_of_one_stage_and_of_none(failures):
    one = failures.add("Wrong.").with_input_field("id", "orders").failure
    none = FailureCollector("hash").add("Wrong.").with_input_field("id").failure

    assert one.causes == [Cause({"inputField": "id", "inputStage": "orders"})]
    assert none.causes == [Cause({"inputField": "id"})]


def test_an_output_field_of_the_stage_or_a_port(failures):
    failure = failures.add("Wrong.").with_output_field("id").with_output_field("id", "big").failure

    assert [c.attributes for c in failure.causes] == [
        {"outputField": "id"},
        {"outputField": "id", "outputPort": "big"},
    ]


def test_a_stack_trace_is_a_json_text(failures):
    failure = failures.add("Wrong.").with_stacktrace(["outer", "inner"]).failure

    assert json.loads(failure.causes[0].attributes["stacktrace"]) == ["outer", "inner"]


def test_several_causes_add_up_and_the_first_property_is_the_field(failures):
    failure = (
        failures.add("Wrong.")
        .with_config_property("a")
        .with_input_field("x", "users")
        .with_config_property("b")
        .failure
    )

    assert len(failure.causes) == 3
    assert failure.field == "a"


def test_a_suggested_artifact():
    failure = ValidationFailure(
        ARTIFACT_NOT_FOUND,
        "Not found.",
        None,
        [],
        "src",
        suggested_artifact=ArtifactId("core-plugins", "2.11.0", "SYSTEM"),
    )

    assert as_json(failure)["suggestedArtifact"] == {
        "name": "core-plugins",
        "version": "2.11.0",
        "scope": "SYSTEM",
    }


def test_a_failure_comes_back_from_its_json(failures):
    failure = failures.add("Wrong.", "Act.").with_config_property("a").failure

    assert msgspec.json.decode(msgspec.json.encode(failure), type=ValidationFailure) == failure


@pytest.mark.parametrize(
    ("stage", "action", "text"),
    [
        ("hash", "Act.", "Stage 'hash' encountered : Wrong. Act."),
        ("hash", None, "Stage 'hash' encountered : Wrong."),
        (None, "Act.", "Wrong. Act."),
    ],
)
def test_the_full_message_has_cdaps_wording(stage, action, text):
    assert FailureCollector(stage).add("Wrong.", action).failure.full_message == text


def test_a_collector_keeps_the_order_and_shares_nothing(failures):
    failures.add("one").with_config_property("a")
    failures.add("two")

    assert [f.message for f in failures] == ["one", "two"]
    assert len(failures) == 2
    assert list(failures)[1].causes == []
