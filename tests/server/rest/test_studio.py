"""The studio service: the examples of the design "Pipeline System Application", sent as they are there."""

from __future__ import annotations

import time

import pytest

from tests.server.rest.client import NS, STUDIO

SCHEMA = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "id", "type": "int"}, {"name": "price", "type": "double"}],
}


def get_stage(**properties: str) -> dict:
    return {
        "name": "agg",
        "plugin": {
            "type": "batchaggregator",
            "name": "GroupByAggregate",
            "artifact": {"scope": "SYSTEM", "name": "core-plugins", "version": "[2.0.0,3.0.0)"},
            "properties": {"groupByFields": "id", "aggregates": "total:sum(price)"} | properties,
        },
    }


@pytest.mark.parametrize("application", ["pipeline", "pipelines"])
def test_a_stage_is_validated(client, application):
    path = STUDIO.replace("/pipeline/", f"/{application}/")
    body = {"stage": get_stage(), "inputSchemas": [{"stage": "src", "schema": SCHEMA}]}

    found = client.ok("POST", f"{path}/validations/stage", body)

    assert found["errors"] == found["failures"] == []
    assert found["spec"]["inputSchemas"] == {"src": SCHEMA}
    assert [each["name"] for each in found["spec"]["outputSchema"]["fields"]] == ["id", "total"]
    assert found["spec"]["plugin"]["artifact"]["name"] == "core-plugins"


def test_an_invalid_stage_has_failures(client):
    body = {
        "stage": get_stage(groupByFields="idd"),
        "inputSchemas": [{"stage": "src", "schema": SCHEMA}],
    }

    found = client.ok("POST", f"{STUDIO}/validations/stage", body)

    failure = found["failures"][0]
    assert failure["message"] == (
        "Cannot group by field 'idd' because it does not exist in input schema."
    )
    assert failure["causes"][0]["attributes"] == {
        "stageConfig": "groupByFields",
        "configElement": "idd",
    }
    assert found["errors"] == found["failures"]
    assert found["spec"] is None


def test_a_missing_plugin_has_a_suggestion(client):
    stage = get_stage()
    stage["plugin"]["artifact"]["version"] = "1.0.0"

    found = client.ok("POST", f"{STUDIO}/validations/stage", {"stage": stage, "inputSchemas": []})

    assert found["errors"][0]["type"] == "Artifact Not Found"
    assert found["errors"][0]["suggestedArtifact"]["name"] == "core-plugins"


def test_a_pipeline_is_validated(client, pipeline):
    found = client.ok("POST", f"{STUDIO}/validations/pipeline", pipeline)
    assert found["errors"] == []
    assert [each["name"] for each in found["spec"]["stages"]] == ["src", "agg", "out"]

    pipeline["config"]["connections"][1]["to"] = "nope"
    found = client.ok("POST", f"{STUDIO}/validations/pipeline", pipeline)
    assert len(found["failures"]) == 2
    assert found["spec"] is None


def test_a_stage_runs_on_given_records(client):
    stage = {
        "name": "renamed",
        "plugin": {
            "type": "transform",
            "name": "Projection",
            "properties": {"rename": "price:cost"},
        },
    }
    body = {
        "namespace": "default",
        "stage": stage,
        "input": [{"stage": "src", "schema": SCHEMA, "records": [{"id": 1, "price": 2.5}]}],
    }

    found = client.ok("POST", f"{STUDIO}/validations/output", body)

    assert found["errors"] == []
    assert found["output"]["records"] == [{"id": 1, "cost": 2.5}]


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (
            "validations/stage",
            '{"inputSchemas": []}',
            (400, "Invalid stage config: Pipeline stage"),
        ),
        ("validations/stage", "{", (400, "Unable to decode request body: ")),
        ("validations/stage", "[]", (400, "Unable to decode request body: ")),
        ("validations/stage", '{"stage": {}, "inputSchemas": 1}', (400, "Invalid stage config")),
        (
            "validations/stage",
            '{"stage": {"name": 1}, "inputSchemas": 1}',
            (400, "Unable to decode"),
        ),
        ("validations/pipeline", "", (400, "Request body is empty")),
        ("validations/output", "{}", (400, "Request body is empty")),
        ("methods/list", '{"request": 1}', (400, "Invalid request: a plugin")),
        ("methods/list", '{"plugin": {"type": "transform", "name": "Nope"}}', (404, "")),
    ],
)
def test_wrong_calls(client, path, body, expected):
    status, text = client.refused("POST", f"{STUDIO}/{path}", content=body)

    assert status == expected[0]
    assert text.startswith(expected[1])


def test_an_unknown_namespace(client):
    path = STUDIO.replace("/default", "/nope")
    assert client.refused("POST", f"{path}/validations/stage", {"stage": {}}) == (
        404,
        "Namespace 'nope' does not exist",
    )
    assert client.refused("GET", f"{path}/drafts")[0] == 404
    assert client.refused("GET", f"{path}/connections")[0] == 404


def test_drafts(client, pipeline):
    path = f"{STUDIO}/drafts/1234-5678"
    client.ok("PUT", f"{path}/", {**pipeline, "name": "Sums", "revision": 0, "previousHash": ""})
    assert client.ok("GET", f"{path}/")["config"] == pipeline["config"]
    listed = client.ok(
        "GET", f"{STUDIO}/drafts/?sortBy=updatedTimeMillis&sortOrder=DESC&filter=SUM"
    )
    assert [(each["id"], each["name"]) for each in listed] == [("1234-5678", "Sums")]
    assert "config" not in listed[0]
    wrong = client.refused("GET", f"{STUDIO}/drafts?sortBy=colour")
    assert wrong[0] == 400
    assert wrong[1].startswith("Invalid value 'colour' for sortBy.")
    bad = {**pipeline, "artifact": {"name": "other", "version": "1", "scope": "SYSTEM"}}
    assert client.refused("PUT", path, bad)[0] == 400
    client.ok("DELETE", f"{path}/")
    missing = (404, "Draft '1234-5678' in namespace 'default' not found.")
    assert client.refused("GET", path) == client.refused("DELETE", path) == missing


def test_connections(client, tmp_path):
    (tmp_path / "people.csv").write_text("name,age\nAda,36\n")
    body = {
        "description": "d",
        "category": "File",
        "connectionType": "File",
        "plugin": {"name": "File", "type": "connector", "category": "File", "properties": {}},
    }
    path = f"{STUDIO}/connections/My%20files"
    client.ok("PUT", path, body)
    same_id = (
        "Connection My files in namespace default has same id my_files. Please choose a different "
        "connection name."
    )
    assert client.refused("PUT", path.replace("%20", "-"), body) == (409, same_id)
    client.ok("PUT", path, body)  # the original replaces what has the same name
    assert [each["name"] for each in client.ok("GET", f"{STUDIO}/connections")] == ["My files"]
    client.ok("PUT", path.replace("%20", "-"), body | {"overWrite": True})
    assert [each["name"] for each in client.ok("GET", f"{STUDIO}/connections")] == ["My-files"]
    client.ok("PUT", path, body | {"overWrite": True})
    assert client.ok("POST", f"{STUDIO}/connections/test", body) == ""
    listed = client.ok("POST", f"{path}/browse", {"path": str(tmp_path), "limit": 10})
    assert [each["name"] for each in listed["entities"]] == ["people.csv"]
    assert client.refused("POST", f"{path}/browse") == (400, "The request body is empty")
    assert client.refused("POST", f"{path}/browse", {"limit": 1}) == (
        400,
        "Path is not provided in the browse request",
    )
    sample = client.ok("POST", f"{path}/sample", {"path": str(tmp_path / "people.csv"), "limit": 5})
    assert len(sample["sample"]) == 1
    client.ok("DELETE", path)
    missing = (404, "Connection 'My files' in namespace 'default' not found.")
    assert client.refused("GET", path) == client.refused("DELETE", path) == missing
    for method in ("browse", "sample", "specification"):
        assert client.refused("POST", f"{path}/{method}", {"path": "/", "limit": 1}) == missing
    system = STUDIO.replace("/default", "/system")
    assert client.refused("GET", f"{system}/connections") == (
        400,
        "Listing connections in system namespace is currently not supported",
    )


@pytest.mark.spark
def test_a_preview_shows_the_records_of_stages(client, engine, pipeline, source):
    body = {
        **pipeline,
        "preview": {
            "programName": "DataPipelineWorkflow",
            "programType": "WORKFLOW",
            "runtimeArgs": {"in.path": str(source)},
            "timeout": 2,
        },
    }
    made = client.ok("POST", f"{NS}/previews", body)
    assert made["entity"] == "APPLICATION"
    path = f"{NS}/previews/{made['application']}"
    deadline = time.monotonic() + 60
    while (status := client.ok("GET", f"{path}/status"))["status"] in (
        "WAITING",
        "INIT",
        "RUNNING",
    ):
        assert time.monotonic() < deadline
    assert status["status"] == "COMPLETED", status
    records = client.ok("GET", f"{path}/tracers/agg")["records.out"]
    assert {(each["fields"]["id"], each["fields"]["total"]) for each in records} == {
        (1, 3.5),
        (2, 3.0),
    }
    several = client.ok("POST", f"{path}/tracers", {"tracers": ["src", "agg"]})
    assert len(several["src"]["records.out"]) == 3
    assert client.refused("POST", f"{path}/tracers", {"tracers": []}) == (
        400,
        "Tracer names cannot be empty.",
    )
    assert client.refused("POST", f"{path}/tracers") == (400, "The body is not provided.")


def test_a_preview_of_an_invalid_pipeline_ends(client, pipeline):
    pipeline["config"]["connections"][1]["to"] = "nope"
    path = f"{NS}/previews/{client.ok('POST', f'{NS}/previews', pipeline)['application']}"
    deadline = time.monotonic() + 60
    while (status := client.ok("GET", f"{path}/status"))["status"] in ("WAITING", "INIT"):
        assert time.monotonic() < deadline
    assert status["status"] == "DEPLOY_FAILED"
    assert "nope is not a stage" in status["throwable"]["message"]
    assert client.refused("GET", f"{NS}/previews/nope/status")[0] == 404
