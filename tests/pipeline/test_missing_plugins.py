"""Plugins that do not exist: what is suggested, and which schema counts behind them."""

from __future__ import annotations

import json

import pytest

from localcdap.api.failures import ArtifactId
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.validation.plugins import IndexedPlugins
from localcdap.pipeline.validation.resolution import resolve_pipeline
from localcdap.sandbox.stage_configuration import configure_stage
from tests.pipeline.pipelines import config, record
from tests.pipeline.shelf import MOCKS, Shelf, candidates, resolved

ABC = {"schema": record("a", "b", "c")}


def reported(answer) -> list[tuple[str | None, str]]:
    return [(failure.stage, failure.message) for failure in answer.errors]


def asking(name: str | None = None, version: str | None = None, plugin: str = "Pass"):
    document = config("source:s transform:t sink:z", "s>t t>z", s=ABC, z={"field": "x"})
    stage = document["stages"][1]["plugin"]
    stage["name"] = plugin
    if name or version:
        stage["artifact"] = {"name": name, "version": version, "scope": "SYSTEM"}
    return read_document(document)


def test_a_plugin_that_does_not_exist_names_the_nearest():
    answer = resolved(asking(plugin="Strikt"))
    failure = answer.errors[0]
    assert failure.type == "Artifact Not Found"
    assert failure.message == "Plugin named 'Strikt' of type 'transform' not found."
    assert failure.corrective_action == (
        "Make sure plugin 'Strikt' of type 'transform' is already deployed. "
        "Similar plugins that are: Strict."
    )
    assert failure.causes[0].attributes == {
        "pluginId": "t",
        "pluginName": "Strikt",
        "pluginType": "transform",
    }
    assert reported(answer)[1:] == [
        ("z", "Input schema of stage 'z' is unknown because stage 't' is invalid.")
    ]


@pytest.mark.parametrize("place", ["property", "text", "object", "list"])
def test_behind_a_plugin_that_does_not_exist_its_noted_schema_counts(place):
    document = config("source:s transform:t sink:z", "s>t t>z", s=ABC, z={"field": "x"})
    node, noted = document["stages"][1], record("a", "b")
    node["plugin"]["name"] = "Wrangler"
    if place == "property":
        node["plugin"]["properties"]["schema"] = noted
        node["outputSchema"] = record("x")  # of an earlier state of the drawing
    else:
        forms = {
            "text": noted,
            "object": json.loads(noted),
            "list": [{"name": "etlSchemaBody", "schema": noted}],
        }
        node["outputSchema"] = forms[place]

    answer = resolved(read_document(document))

    assert reported(answer) == [
        ("t", "Plugin named 'Wrangler' of type 'transform' not found."),
        ("z", "Field 'x' must exist in the input schema."),
    ]


@pytest.mark.parametrize("noted", ["${schema}", "nonsense", "", 7, [], [{}], {"type": "string"}])
def test_what_is_noted_but_no_schema_counts_for_nothing(noted):
    document = config("source:s transform:t sink:z", "s>t t>z", s=ABC)
    node = document["stages"][1]
    node["plugin"]["name"] = "Wrangler"
    node["outputSchema"] = noted

    assert reported(resolved(read_document(document)))[1:] == [
        ("z", "Input schema of stage 'z' is unknown because stage 't' is invalid.")
    ]


def test_a_missing_artifact_suggests_another_and_checks_with_it():
    answer = resolved(asking("core-plugins", "[1.0.0,2.0.0)"))
    assert reported(answer) == [
        (
            "t",
            (
                "Plugin named 'Pass' of type 'transform' not found. "
                "The pipeline asks for artifact core-plugins [1.0.0,2.0.0) (SYSTEM)."
            ),
        ),
        ("z", "Field 'x' must exist in the input schema."),
    ]
    failure = answer.errors[0]
    assert failure.suggested_artifact == ArtifactId("mock-plugins", "1.0.0", "SYSTEM")
    assert "'mock-plugins' version 1.0.0 (SYSTEM)" in failure.corrective_action
    assert failure.causes[0].attributes == {
        "pluginId": "t",
        "pluginName": "Pass",
        "pluginType": "transform",
        "requestedArtifactName": "core-plugins",
        "requestedArtifactScope": "SYSTEM",
        "requestedArtifactVersion": "[1.0.0,2.0.0)",
        "suggestedArtifactName": "mock-plugins",
        "suggestedArtifactScope": "SYSTEM",
        "suggestedArtifactVersion": "1.0.0",
    }


def test_the_suggestion_can_be_taken():
    answer = resolved(asking("core-plugins", "9.9.9"), use_suggested=True)
    assert reported(answer) == [("z", "Field 'x' must exist in the input schema.")]
    (repair,) = answer.repairs
    assert str(repair) == (
        "Stage 't' uses mock-plugins 1.0.0 instead of core-plugins 9.9.9 (SYSTEM)."
    )


def test_the_highest_version_is_suggested():
    shelf = Shelf(
        *candidates(MOCKS, ArtifactId("mock-plugins", "1.0.0", "SYSTEM")),
        *candidates(MOCKS, ArtifactId("mock-plugins", "1.10.0", "SYSTEM")),
    )
    answer = resolve_pipeline(
        asking("mock-plugins", "[2.0.0,3.0.0)"), IndexedPlugins(shelf, "default"), configure_stage
    )
    assert answer.errors[0].suggested_artifact.version == "1.10.0"


def test_an_artifact_version_that_is_none_is_a_failure_of_the_stage():
    answer = resolved(asking("mock-plugins", "[1.0.0"))
    assert [stage for stage, _ in reported(answer)] == ["t", "z"]
    assert "Invalid version range [1.0.0" in answer.errors[0].message
