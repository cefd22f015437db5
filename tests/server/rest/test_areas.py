"""Namespaces, preferences, keys, metadata, datasets, artifacts: the rules and texts of the original."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from tests.server.rest.client import NS

PLUGIN = """
from localcdap.api import PluginConfig, Transform, capability, field, plugin


@plugin(type="transform", name="Echo", description="Passes records on.")
@capability("mode_native", "pii")
class Echo(Transform):
    class Config(PluginConfig):
        text: str = field(description="Any text.", macro=True)

    def transform(self, record, emit):
        emit(record)
"""


def test_namespaces(client):
    path = "/v3/namespaces/one"
    assert client.ok("PUT", path, {"description": "d", "config": {"a": "b"}, "generation": 3}) == (
        "Namespace 'one' created successfully."
    )
    assert client.ok("PUT", path) == "Namespace 'one' already exists."
    found = client.ok("GET", path)
    assert (found["description"], found["config"]) == ("d", {"a": "b"})
    assert found["generation"] > 3
    assert client.ok("PUT", f"{path}/properties", {"description": "e"}) == (
        "Updated properties for namespace 'one'."
    )
    assert client.ok("GET", path)["description"] == "e"
    assert client.ok("GET", "/v3/namespaces/default")["name"] == "default"
    client.ok("DELETE", "/v3/unrecoverable/namespaces/one")
    assert client.refused("DELETE", "/v3/unrecoverable/namespaces/one")[0] == 404


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("a-b", "{}", "Namespace id can contain only alphanumeric characters or '_'."),
        (
            "system",
            "{}",
            "Cannot create the namespace 'system'. 'system' is a reserved namespace.",
        ),
        ("x", "{", "Invalid json object provided in request body."),
        ("x", "[]", "Invalid json object provided in request body."),
        ("x", '{"config": 1}', "Invalid json object provided in request body."),
    ],
)
def test_namespaces_that_cannot_be_created(client, name, body, expected):
    assert client.refused("PUT", f"/v3/namespaces/{name}", content=body) == (400, expected)


def test_preferences_on_all_levels(client, pipeline):
    client.ok("PUT", f"{NS}/apps/preferred", pipeline)
    app = f"{NS}/apps/preferred"
    program = f"{app}/workflows/DataPipelineWorkflow"
    levels = [
        "/v3/preferences",
        f"{NS}/preferences",
        f"{app}/preferences",
        f"{program}/preferences",
    ]
    for number, path in enumerate(levels):
        assert client.ok("GET", path) == {}
        before = client.ok("GET", f"{path}/metadata")["seqId"]
        client.ok("PUT", path, {"level": number, f"own{number}": True})
        assert client.ok("GET", path) == {"level": str(number), f"own{number}": "true"}
        assert client.ok("GET", f"{path}/metadata")["seqId"] > before
    resolved = client.ok("GET", f"{program}/preferences?resolved=true")
    assert resolved == {"level": "3", **{f"own{number}": "true" for number in range(4)}}
    for path in levels:
        client.ok("DELETE", path)
        assert client.ok("GET", path) == {}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v3/namespaces/nope/preferences", (404, "Namespace nope not present")),
        (f"{NS}/apps/nope/preferences", (404, "Application nope in Namespace default not present")),
    ],
)
def test_preferences_of_what_is_not_there(client, path, expected):
    assert client.refused("GET", path) == expected
    assert client.refused("PUT", path, {}) == expected


@pytest.mark.parametrize(
    "body", ["[1]", "x", '{"a": {"b": 1}}', '{"a": []}', "{", "\x00", "[" * 5000]
)
def test_preferences_that_are_no_texts(client, body):
    assert client.refused("PUT", f"{NS}/preferences", content=body) == (400, "Invalid JSON in body")


def test_secure_keys(client):
    path = f"{NS}/securekeys/abc"
    client.ok("PUT", path, {"description": "d", "data": "s3cret", "properties": {"a": "b"}})
    response = client.send("GET", path)
    assert (response.text, response.headers["content-type"]) == (
        "s3cret",
        "text/plain;charset=utf-8",
    )
    assert client.ok("GET", f"{path}/metadata")["description"] == "d"
    assert [each["name"] for each in client.ok("GET", f"{NS}/securekeys/")] == ["abc"]
    blank = client.refused("PUT", path, {"data": "  "})
    assert blank == (
        400,
        "The data field must not be null or empty. The data will be stored securely under provided key name.",
    )
    assert client.refused("PUT", path)[1].startswith("Unable to parse the request.")
    client.ok("DELETE", path)
    missing = (404, "'securekey:default.abc' was not found.")
    assert client.refused("DELETE", path) == missing
    assert client.refused("GET", path) == client.refused("GET", f"{path}/metadata") == missing


def test_metadata_in_both_forms(client):
    client.ok("PUT", f"{NS}/data/datasets/orders", {"typeName": "table", "properties": {}})
    path = f"{NS}/datasets/orders"
    assert client.ok("POST", f"{path}/metadata/tags", ["daily", "finance"]) == (
        "Metadata tags for dataset: orders which exists in namespace: default added successfully."
    )
    client.ok("POST", f"{path}/metadata/properties", {"team": "blue", "size": 3})
    assert client.ok("GET", f"{path}/metadata/tags?scope=user") == ["daily", "finance"]
    assert client.ok("GET", f"{path}/metadata/properties?scope=USER") == {
        "team": "blue",
        "size": "3",
    }
    v5 = client.ok("GET", f"{path}/metadata?scope=user")
    entity = {"details": {"namespace": "default", "dataset": "orders"}, "type": "dataset"}
    assert v5 == [
        {
            "metadataEntity": entity,
            "scope": "USER",
            "properties": {"team": "blue", "size": "3"},
            "tags": ["daily", "finance"],
        }
    ]
    v6 = client.ok("GET", f"{path}/metadata?scope=USER&responseFormat=v6")
    assert {"name": "daily", "scope": "USER"} in v6["tags"]
    assert {"name": "team", "scope": "USER", "value": "blue"} in v6["properties"]
    found = client.ok("GET", f"{NS}/metadata/search?query=tags:daily&target=dataset&limit=10")
    assert found["total"] == 1
    assert found["results"][0]["metadataEntity"] == entity
    newer = client.ok(
        "GET", "/v3/metadata/search?query=tags:daily&responseFormat=v6&namespaces=default"
    )
    assert newer["totalResults"] == 1
    client.ok("DELETE", f"{path}/metadata/tags/daily")
    client.ok("DELETE", f"{path}/metadata/properties/team")
    assert client.ok("GET", f"{path}/metadata/tags?scope=USER") == ["finance"]
    client.ok("DELETE", f"{path}/metadata")
    assert client.ok("GET", f"{path}/metadata/properties?scope=USER") == {}


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "datasets/nope/metadata", None, 404),
        ("GET", "datasets/orders/metadata?scope=x", None, 400),
        ("POST", "datasets/orders/metadata/tags", {"a": 1}, 400),
        ("POST", "datasets/orders/metadata/properties", ["a"], 400),
        ("GET", "metadata/search?entityScope=x", None, 400),
        ("GET", "metadata/search?sort=size%20asc", None, 400),
        ("GET", "datasets/orders/lineage", None, 400),
        ("GET", "datasets/orders/lineage?start=now&end=0", None, 400),
        ("GET", "datasets/orders/lineage/fields/a?start=0&end=now", None, 400),
        ("GET", "datasets/orders/lineage/fields/a?start=0&end=now&direction=up", None, 400),
    ],
)
def test_wrong_calls_of_metadata(client, method, path, body, expected):
    assert client.refused(method, f"{NS}/{path}", body)[0] == expected


def test_a_custom_entity_has_metadata(client):
    path = f"{NS}/datasets/orders/field/price/metadata"
    client.ok("POST", f"{path}/tags", ["money"])

    found = client.ok("GET", f"{path}?scope=USER")

    assert found[0]["metadataEntity"]["type"] == "field"
    assert found[0]["tags"] == ["money"]


def test_datasets(client):
    path = f"{NS}/data/datasets/files"
    client.ok("PUT", path, {"typeName": "fileSet", "properties": {"a": "1"}, "description": "d"})
    listed = client.ok("GET", f"{NS}/data/datasets/")
    assert {
        "name": "files",
        "type": "fileSet",
        "description": "d",
        "properties": {"a": "1"},
    } in listed
    assert client.ok("POST", f"{NS}/data/datasets", {"a": "1"}) == [
        each for each in listed if each["name"] == "files"
    ]
    found = client.ok("GET", path)
    assert found["spec"]["name"] == "files"
    assert found["type"]["name"] == "fileSet"
    client.ok("PUT", f"{path}/properties", {"a": "2"})
    assert client.ok("GET", f"{path}/properties") == {"a": "2"}
    assert client.ok("POST", f"{path}/admin/exists") == {"result": True, "message": None}
    client.ok("POST", f"{path}/admin/truncate")
    assert client.refused("POST", f"{path}/admin/drop") == (404, "Invalid admin operation: drop")
    assert client.refused("POST", f"{path}/data/read")[0] == 501
    assert client.refused("PUT", path, {"typeName": "fileSet"})[0] == 409
    assert client.refused("PUT", f"{NS}/data/datasets/other", {"typeName": "nope"})[0] == 404
    assert client.refused("PUT", f"{NS}/data/datasets/other", {})[0] == 400
    client.ok("DELETE", path)
    missing = (404, "'dataset:default.files' was not found.")
    assert client.refused("GET", path) == client.refused("DELETE", path) == missing
    assert client.refused("PUT", f"{path}/properties", {}) == missing
    assert client.ok("POST", f"{path}/admin/exists")["result"] is False
    types = client.ok("GET", f"{NS}/data/types")
    assert "table" in [each["name"] for each in types]
    assert client.refused("GET", f"{NS}/data/types/nope")[0] == 404


def test_a_python_artifact_can_be_used_when_it_is_uploaded(client):
    path = f"{NS}/artifacts/echo"
    headers = {
        "Artifact-Version": "1.2.0",
        "Artifact-Extends": "system:cdap-data-pipeline[6.0.0,7.0.0)",
    }

    assert client.ok("POST", path, content=PLUGIN, headers=headers) == "Artifact added successfully"

    listed = client.ok("GET", f"{NS}/artifacts?scope=user")
    assert {"name": "echo", "version": "1.2.0", "scope": "USER"} in listed
    assert client.refused("POST", path, content=PLUGIN, headers=headers)[0] == 409
    detail = client.ok("GET", f"{path}/versions/1.2.0")
    assert [each["name"] for each in detail["classes"]["plugins"]] == ["Echo"]
    data_pipeline = f"{NS}/artifacts/cdap-data-pipeline/versions/6.10.0/extensions"
    plugins = client.ok("GET", f"{data_pipeline}/transform?scope=system&capability=pii")
    assert [(each["name"], each["capability"]) for each in plugins] == [
        ("Echo", ["mode_native", "pii"])
    ]
    assert "transform" in client.ok("GET", f"{data_pipeline}?scope=system")
    info = client.ok(
        "GET", f"{data_pipeline}/transform/plugins/Echo?scope=system&limit=1&order=DESC"
    )
    assert info[0]["properties"]["text"]["macroSupported"] is True
    client.ok("PUT", f"{path}/versions/1.2.0/properties", {"a": "1", "b": "2"})
    assert client.ok("GET", f"{path}/versions/1.2.0/properties?keys=a,z") == {"a": "1", "z": None}
    client.ok("DELETE", f"{path}/versions/1.2.0/properties/a")
    assert client.ok("GET", f"{path}/versions/1.2.0/properties") == {"b": "2"}
    client.ok("DELETE", f"{path}/versions/1.2.0")
    assert client.refused("GET", f"{path}/versions/1.2.0")[0] == 404


def test_an_upload_that_fails_leaves_the_artifact_before_it(client):
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tested_plugins/__init__.py", PLUGIN)
        information = "tested_plugins-1.0.0.dist-info"
        archive.writestr(f"{information}/METADATA", "Name: tested-plugins\nVersion: 1.0.0\n")
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
    body, headers = wheel.getvalue(), {"Artifact-Version": "1.0.0"}
    client.ok("POST", f"{NS}/artifacts/tested-plugins", content=body, headers=headers)

    other = client.refused("POST", f"{NS}/artifacts/other", content=body, headers=headers)

    assert other[0] == 409
    snapshot = {"Artifact-Version": "1.0.0-SNAPSHOT"}
    client.ok("POST", f"{NS}/artifacts/echo", content=PLUGIN, headers=snapshot)
    assert client.refused("POST", f"{NS}/artifacts/echo", content="1 +", headers=snapshot)[0] == 400
    listed = client.ok("GET", f"{NS}/artifacts?scope=USER")
    assert [(each["name"], each["version"]) for each in listed] == [
        ("echo", "1.0.0-SNAPSHOT"),
        ("tested-plugins", "1.0.0"),
    ]
    for each in listed:
        client.ok("DELETE", f"{NS}/artifacts/{each['name']}/versions/{each['version']}")


def test_a_jar_is_listed_and_never_run(client):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    declared = [{"name": "Mine", "type": "transform", "className": "a.Mine", "properties": {}}]
    headers = {
        "Artifact-Version": "2.0.0",
        "Artifact-Extends": "system:cdap-data-pipeline[6.0.0,7.0.0)",
        "Artifact-Plugins": json.dumps(declared),
    }
    path = f"{NS}/artifacts/java-plugins"

    answer = client.ok("POST", path, content=archive.getvalue(), headers=headers)

    assert "cannot run its plugins" in answer
    detail = client.ok("GET", f"{path}/versions/2.0.0?scope=user")
    assert detail["classes"]["plugins"] == declared
    client.ok("PUT", f"{path}/versions/2.0.0/properties", {"widgets.Mine-transform": "{}"})
    assert client.refused("POST", path, content=archive.getvalue(), headers=headers)[0] == 409
    client.ok("DELETE", f"{path}/versions/2.0.0")
    assert client.refused("GET", path)[0] == 404


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (b"", {"Artifact-Version": "1.0.0"}, "The body is empty"),
        (b"x", {}, "The version of the artifact is missing"),
        (b"x", {"Artifact-Version": "../1"}, "Invalid artifact id"),
        (b"PK\x03\x04broken", {"Artifact-Version": "1.0.0"}, "cannot be read"),
        (b"raise ValueError('no')", {"Artifact-Version": "1.0.0"}, "Invalid artifact"),
        (
            b"x",
            {"Artifact-Version": "1.0.0", "Artifact-Plugins": "{"},
            "Unable to parse the plugins",
        ),
    ],
)
def test_artifacts_that_cannot_be_used_leave_nothing(client, body, headers, expected):
    status, text = client.refused("POST", f"{NS}/artifacts/bad", content=body, headers=headers)

    assert status == 400
    assert expected in text
    assert "bad" not in [each["name"] for each in client.ok("GET", f"{NS}/artifacts?scope=USER")]


def test_wrong_calls_of_artifacts(client):
    assert client.refused("GET", f"{NS}/artifacts?scope=x") == (400, "Invalid scope x")
    assert client.refused("GET", f"{NS}/artifacts/nope") == (
        404,
        "'artifact:default.nope' was not found.",
    )
    assert (
        client.refused("GET", f"{NS}/artifacts/cdap-data-pipeline?scope=system&order=up")[0] == 400
    )
    assert client.refused("DELETE", f"{NS}/artifacts/core-plugins/versions/1")[0] == 404
    plugin = f"{NS}/artifacts/cdap-data-pipeline/versions/6.10.0/extensions/transform/plugins/Nope"
    assert client.refused("GET", f"{plugin}?scope=system")[0] == 404


def test_services_of_system_applications(client):
    base = "/v3/namespaces/system/apps/dataprep/services/service"
    found = client.ok("GET", f"{base}/methods/v2/contexts/default/workspaces")
    assert found["values"] == []
    assert client.ok("GET", f"{base}/status") == {"status": "RUNNING"}
    assert client.ok("GET", f"{base}/available").startswith("Service is available")
    client.ok("POST", f"{base}/start")
    reports = "/v3/namespaces/system/apps/ReportGenerationApp/spark/ReportGenerationSpark/methods"
    assert client.ok("GET", f"{reports}/reports")["total"] == 0
    status, text = client.refused("GET", f"{reports}/reports/info?report-id=nope")
    assert status in (400, 404)
    assert not text.startswith("{")
    assert client.refused("GET", "/v3/namespaces/system/apps/nope/services/s/methods/x")[0] == 404
    assert client.refused("GET", f"{NS}/apps/dataprep/services/service/methods/x")[0] == 404
