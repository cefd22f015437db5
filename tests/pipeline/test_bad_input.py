"""Any JSON at all as a pipeline or a stage: an answer, or one error that names the document."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError, DocumentError, NotFoundError
from localcdap.api.pipeline import PipelineValidation, StageValidation
from localcdap.api.serialization.value_types import encode_schema, pack, unpack
from localcdap.pipeline.macros.evaluation import Secrets
from localcdap.pipeline.service import PipelineRequest, StageRequest, StageSchema, StudioService
from tests.pipeline.json_documents import JSON, changed_pipelines
from tests.pipeline.pipelines import config, record, stage
from tests.pipeline.shelf import create_resolver

ABC = {"schema": record("a", "b", "c")}


def _no_key(key: str) -> str:
    raise NotFoundError(f"There is no secure key '{key}'.")


STUDIO = StudioService(create_resolver(secrets=lambda _: Secrets(_no_key)))


def _validated(document: Any) -> PipelineValidation | None:
    """The answer, which must be one that can be sent and shown; None for what is not a pipeline."""
    try:
        answer = STUDIO.validate_pipeline(PipelineRequest(document))
    except DocumentError:
        return None
    assert (answer.spec is None) == bool(answer.errors)
    assert unpack(pack(answer), PipelineValidation) == answer
    json.loads(msgspec.json.encode(answer, enc_hook=encode_schema))
    for failure in (*answer.errors, *answer.warnings):
        assert failure.message
    return answer


@settings(max_examples=300)
@given(JSON)
def test_any_json_is_validated(document: Any):
    _validated(document)
    _validated({"stages": document})
    _validated({"config": {"stages": [document], "connections": [document]}})


@settings(max_examples=300)
@given(changed_pipelines())
def test_changed_pipelines_are_validated(document: Any):
    _validated(document)
    _validated(json.dumps(document))


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_any_text_is_validated(text: str):
    _validated(text)


@settings(max_examples=200)
@given(JSON, st.lists(st.builds(StageSchema, st.text(max_size=3), JSON), max_size=3), st.booleans())
def test_any_json_is_validated_as_a_stage(node: Any, inputs: list[StageSchema], macros: bool):
    for each in (node, {"name": "t", "plugin": node}, stage("transform", "t", field=node)):
        try:
            answer = STUDIO.validate_stage(StageRequest(each, inputs, macros))
        except BadRequestError:
            continue
        assert unpack(pack(answer), StageValidation) == answer
        assert (answer.spec is None) == bool(answer.errors)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"stages":' * 5_000, '{"stages": [1e999, NaN]}'])
def test_extreme_texts(text: str):
    _validated(text)


# -- what a user gets wrong, in one answer ----------------------------------------------------


def test_everything_wrong_comes_in_one_answer():
    document = config(
        "source:s strict:t transform:l1 transform:l2 if:c source:s2 count:n sink:z sink:z2 sink:lone",
        "s>t t>l1 l1>l2 l2>l1 s>c c>z c?true>z2 s2>n n>z2 s2>z2 t>nowhere",
        s=ABC,
        s2={"schema": record("q"), "path": "${self}"},
        t={"number": "many", "needed": "${open"},
        z={"pth": "/out"},
    )
    request = PipelineRequest(document, arguments={"self": "${self}"})
    answer = STUDIO.validate_pipeline(request)
    reported = "\n".join(failure.full_message for failure in answer.errors)
    for text in (
        "Invalid connection t -> nowhere. nowhere is not a stage.",
        "The stages l1 -> l2 -> l1 form a cycle.",
        "For condition stage c, the connection c -> z is not marked with either 'true' or 'false'.",
        "Stage lone is unreachable, it has no incoming connections.",
        "Two different input schema were set for the stage z2",
        "Property 'number' must be a whole number, not 'many'.",
        "Could not find enclosing '}' for macro '${open'.",
        "Failed substituting macro",
    ):
        assert text in reported
    (warning,) = answer.warnings
    assert warning.message == "Plugin 'Sink' has no property 'pth'; it is ignored."
    assert warning.corrective_action == "Did you mean 'path'?"


# -- warnings --------------------------------------------------------------------------------


def test_an_unknown_property_is_a_warning_and_makes_nothing_invalid():
    properties = {"nte": "x", "qqqqqq": "1", "blank": ""}
    document = config("source:s transform:t sink:z", "s>t t>z", s=ABC, t=properties)
    answer = STUDIO.validate_pipeline(PipelineRequest(document))
    assert answer.errors == []
    assert answer.spec is not None
    assert [(w.type, w.stage, w.field, w.corrective_action) for w in answer.warnings] == [
        ("Unknown Property", "t", "nte", "Did you mean 'note'?"),
        (
            "Unknown Property",
            "t",
            "qqqqqq",
            "Remove it, unless it is meant for another version of the plugin.",
        ),
    ]
    of_stage = STUDIO.validate_stage(StageRequest(document["stages"][1]))
    assert of_stage.warnings == answer.warnings


def test_a_property_that_is_given_is_not_what_another_one_was_meant_to_be():
    document = config("transform:t", t={"nte": "x", "note": "y"})
    (warning,) = STUDIO.validate_pipeline(PipelineRequest(document)).warnings
    assert "note" not in (warning.corrective_action or "")


def test_post_actions_are_warned_about_too_and_missing_plugins_are_not():
    document = config("source:s sink:z", "s>z", s=ABC)
    document["postActions"] = [stage("mail", "m", to="me", subjct="x"), stage("postaction", "n")]
    answer = STUDIO.validate_pipeline(PipelineRequest(document))
    assert [warning.stage for warning in answer.warnings] == ["m"]
