"""The studio service, with the mock plugins."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from localcdap.api.errors import BadRequestError, DocumentError, NotFoundError
from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import encode_schema
from localcdap.artifacts.loading import load_plugin
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.macros.evaluation import MacroContext, Secrets
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.service import PipelineRequest, StageRequest, StageSchema, StudioService
from localcdap.pipeline.validation.plugins import PinnedPlugins, apply_repairs
from localcdap.pipeline.validation.resolution import resolve_pipeline
from localcdap.sandbox.stage_configuration import configure_stage
from tests.pipeline.pipelines import config, record, stage
from tests.pipeline.shelf import create_resolver, resolve

ABC = {"schema": record("a", "b", "c")}
SMALL = config("source:s transform:t sink:z", "s>t t>z", s=ABC)


@pytest.fixture
def studio() -> StudioService:
    return StudioService(create_resolver())


def test_a_valid_pipeline_has_a_specification_and_no_errors(studio):
    answer = studio.validate_pipeline(PipelineRequest(SMALL))
    encoded = json.loads(msgspec.json.encode(answer, enc_hook=encode_schema))
    assert encoded["errors"] == []
    spec = encoded["spec"]
    assert spec["connections"][0] == {"from": "s", "to": "t", "port": None, "condition": None}
    assert spec["resources"] == {"memoryMB": 1024, "virtualCores": 1}
    assert spec["stages"][1]["inputSchemas"] == {"s": json.loads(ABC["schema"])}
    assert spec["stages"][0]["plugin"]["properties"] == ABC
    assert spec["stages"][0]["outputPorts"]["t"]["port"] is None
    assert spec["endingActions"] == []
    assert spec["numOfRecordsPreview"] == 100


def test_an_invalid_pipeline_has_errors_and_no_specification(studio):
    document = config("source:s transform:t sink:z", "s>t t>z", s=ABC, t={"field": "x"})
    answer = studio.validate_pipeline(PipelineRequest(json.dumps(document)))
    assert answer.spec is None
    encoded = json.loads(msgspec.json.encode(answer.errors[0]))
    assert encoded == {
        "type": "Invalid Field",
        "message": "Field 'x' must exist in the input schema.",
        "correctiveAction": None,
        "causes": [
            {"attributes": {"stageConfig": "field"}},
            {"attributes": {"inputField": "x", "inputStage": "s"}},
        ],
        "stage": "t",
        "field": "field",
    }


def test_what_is_no_pipeline_raises(studio):
    with pytest.raises(DocumentError, match=r"File 'x\.json'"):
        studio.validate_pipeline(PipelineRequest("{}", file="x.json"))


def test_arguments_and_runtime(studio):
    document = config("source:s sink:z", "s>z", s=ABC, z={"path": "${out}"})
    assert studio.validate_pipeline(PipelineRequest(document)).errors == []
    request = PipelineRequest(document, runtime=True)
    assert len(studio.validate_pipeline(request).errors) == 1
    arguments = {"out": "/o"}
    answer = studio.validate_pipeline(PipelineRequest(document, "default", arguments, runtime=True))
    assert answer.spec.stages[1].plugin.properties == {"path": "${out}"}
    resolved = resolve(create_resolver(), document, arguments, runtime=True)
    assert resolved.requests["z"].properties == {"path": "/o"}


def test_before_a_run_the_time_of_its_start_has_a_value(studio):
    path = "/out/${logicalStartTime(yyyy,1d)}-${name}"
    document = config("source:s sink:z", "s>z", s=ABC, z={"path": path})
    given = {"name": "${logicalStartTime()}"}
    request = PipelineRequest(document, runtime=True, arguments=given)
    assert studio.validate_pipeline(request).errors == []
    resolved = resolve(create_resolver(), document, given, runtime=True)
    written = resolved.requests["z"].properties["path"]
    assert re.fullmatch("/out/20[0-9]{2}-[0-9]{13}", written)
    wrong = config("source:s sink:z", "s>z", s=ABC, z={"path": "${logicalStartTime(qq)}"})
    (failure,) = studio.validate_pipeline(PipelineRequest(wrong, runtime=True)).errors
    assert "logicalStartTime(qq)" in failure.message


def test_repair_writes_the_artifacts_into_the_document(studio):
    document = config("source:s sink:z", "s>z", s=ABC)
    document["stages"][1]["plugin"]["artifact"] = {"name": "core-plugins", "version": "1.0.0"}
    document["extra"] = {"kept": True}
    assert len(studio.validate_pipeline(PipelineRequest(document)).errors) == 1
    answer = resolve(create_resolver(), document, use_suggested=True)
    assert answer.errors == []
    assert [repair.stage for repair in answer.repairs] == ["z"]
    fixed = apply_repairs(read_document(document), answer.repairs)
    assert fixed["extra"] == {"kept": True}
    assert studio.validate_pipeline(PipelineRequest(fixed)).errors == []


# -- one stage -------------------------------------------------------------------------------


def test_a_valid_stage_has_its_schemas(studio):
    request = StageRequest(stage("transform", "t"), [StageSchema("s", ABC["schema"])])
    answer = studio.validate_stage(request)
    schema = Schema.parse(ABC["schema"])
    assert answer.errors == []
    assert answer.spec.input_schemas == {"s": schema}
    assert (answer.spec.output_schema, answer.spec.error_schema) == (schema, schema)
    assert answer.spec.output_ports == {}


def test_an_invalid_stage_has_all_its_failures(studio):
    answer = studio.validate_stage(StageRequest(stage("strict", "t", number="x")))
    assert [failure.field for failure in answer.errors] == ["needed", "number"]
    assert answer.spec is None


def test_a_stage_of_the_wrong_form(studio):
    answer = studio.validate_stage(StageRequest({"name": "t", "plugin": {"name": "Pass"}}))
    assert [f.message for f in answer.errors] == [
        "Invalid plugin Plugin{name='Pass', type=''}: type must be specified."
    ]


def test_a_stage_with_different_inputs(studio):
    inputs = [StageSchema("a", json.loads(record("x"))), StageSchema("b", record("y"))]
    answer = studio.validate_stage(StageRequest(stage("transform", "t"), inputs))
    assert [f.message for f in answer.errors] == [
        "Two different input schema were set for the stage t"
    ]
    assert studio.validate_stage(StageRequest(stage("join", "j"), inputs)).errors == []


def test_a_splitter_lists_its_ports(studio):
    request = StageRequest(stage("split", "p"), [StageSchema("s", ABC["schema"])])
    assert list(studio.validate_stage(request).spec.port_schemas) == ["A", "B"]


def test_macros_come_from_preferences_only_when_asked(studio):
    node = stage("source", "s", schema="${schema}")
    request = StageRequest(node, arguments={"schema": ABC["schema"]})
    assert studio.validate_stage(request).spec.output_schema is None
    request.resolve_macros_from_preferences = True
    spec = studio.validate_stage(request).spec
    assert spec.output_schema == Schema.parse(ABC["schema"])
    assert spec.plugin.properties == {"schema": "${schema}"}


def test_requests_that_cannot_be_used(studio):
    with pytest.raises(BadRequestError, match="must be provided in the validation request"):
        studio.validate_stage(StageRequest())
    with pytest.raises(BadRequestError, match="Invalid input schema of stage 's'"):
        studio.validate_stage(StageRequest(stage("transform", "t"), [StageSchema("s", "{")]))
    with pytest.raises(BadRequestError, match="Invalid input schema of stage 's'"):
        studio.validate_stage(StageRequest(stage("transform", "t"), [StageSchema("s", 5)]))


def test_requests_are_read_from_json():
    text = b'{"stage": {"name": "t"}, "inputSchemas": [{"stage": "a"}], "resolveMacrosFromPreferences": true}'
    request = msgspec.json.decode(text, type=StageRequest)
    assert request.resolve_macros_from_preferences
    assert request.input_schemas == [StageSchema("a")]


# -- edits and pinned plugins ----------------------------------------------------------------


def test_after_an_edit_only_the_requests_that_it_changes_are_others():
    def changed(document) -> set[str]:
        requests = resolve(resolver, document).requests
        return {name for name, request in requests.items() if request != before[name]}

    resolver = create_resolver()
    before = resolve(resolver, SMALL).requests
    assert changed(json.dumps(SMALL)) == set()
    assert changed(config("source:s transform:t sink:z", "s>t t>z", s=ABC, t={"note": "n"})) == {
        "t"
    }
    other = {"schema": record("x")}
    assert changed(config("source:s transform:t sink:z", "s>t t>z", s=other)) == {"s", "t", "z"}


def test_a_run_resolves_the_same_with_pinned_plugins():
    document = config("source:s sink:z", "s>z", s=ABC, z={"path": "${out}"})
    known = resolve(create_resolver(), document)
    answer = resolve_pipeline(
        read_document(document),
        PinnedPlugins(known.plugins, load_plugin),
        configure_stage,
        MacroContext({"out": "/o"}, runtime=True),
    )
    assert answer.errors == []
    assert answer.spec == known.spec
    assert answer.plugins == known.plugins
    assert answer.requests["z"].properties == {"path": "/o"}


def test_a_stage_without_a_pinned_plugin_is_a_failure():
    known = resolve(create_resolver(), SMALL).plugins
    del known["t"]
    answer = resolve_pipeline(
        read_document(SMALL), PinnedPlugins(known, load_plugin), configure_stage
    )
    assert answer.errors[0].message == "Plugin named 'Pass' of type 'transform' not found."


# -- a stage of a pipeline -------------------------------------------------------------------


def test_a_stage_of_a_pipeline_is_answered_alone(studio):
    document = config("source:s strict:t sink:z", "s>t t>z", s=ABC, t={"nedded": "x"})
    request = PipelineRequest(document)
    source = studio.validate_pipeline_stage(request, "s")
    assert source.errors == []
    assert source.spec.output_schema == Schema.parse(ABC["schema"])
    assert list(source.spec.output_ports) == ["t"]
    strict = studio.validate_pipeline_stage(request, "t")
    assert [failure.field for failure in strict.errors] == ["needed"]
    assert [warning.field for warning in strict.warnings] == ["nedded"]
    assert strict.spec is None
    with pytest.raises(NotFoundError, match="has no stage 'q'") as raised:
        studio.validate_pipeline_stage(request, "q")
    assert raised.value.corrective_action == "Its stages: s, t, z."


# -- secrets ---------------------------------------------------------------------------------

SECRET = "hunter2"


@pytest.fixture
def guarded() -> StudioService:
    """A studio with the secure key ``k`` of the namespace ``default`` and a preference that names it."""
    return StudioService(guarded_resolver())


def guarded_resolver() -> PipelineResolver:
    keys = {("default", "k"): SECRET, ("default", "schema"): record(SECRET)}
    return create_resolver(
        preferences=lambda namespace, pipeline: {"password": "${secure(k)}"},
        secrets=lambda namespace: Secrets(lambda key: keys[namespace, key]),
    )


def reported(answer) -> str:
    return msgspec.json.encode(answer, enc_hook=encode_schema).decode()


@pytest.mark.parametrize("value", ["${secure(k)}", "${password}"])
def test_a_failure_that_quotes_a_secret_does_not_show_it(guarded, value):
    node = {
        "name": "t",
        "plugin": {"type": "transform", "name": "Quote", "properties": {"text": value}},
    }
    request = StageRequest(node, [StageSchema("s", ABC["schema"])], True)
    for answer in (
        guarded.validate_stage(request),
        guarded.validate_pipeline(PipelineRequest({"stages": [node]})),
        guarded.validate_pipeline_stage(PipelineRequest({"stages": [node]}), "t"),
    ):
        assert "'********' is wrong." in reported(answer)
        assert SECRET not in reported(answer)


def test_a_specification_shows_no_secret_that_a_plugin_put_into_it(guarded):
    document = config("source:s transform:t sink:z", "s>t t>z", s={"schema": "${secure(schema)}"})
    document["stages"][1]["plugin"] = {
        "type": "transform",
        "name": "Quote",
        "properties": {"property": "${secure(k)}"},
    }
    answer = guarded.validate_pipeline(PipelineRequest(document))
    assert answer.errors == []
    assert answer.spec.properties == {"p": "********"}
    assert SECRET not in reported(answer)
    assert answer.spec.stages[0].output_schema.field_names == ["********"]
    assert answer.spec.stages[0].plugin.properties == {"schema": "${secure(schema)}"}
    kept = resolve(guarded_resolver(), document)
    assert kept.requests["t"].properties["property"] == SECRET
