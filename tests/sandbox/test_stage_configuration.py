"""How what a plugin does and raises becomes the result of its stage."""

from __future__ import annotations

import json
import sys

import pytest

from localcdap.api.failures import INVALID_FIELD, INVALID_STAGE
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.sandbox.stage_configuration import configure_stage

HERE = Locations({}, "/")
SCHEMA = Schema.parse_record(
    '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}'
)


def only(result):
    (failure,) = result.failures
    assert failure.stage == "stage 1"
    return failure


def test_products(request_of):
    body = (
        "stage.output_schema = stage.input_schema\n"
        "stage.error_schema = stage.input_schemas['in']\n"
        "stage.port_schemas['p'] = stage.input_schema\n"
        "stage.set_pipeline_property('k', ','.join(stage.output_ports))"
    )

    result = configure_stage(
        request_of(body, input_schemas={"in": SCHEMA}, output_ports=["p", "q"])
    )

    assert result.failures == []
    assert result.output_schema == result.error_schema == result.port_schemas["p"] == SCHEMA
    assert result.pipeline_properties == {"k": "p,q"}


def test_collected_failures(request_of):
    body = "stage.failures.add('Bad.', 'Do.').with_config_property('column', element='e')"

    failure = only(configure_stage(request_of(body)))

    assert (failure.type, failure.field) == (INVALID_FIELD, "column")
    assert (failure.message, failure.corrective_action) == ("Bad.", "Do.")
    assert failure.causes[0].attributes == {"stageConfig": "column", "configElement": "e"}


def test_invalid_field_error(request_of):
    failure = only(configure_stage(request_of("raise InvalidFieldError('column', 'No.')")))

    assert (failure.type, failure.field, failure.message) == (INVALID_FIELD, "column", "No.")
    assert failure.corrective_action == "Provide valid value for config property 'column'."


def test_nested_invalid_stage_error(request_of):
    body = (
        "inner = InvalidStageError(['two', ValueError('three')])\n"
        "raise InvalidStageError([InvalidFieldError('column', 'one', 'Act.'), inner])"
    )

    failures = configure_stage(request_of(body)).failures

    assert [(f.message, f.field, f.corrective_action) for f in failures] == [
        ("one", "column", "Act."),
        ("two", None, None),
        ("three", None, None),
    ]


def test_invalid_stage_error_without_reasons_is_still_a_failure(request_of):
    assert len(configure_stage(request_of("raise InvalidStageError([])")).failures) == 1


def test_schema_error(request_of):
    failure = only(configure_stage(request_of("Schema.parse('{')")))

    assert failure.type == INVALID_STAGE
    assert not failure.message.startswith("Error encountered")
    assert failure.causes == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise ValueError('boom')", "boom"),
        ("{}['key']", "KeyError: 'key'"),
        ("raise RuntimeError", "RuntimeError"),
        ("sys.exit(4)", "it ended its process: SystemExit(4)"),
        ("def f(): f()\nf()", "maximum recursion depth exceeded"),
    ],
)
def test_any_other_exception(request_of, body, text):
    failure = only(configure_stage(request_of(body)))

    assert failure.message == f"Error encountered while configuring the stage: '{text}'"
    (cause,) = failure.causes
    frames = json.loads(cause.attributes["stacktrace"])
    assert all(frame.startswith("thing-1.0.0.py:") for frame in frames[:-1])
    assert "in configure" in frames[0] or len(frames) > 20


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("py_mini_racer.more", "pip install 'localcdap[javascript]'"),
        ("nowhere_to_be_found", "pip install nowhere_to_be_found"),
    ],
)
def test_a_missing_library_is_a_failure_with_its_installation(
    request_of, monkeypatch, module, command
):
    monkeypatch.setitem(sys.modules, module.partition(".")[0], None)

    failure = only(configure_stage(request_of(f"import {module}")))

    assert failure.message.startswith("The plugin needs the Python module '")
    assert failure.corrective_action == f"Install it: {command}"


def test_failures_added_before_an_exception_are_kept(request_of):
    body = "stage.failures.add('first')\nraise ValueError('second')"

    messages = [f.message for f in configure_stage(request_of(body)).failures]

    assert messages == ["first", "Error encountered while configuring the stage: 'second'"]


def test_plugin_is_not_asked_when_its_properties_do_not_parse(request_of):
    properties = {"count": "many", "schema": str(SCHEMA)}

    result = configure_stage(request_of("raise ValueError", properties=properties))

    assert only(result).field == "count"
    assert result.output_schema == SCHEMA


def test_declared_schema_is_passed_on_after_failures_only(request_of):
    properties = {"schema": str(SCHEMA)}

    assert configure_stage(request_of("pass", properties=properties)).output_schema is None
    failed = configure_stage(request_of("stage.failures.add('x')", properties=properties))
    assert failed.output_schema == SCHEMA


def test_macros_reach_the_configuration(request_of):
    body = "stage.failures.add(str(sorted(self.config.macros)))"

    result = configure_stage(request_of(body, properties={"secret": "${x}"}, macros=["secret"]))

    assert only(result).message == "['secret']"


def test_connected_checks_only_when_asked_and_when_the_rest_is_valid(request_of):
    assert configure_stage(request_of()).failures == []
    assert only(configure_stage(request_of(locations=HERE))).message == "connected"
    failed = configure_stage(request_of("stage.failures.add('x')", locations=HERE))
    assert only(failed).message == "x"


def test_artifact_that_cannot_be_loaded(request_of):
    failure = only(configure_stage(request_of(at_import="import nowhere_to_be_found\n")))

    assert "Plugin 'P' of artifact thing 1.0.0 cannot be loaded" in failure.message
    assert "thing-1.0.0.py:5: ModuleNotFoundError" in failure.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("stage.output_schema = {}", "set stage.output_schema to a dict, which is not a Schema."),
        ("stage.error_schema = 'x'", "set stage.error_schema to a str, which is not a Schema."),
        ("stage.port_schemas = {1: 2}", "set stage.port_schemas[1] to a int, which is not"),
        ("stage.pipeline_properties = 3", "set stage.pipeline_properties to a int, which is not"),
    ],
)
def test_products_of_the_wrong_kind(request_of, body, message):
    assert message in only(configure_stage(request_of(body))).message


def test_texts_that_are_none(request_of):
    body = "stage.failures.add(17, OSError('\\udcff')).with_config_property('column', element=3)"

    failure = only(configure_stage(request_of(body)))

    assert (failure.message, failure.corrective_action) == ("17", "\\udcff")
    assert failure.causes[0].attributes["configElement"] == "3"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (
            "stage.output_schema = Schema.record('r', [(f'f{n}', Schema.INT) for n in range(60_000)])",
            "output_schema",
        ),
        (
            (
                "inner = Schema.record('i', [(f'f{n}', Schema.INT) for n in range(300)]); "
                "stage.error_schema = Schema.record('r', [(f'f{n}', inner) for n in range(300)])"
            ),
            "error_schema",
        ),
        (
            "stage.output_schema = Schema.record('r', [('x' * 9_000_000, Schema.INT)])",
            "output_schema",
        ),
        ("stage.columns = {str(n): {} for n in range(60_000)}", "columns"),
    ],
)
def test_a_value_that_would_swell_the_host_is_refused(request_of, body, what):
    result = configure_stage(request_of(body))

    assert f"The plugin set stage.{what} to a value with more than 50,000" in only(result).message
    assert (result.output_schema, result.error_schema, result.columns) == (None, None, {})


def test_failures_are_shown_up_to_a_number_and_a_length(request_of):
    result = configure_stage(
        request_of(
            "for n in range(200_000): stage.failures.add(f'no {n}')\n"
            "for n in range(2_000): stage.warnings.add('x' * 100_000)"
        )
    )

    assert len(result.failures) == len(result.warnings) == 1001
    assert result.failures[-1].message.startswith("The plugin has 199,000 more messages")
    assert result.warnings[0].message.endswith("… (100,000 characters)")
    assert sum(len(each.message) for each in result.warnings) < 21_000_000
