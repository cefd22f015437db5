"""Macros in propagation: open ones, given arguments, secrets, and the connections of a document."""

from __future__ import annotations

import pytest

from localcdap.api.config import NamedPlugins
from localcdap.api.schema import Schema
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.pipeline.macros.parser import create_macro_functions
from localcdap.pipeline.validation.plugins import IndexedPlugins
from localcdap.pipeline.validation.resolution import resolve_pipeline
from localcdap.sandbox.stage_configuration import ConfigureRequest, configure_stage
from tests.pipeline.pipelines import pipeline, record
from tests.pipeline.shelf import mock_shelf, resolved

ABC = {"schema": record("a", "b", "c")}
SCHEMA = Schema.parse(ABC["schema"])


def reported(answer) -> list[tuple[str | None, str]]:
    return [(failure.stage, failure.message) for failure in answer.errors]


def requests(document, **options) -> dict[str, ConfigureRequest]:
    return resolve_pipeline(
        document, IndexedPlugins(mock_shelf(), "default"), configure_stage, **options
    ).requests


MACROS = {
    "schema": "${schema}",
    "path": "/in/${name}/${secure(key)}",
    "literal": "${literal}",
}


def test_open_macros_are_listed_where_the_property_allows_them():
    answer = resolved(
        pipeline("source:s transform:t sink:z", "s>t t>z", s=MACROS, t={"field": "x"})
    )
    assert answer.errors == []
    request = answer.requests["s"]
    assert request.macros == ["schema", "path"]
    assert request.properties["literal"] == "${literal}"
    assert answer.spec.stages[0].plugin.properties == MACROS
    assert answer.requests["t"].input_schemas == {"s": None}


def test_given_arguments_are_used_and_the_rest_stays_open():
    context = MacroContext({"schema": ABC["schema"], "name": "n"}, create_macro_functions())
    document = pipeline("source:s sink:z", "s>z", s=MACROS)
    request = requests(document, macros=context)["s"]
    assert request.macros == ["path"]
    assert request.properties["schema"] == ABC["schema"]
    assert requests(document, macros=context)["z"].input_schemas == {"s": SCHEMA}


def test_secrets_are_evaluated_but_never_in_the_specification():
    functions = create_macro_functions(secure=lambda key: "secret")
    context = MacroContext({"schema": ABC["schema"], "name": "n"}, functions)
    answer = resolved(pipeline("source:s sink:z", "s>z", s=MACROS), macros=context)
    assert answer.requests["s"].properties["path"] == "/in/n/secret"
    assert "secret" not in str(answer.spec)


def test_validation_leaves_the_start_time_open():
    context = MacroContext({}, create_macro_functions(0))
    document = pipeline("source:s sink:z", "s>z", s=ABC, z={"path": "${logicalStartTime(yyyy)}"})
    assert requests(document, macros=context)["z"].macros == ["path"]
    context = MacroContext({}, create_macro_functions(0), runtime=True)
    assert requests(document, macros=context)["z"].properties["path"] == "1970"


def test_at_run_time_every_macro_needs_a_value():
    context = MacroContext({"schema": ABC["schema"]}, create_macro_functions(0), runtime=True)
    document = pipeline("source:s sink:z", "s>z", s=MACROS, z={"path": "${out}"})
    answer = resolved(document, macros=context)
    assert reported(answer) == [
        ("s", "Argument 'name' is not defined."),
        ("s", "Macro function 'secure' cannot be used: the secure store is not available here."),
        ("z", "Argument 'out' is not defined."),
    ]
    failure = answer.errors[2]
    assert failure.field == "path"
    assert failure.causes[0].attributes == {"stageConfig": "path"}
    assert "-a out=VALUE" in failure.corrective_action


@pytest.mark.parametrize("runtime", [False, True])
def test_calls_that_fail_in_every_run_are_failures_before_it(runtime):
    context = MacroContext({}, create_macro_functions(0), runtime=runtime)
    path = (
        "${logicalStartTime(bbb,1x,Mars/Base)} ${logicalStartTime(yyyy,${logicalStartTime(a)})}"
        "${logicalStartTime(yyyy)} ${secure(a,b)} ${conn()} ${oauth(a)} ${today(x)}"
    )
    answer = resolved(pipeline("source:s sink:z", "s>z", s=ABC, z={"path": path}), macros=context)
    messages = [message for _, message in reported(answer)]
    assert {failure.field for failure in answer.errors} == {"path"}
    expected = [
        "Illegal pattern character 'b'",
        "Macro function 'secure' ",
        "Macro function 'oauth' ",
        "Unsupported macro function today",
    ]
    if not runtime:
        expected += ["'1x' is not an offset", "'Mars/Base' is not a time zone"]
        expected += ["takes 1 argument(s), not 2.", "takes 2 argument(s), not 1."]
    for part in expected:
        assert any(part in message for message in messages), part


@pytest.mark.parametrize("runtime", [False, True])
def test_a_malformed_macro_is_a_failure_of_its_property(runtime):
    context = MacroContext({}, runtime=runtime)
    answer = resolved(
        pipeline("source:s sink:z", "s>z", s=ABC, z={"path": "${open"}), macros=context
    )
    assert reported(answer) == [("z", "Could not find enclosing '}' for macro '${open'.")]
    assert answer.errors[0].field == "path"


def test_connections_used():
    document = pipeline(
        "source:s transform:t sink:z",
        "s>t t>z",
        s=ABC,
        t={"note": "${conn(db)}${conn(gcs)}"},
        z={"path": "${conn(db)}"},
    )
    assert resolved(document).spec.connections_used == ["db", "gcs"]


def test_streaming_pipelines_are_not_configured():
    document = pipeline("streamingsource:s strict:t sink:z", "s>t t>z")
    answer = resolved(document)
    assert [stage for stage, _ in reported(answer)] == [None]
    assert answer.requests == {}


def test_a_property_declares_how_it_names_other_plugins():
    named = NamedPlugins("directive", after="#pragma load-directives")
    text = (
        "uppercase :a\n#pragma  load-directives one, two-three; #pragma load-directives one\nfour"
    )
    assert named.find_names(text) == ["one", "two-three"]
    assert named.find_names("load-directives one; #pragma version 2.0;") == []
    assert NamedPlugins("directive").find_names(" one, two ,,one") == ["one", "two"]
