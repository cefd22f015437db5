"""The calls and the JSON of the design documents, as they are written there.

What a document writes as ``...`` or ``{ schema object }`` is left out, or a schema.
Texts of errors are those of CDAP 6.
"""

from __future__ import annotations

import json

import pytest

from tests.server.rest.client import NS, STUDIO

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}
ROW = {**SCHEMA, "fields": [*SCHEMA["fields"], {"name": "n", "type": "int"}]}


MISSING = (
    "Plugin named 'pluginName' of type 'pluginType' not found. The pipeline asks for artifact "
    "core-plugins 1.0.0 ({scope})."
)


def get_stage(scope: str) -> dict:
    """The stage of "Validate Stage" and of "Stage Debugging"."""
    return {
        "name": "stageName",
        "plugin": {
            "type": "pluginType",
            "name": "pluginName",
            "artifact": {"scope": scope, "name": "core-plugins", "version": "1.0.0"},
            "properties": {"name": "val"},
        },
    }


@pytest.mark.parametrize("scope", ["SYSTEM", "USER"])
def test_validate_stage(client, scope):
    body = {"stage": get_stage(scope), "inputSchemas": [{"stage": "abc", "schema": SCHEMA}]}

    found = client.ok("POST", f"{STUDIO}/validations/stage", body)

    (error,) = found["errors"]
    assert error["type"] == "Artifact Not Found"
    assert error["message"] == MISSING.format(scope=scope)
    assert found["spec"] is None


def test_validate_pipeline_with_a_missing_artifact(client):
    stages: list[dict] = [
        {
            "name": f"stage-{number}",
            "plugin": {
                "type": type,
                "name": name,
                "properties": {"name": "orders", "schema.row.field": "a"},
                "artifact": {"scope": "SYSTEM", "name": "core-plugins", "version": version},
            },
        }
        for number, type, name, version in (
            (4, "batchsource", "Table", ""),
            (5, "batchsink", "Table", "9.9.9"),
        )
    ]
    stages[0]["plugin"]["properties"]["schema"] = json.dumps(ROW)
    del stages[0]["plugin"]["artifact"]
    body = {
        "artifact": {"scope": "SYSTEM", "name": "cdap-data-pipeline", "version": "6.0.0"},
        "config": {"stages": stages, "connections": [{"from": "stage-4", "to": "stage-5"}]},
    }

    found = client.ok("POST", f"{STUDIO}/validations/pipeline", body)

    assert len(found["errors"]) == 1, found["errors"]
    error = found["errors"][0]
    assert (error["stage"], error["type"]) == ("stage-5", "Artifact Not Found")
    suggested = error["suggestedArtifact"]
    assert (suggested["scope"], suggested["name"]) == ("SYSTEM", "core-plugins")

    stages[1]["plugin"]["artifact"] = suggested
    spec = client.ok("POST", f"{STUDIO}/validations/pipeline", body)["spec"]
    assert {"stages", "connections", "resources", "driverResources", "clientResources"} <= set(spec)
    assert {"stageLoggingEnabled", "processTimingEnabled", "properties", "endingActions"} <= set(
        spec
    )
    assert spec["connections"][0]["from"] == "stage-4"
    assert {"virtualCores", "memoryMB"} == set(spec["resources"])
    source, sink = spec["stages"]
    assert source["outputPorts"]["stage-5"]["schema"] == source["outputSchema"]
    assert set(sink["inputSchemas"]) == {"stage-4"}
    assert sink["plugin"]["artifact"] == suggested


def test_an_empty_pipeline_is_invalid(client):
    body = {
        "artifact": {"scope": "SYSTEM", "name": "cdap-data-pipeline", "version": "6.0.0"},
        "config": {"stages": [], "connections": []},
    }
    found = client.ok("POST", f"{STUDIO}/validations/pipeline", body)
    assert found["errors"]
    assert found["spec"] is None


def test_an_invalid_field_is_named(client):
    stage = get_stage("SYSTEM")
    stage["name"] = "stage-4"
    stage["plugin"] = {
        "type": "batchaggregator",
        "name": "Deduplicate",
        "properties": {"uniqueFields": "b"},
    }
    body = {"stage": stage, "inputSchemas": [{"stage": "abc", "schema": SCHEMA}]}
    error = client.ok("POST", f"{STUDIO}/validations/stage", body)["errors"][0]
    assert (error["type"], error["stage"], error["field"]) == (
        "Invalid Field",
        "stage-4",
        "uniqueFields",
    )


def test_a_stage_of_an_unknown_type_cannot_be_debugged(client):
    records = [{"a": "x"}]
    body = {
        "namespace": "default",
        "stage": get_stage("SYSTEM"),
        "input": [{"stage": "input stage name", "schema": SCHEMA, "records": records}],
    }
    assert client.refused("POST", f"{STUDIO}/validations/output", body) == (
        400,
        "Stage 'stageName', of type pluginType, handles no records.",
    )


def test_a_method_of_an_unknown_plugin(client):
    plugin = get_stage("SYSTEM")["plugin"]
    del plugin["properties"]
    body = {"plugin": plugin, "request": {"inputSchema": SCHEMA, "x": "y"}}
    assert client.refused("POST", f"{STUDIO}/methods/list", body)[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "dataprep/services/service/methods/v2/contexts/default/connections",
        "ModelManagementApp/spark/ModelManagerService/methods/v2/contexts/default/experiments",
    ],
)
def test_services_of_system_applications(client, path):
    assert client.ok("GET", f"/v3/namespaces/system/apps/{path}") is not None


@pytest.mark.parametrize("query", ["", "&capability=spark_2", "&capabilities=mode_cloud"])
def test_plugins_by_capability(client, query):
    artifact = f"{NS}/artifacts/cdap-data-pipeline/versions/6.10.0"
    found = client.ok("GET", f"{artifact}/extensions/batchsource?scope=system{query}")
    for each in found:
        assert set(each) >= {"name", "type", "description", "className", "artifact", "capability"}
        assert set(each["artifact"]) == {"name", "version", "scope"}
    wanted = query.rpartition("=")[2]
    assert all(not wanted or wanted in each["capability"] for each in found)


def test_capabilities(client):
    found = client.ok("GET", f"{NS}/capabilities")
    assert found == sorted(set(found))
    assert all(isinstance(each, str) for each in found)


def test_properties_of_a_dataset_are_updated(client):
    path = f"{NS}/data/datasets/design"
    client.ok("PUT", path, {"typeName": "table", "properties": {"dataset.table.ttl": "3600"}})
    client.ok("PUT", f"{path}/properties", {"dataset.table.ttl": "7200"})
    assert client.ok("GET", f"{path}/properties") == {"dataset.table.ttl": "7200"}
