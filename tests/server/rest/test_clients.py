"""What Airflow, Terraform, the CDAP CLI and scripts send, in their order, and what they need in the answers.

Terraform's requests are those of the provider ``cdap``; what Airflow really sends is in ``test_airflow.py``.
"""

from __future__ import annotations

import io
import json
import time
import uuid
import zipfile

import pytest

from tests.server.rest.client import NS, WORKFLOW

IN_USE = (
    "Profile dataproc in namespace default is currently enabled. A profile can only be deleted if it is "
    "disabled"
)
UNKNOWN_RUN = "3c001446-e842-11f1-8216-02fc00000001"


def wait_for_end(client, cdap, address: str) -> dict:
    """Return the record of a run as soon as it has ended."""
    deadline = time.monotonic() + 60
    run = cdap.runs.get("default", address.rpartition("/")[2])
    while not run.status.is_end:
        assert time.monotonic() < deadline, run
        run = cdap.runs.wait(run.run, run.version, 5)
    return client.ok("GET", address)


@pytest.mark.spark
def test_airflow_runs_a_pipeline(client, cdap, engine, pipeline, source):
    headers = {"Content-Type": "application/json", "Authorization": "Bearer ya29.x"}
    url = f"/api{NS}/apps"
    artifacts = client.ok("GET", f"/api{NS}/artifacts", params={"scope": "SYSTEM"}, headers=headers)
    assert "cdap-data-pipeline" in [each["name"] for each in artifacts]

    client.ok("PUT", f"{url}/csv2table", content=json.dumps(pipeline), headers=headers)

    body = [
        {
            "appId": "csv2table",
            "programType": "workflow",
            "programId": "DataPipelineWorkflow",
            "runtimeargs": {"in.path": str(source), "limit": 3},
        }
    ]
    started = client.ok("POST", f"/api{NS}/start", content=json.dumps(body), headers=headers)
    run = started[0]["runId"]
    address = f"{url}/csv2table/{WORKFLOW}/runs/{run}"
    assert client.ok("GET", address, headers=headers)["runid"] == run
    # Both delete and stop are sent while it runs, or has just ended.
    deleted = client.send("DELETE", f"{url}/csv2table", headers=headers)
    assert deleted.status_code == 409
    record = wait_for_end(client, cdap, address)
    assert record["status"] == "COMPLETED"
    assert json.loads(record["properties"]["runtimeArgs"]) == {
        "in.path": str(source),
        "limit": "3",
    }
    assert record["starting"] <= record["start"] <= record["end"] <= time.time() + 1
    assert client.refused("POST", f"{url}/csv2table/{WORKFLOW}/stop", headers=headers)[0] == 400
    listed = client.ok("GET", f"{url}/artifactName=cdap-data-pipeline", headers=headers)
    assert [each["name"] for each in listed] == ["csv2table"]
    check_what_a_run_left(client, run)
    client.ok("DELETE", f"{url}/csv2table", headers=headers)
    assert client.refused("GET", f"{url}/csv2table", headers=headers)[0] == 404


def check_what_a_run_left(client, run: str) -> None:
    """Logs, metrics, lineage, the dashboard and lists of runs know the run."""
    program = f"{NS}/apps/csv2table/{WORKFLOW}"
    runs = client.ok("GET", f"{program}/runs", params={"status": "completed", "limit": "10"})
    assert [each["runid"] for each in runs] == [run]
    assert client.ok("GET", f"{program}/runs", params={"end": "1000"}) == []
    assert client.ok("GET", f"{program}/runs", params={"status": "REJECTED"}) == []
    assert client.ok("GET", f"{program}/status") == {"status": "STOPPED"}
    text = client.ok("GET", f"{program}/runs/{run}/logs", params={"escape": "false"})
    assert "Pipeline 'csv2table' succeeded" in text
    assert "&#x27;csv2table&#x27;" in client.ok("GET", f"{program}/logs")
    lines = client.ok("GET", f"{program}/runs/{run}/logs", params={"format": "json"})
    first = client.ok("GET", f"{program}/runs/{run}/logs/next?format=json&max=1")
    rest = client.ok(
        "GET", f"{program}/runs/{run}/logs/next?format=json&fromOffset={first[0]['offset']}"
    )
    assert [*first, *rest] == lines
    last = client.ok("GET", f"{program}/runs/{run}/logs/prev?format=json&max=1")
    before = client.ok(
        "GET", f"{program}/runs/{run}/logs/prev?format=json&fromOffset={last[0]['offset']}"
    )
    assert [*before, *last] == lines
    assert client.ok("GET", f"{program}/logs?filter=loglevel=ERROR") == ""
    tags = "tag=namespace:default&tag=app:csv2table"
    names = client.ok("POST", f"/v3/metrics/search?target=metric&{tags}")
    assert "user.src.records.out" in names
    query = {
        "tags": {"namespace": "default", "app": "csv2table", "run": run},
        "metrics": ["user.src.records.out", "user.out.records.in"],
    }
    series = client.ok("POST", "/v3/metrics/query", {"q": query})["q"]["series"]
    assert [each["data"][0]["value"] for each in series] == [3, 2]
    lineage = client.ok("GET", f"{NS}/datasets/totals/lineage?start=now-1d&end=now&levels=1")
    assert {each["data"] for each in lineage["relations"]} == {
        "dataset.default.src",
        "dataset.default.totals",
    }
    fields = client.ok("GET", f"{NS}/datasets/totals/lineage/fields?start=0&end=now")
    assert fields == ["id", "n", "total"]
    shown = client.ok("GET", "/v3/dashboard?start=0&duration=4000000000&namespace=default")
    assert [each["run"] for each in shown] == [run]
    counted = client.ok(
        "POST",
        f"{NS}/runcount",
        [{"appId": "csv2table", "programType": "Workflow", "programId": "DataPipelineWorkflow"}],
    )
    assert counted[0]["runCount"] == 1


def test_terraform_manages_a_namespace(client):
    client.ok("PUT", "/v3/namespaces/staging")
    assert "staging" in [each["name"] for each in client.ok("GET", "/v3/namespaces")]
    preferences = {"bucket": "gs://x", "system.profile.name": "SYSTEM:native"}
    client.ok("PUT", "/v3/namespaces/staging/preferences", preferences)
    assert client.ok("GET", "/v3/namespaces/staging/preferences") == preferences
    client.ok("DELETE", "/v3/namespaces/staging/preferences")
    assert client.ok("GET", "/v3/namespaces/staging/preferences") == {}
    client.ok("DELETE", "/v3/unrecoverable/namespaces/staging")
    assert "staging" not in [each["name"] for each in client.ok("GET", "/v3/namespaces")]


def test_terraform_manages_an_application(client, pipeline):
    client.ok("PUT", f"{NS}/apps/by_terraform", content=json.dumps(pipeline))
    assert "by_terraform" in [each["name"] for each in client.ok("GET", f"{NS}/apps")]
    client.ok("DELETE", f"{NS}/apps/by_terraform")
    assert "by_terraform" not in [each["name"] for each in client.ok("GET", f"{NS}/apps")]


def test_terraform_manages_a_profile(client):
    profile = {
        "label": "Ephemeral",
        "description": "A cluster",
        "provisioner": {
            "name": "gcp-dataproc",
            "properties": [{"name": "region", "value": "europe-west1", "isEditable": False}],
        },
    }
    client.ok("PUT", f"{NS}/profiles/dataproc", profile)
    found = client.ok("GET", f"{NS}/profiles")
    assert [(each["name"], each["scope"], each["status"]) for each in found] == [
        ("dataproc", "USER", "ENABLED")
    ]
    assert found[0]["provisioner"] == profile["provisioner"]
    assert client.refused("DELETE", f"{NS}/profiles/dataproc") == (
        409,
        IN_USE,
    )
    client.ok("POST", f"{NS}/profiles/dataproc/disable")
    assert client.refused("POST", f"{NS}/profiles/dataproc/disable")[0] == 409
    client.ok("DELETE", f"{NS}/profiles/dataproc")
    assert client.ok("GET", f"{NS}/profiles") == []
    listed = client.ok("GET", f"{NS}/profiles?includeSystem=true")
    assert [each["name"] for each in listed] == ["native"]


def test_terraform_manages_an_artifact(client):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    parents = ("system:cdap-data-pipeline[6.0.0,7.0.0)", "system:cdap-data-streams[6.0.0,7.0.0)")
    headers = {"Artifact-Version": "1.0.0", "Artifact-Extends": "/".join(parents)}
    path = f"{NS}/artifacts/by-terraform"

    client.ok("POST", path, content=archive.getvalue(), headers=headers)
    client.ok("PUT", f"{path}/versions/1.0.0/properties", {"widgets.a-b": "{}", "doc.a-b": "text"})

    listed = client.ok("GET", f"{NS}/artifacts")
    assert "by-terraform" in [each["name"] for each in listed]
    assert client.ok("GET", f"{path}/versions/1.0.0/properties")["doc.a-b"] == "text"
    client.ok("DELETE", f"{path}/versions/1.0.0")
    listed = client.ok("GET", f"{NS}/artifacts")
    assert "by-terraform" not in [each["name"] for each in listed]


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("PUT", "/v3/namespaces/system/profiles/p", {}, 405),
        ("PUT", "/v3/profiles/native", {"provisioner": {"name": "native"}}, 405),
        ("DELETE", "/v3/profiles/native", None, 405),
        ("POST", "/v3/profiles/native/disable", None, 405),
        ("PUT", f"{NS}/profiles/p", {"provisioner": {"name": "nope"}}, 400),
        ("PUT", f"{NS}/profiles/p", {}, 400),
        ("GET", f"{NS}/profiles/p", None, 404),
        ("POST", f"{NS}/profiles/p/enable", None, 404),
    ],
)
def test_wrong_calls_of_profiles(client, method, path, body, expected):
    assert client.refused(method, path, body)[0] == expected


def test_a_logical_start_time_that_is_none_is_refused(client, pipeline):
    client.ok("PUT", f"{NS}/apps/late", content=json.dumps(pipeline))
    arguments = {"in.path": "/nowhere/in.csv", "logical.start.time": "yesterday"}

    status, text = client.refused("POST", f"{NS}/apps/late/{WORKFLOW}/start", arguments)

    assert status == 400
    assert "'yesterday', which is not a time in milliseconds" in text
    assert client.ok("GET", f"{NS}/apps/late/{WORKFLOW}/runs") == []


def test_terraform_finds_its_run_by_an_argument(client, pipeline):
    client.ok("PUT", f"{NS}/apps/marked", content=json.dumps(pipeline))
    mark = str(uuid.uuid4())
    arguments = {"__FAUX_RUN_ID__": mark, "in.path": "/nowhere/in.csv"}

    client.ok("POST", f"{NS}/apps/marked/{WORKFLOW}/start", arguments)

    runs = client.ok("GET", f"{NS}/apps/marked/{WORKFLOW}/runs")
    found = [
        each for each in runs if mark in json.loads(each["properties"]["runtimeArgs"]).values()
    ]
    assert len(found) == 1
    address = f"{NS}/apps/marked/{WORKFLOW}/runs/{found[0]['runid']}"
    stopped = client.send("POST", f"{address}/stop")
    assert stopped.status_code in (200, 400)  # it may have failed already: there is no such file
    assert client.ok("GET", address)["status"] in ("KILLED", "FAILED")


def test_a_shell_script_starts_with_an_empty_object(client, pipeline):
    app = f"{NS}/apps/by_script"
    client.ok("PUT", app, content=json.dumps(pipeline))
    client.ok("PUT", f"{app}/preferences", {"in.path": "/nowhere/in.csv"})

    client.ok("POST", f"{app}/{WORKFLOW}/start", content="{}")

    (run,) = client.ok("GET", f"{app}/{WORKFLOW}/runs")
    assert run["status"] in ("PENDING", "STARTING", "RUNNING", "FAILED")
    assert client.send("POST", f"{app}/{WORKFLOW}/stop").status_code in (200, 400)
    (run,) = client.ok("GET", f"{app}/{WORKFLOW}/runs")
    assert run["status"] in ("KILLED", "FAILED")


def test_the_cli_asks_for_system_services(client):
    services = "/v3/system/services"
    names = [each["name"] for each in client.ok("GET", services)]
    assert client.ok("GET", f"{services}/status") == dict.fromkeys(names, "OK")
    for rest, expected in (
        ("status", {"status": "OK"}),
        ("instances", {"requested": 1, "provisioned": 1}),
        ("live-info", {"containers": []}),
    ):
        assert client.ok("GET", f"{services}/metrics/{rest}") == expected
        assert client.refused("GET", f"{services}/nope/{rest}") == (
            404,
            "Invalid service name nope",
        )


def test_the_cli_names_the_version_in_every_path(client, pipeline):
    assert client.ok("GET", "/ping") == "OK.\n"
    assert client.ok("GET", "/v3/version")["version"]
    app = f"{NS}/apps/by_cli"
    client.ok("POST", f"{app}/versions/-SNAPSHOT/create", pipeline)
    client.ok("PUT", app, pipeline)
    versions = client.ok("GET", f"{app}/versions")
    assert len(versions) == 2
    for version in ("-SNAPSHOT", versions[0]):
        program = f"{app}/versions/{version}/{WORKFLOW}"
        assert client.ok("GET", f"{program}/status") == {"status": "STOPPED"}
        assert client.ok("GET", f"{program}/runs?status=all&limit=25") == []
        assert client.ok("GET", f"{program}/logs") == ""
        assert client.refused("POST", f"{program}/stop")[0] == 400
        assert client.ok("GET", f"{app}/versions/{version}")["appVersion"] == versions[0]
    program = f"{app}/versions/-SNAPSHOT/{WORKFLOW}"
    client.ok("PUT", f"{program}/runtimeargs", {"in.path": "/data"})
    assert client.ok("GET", f"{program}/runtimeargs") == {"in.path": "/data"}
    client.ok("DELETE", f"{app}/versions/{versions[1]}")
    assert client.ok("GET", f"{app}/versions") == versions[:1]
    client.ok("DELETE", f"{app}/versions/-SNAPSHOT")
    assert client.refused("GET", app)[0] == 404


def test_scripts_read_the_configuration_as_text(client, pipeline):
    client.ok("PUT", f"{NS}/apps/scripted", pipeline)

    detail = client.ok("GET", f"{NS}/apps/scripted")

    assert json.loads(detail["configuration"])["stages"][0]["name"] == "src"
    assert "cdap-data-pipeline" in detail["artifact"]["name"]
    assert detail["programs"] == [
        {"type": "Workflow", "app": "scripted", "name": "DataPipelineWorkflow", "description": ""}
    ]
    assert client.ok("GET", "/status") == "OK.\n"
    drafts = {"hydratorDrafts": {"default": {"1": {"name": "d", "config": {}}}}}
    client.ok("PUT", "/v3/configuration/user", drafts)
    assert client.ok("GET", "/v3/configuration/user")["property"] == drafts


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "start", {"appId": "x"}, 400),
        ("POST", "start", [{"appId": "x", "programType": "workflow"}], 400),
        ("POST", "start", ["x"], 400),
        ("POST", f"apps/nope/{WORKFLOW}/start", {}, 404),
        ("POST", f"apps/nope/{WORKFLOW}/stop", None, 404),
        ("GET", f"apps/nope/{WORKFLOW}/runs/{UNKNOWN_RUN}", None, 404),
        ("GET", f"apps/nope/{WORKFLOW}/status", None, 404),
        ("GET", "apps/nope/flows/F/status", None, 400),
        ("POST", f"apps/nope/{WORKFLOW}/debug", None, 501),
        ("POST", f"apps/nope/{WORKFLOW}/jump", None, 404),
        ("POST", f"apps/nope/{WORKFLOW}/runs/x/stop", None, 400),
        ("POST", f"apps/nope/{WORKFLOW}/runs/{UNKNOWN_RUN}/stop?graceful=-1", None, 400),
        ("PUT", "apps/a%20b", {"config": {"stages": []}}, 400),
        ("PUT", "apps/empty", None, 400),
        ("DELETE", "apps/nope", None, 404),
        ("GET", "apps/nope/schedules", None, 404),
    ],
)
def test_wrong_calls_of_programs(client, method, path, body, status):
    assert client.refused(method, f"{NS}/{path}", body)[0] == status


@pytest.mark.parametrize(
    ("method", "path", "entity"),
    [
        ("GET", "default/apps/nope", "application:default.nope.-SNAPSHOT"),
        ("DELETE", "default/apps/nope", "application:default.nope.-SNAPSHOT"),
        ("GET", "default/apps/nope/versions/1.0", "application:default.nope.1.0"),
        ("GET", f"default/apps/nope/{WORKFLOW}/status", "application:default.nope.-SNAPSHOT"),
        ("GET", "nope", "namespace:nope"),
        ("GET", "nope/apps", "namespace:nope"),
        ("GET", "nope/apps/x", "namespace:nope"),
    ],
)
def test_what_is_not_there_is_named_as_by_the_original(client, method, path, entity):
    expected = (404, f"'{entity}' was not found.")
    assert client.refused(method, f"/v3/namespaces/{path}") == expected


def test_each_start_of_several_has_a_code_of_its_own(client):
    empty = client.ok("POST", f"{NS}/start", [])
    wrong = {"appId": "missing", "programType": "workflow", "programId": "DataPipelineWorkflow"}

    answers = client.ok("POST", f"{NS}/start", [wrong, {**wrong, "programType": "flow"}])

    assert empty == []
    assert [each["statusCode"] for each in answers] == [404, 400]
    assert answers[0]["programType"] == "Workflow"
    assert "missing" in answers[0]["error"]
    statuses = client.ok("POST", f"{NS}/status", [wrong])
    assert statuses[0]["statusCode"] == 404
    assert "status" not in statuses[0]


def test_an_invalid_pipeline_is_refused_with_all_failures(client, pipeline):
    pipeline["config"]["connections"][1]["to"] = "nope"

    status, text = client.refused("PUT", f"{NS}/apps/broken", pipeline)

    assert status == 400
    assert "Invalid connection agg -> nope. nope is not a stage." in text
    assert "Stage out is unreachable" in text


def test_applications_in_pages(client, pipeline):
    for name in ("page_a", "page_b", "page_c"):
        client.ok("PUT", f"{NS}/apps/{name}", pipeline)
    query = {"nameFilter": "PAGE_", "pageSize": "2"}

    first = client.ok("GET", f"{NS}/apps", params=query)
    second = client.ok("GET", f"{NS}/apps", params=query | {"pageToken": first["nextPageToken"]})
    down = client.ok("GET", f"{NS}/apps", params={"nameFilter": "page_", "orderBy": "DESC"})

    assert [each["name"] for each in first["applications"]] == ["page_a", "page_b"]
    assert [each["name"] for each in second["applications"]] == ["page_c"]
    assert "nextPageToken" not in second
    assert [each["name"] for each in down] == ["page_c", "page_b", "page_a"]
    assert client.ok("GET", f"{NS}/apps?artifactName=cdap-data-streams") == []
    details = client.ok("POST", f"{NS}/appdetail", [{"appId": "page_a"}, {"appId": "page_z"}])
    assert [each["statusCode"] for each in details] == [200, 404]


def test_all_versions_of_applications(client, pipeline):
    versions = {}
    for name in ("history", "History-2"):
        for change in ("first", "second", "third"):
            made = client.ok("PUT", f"{NS}/apps/{name}", pipeline | {"description": change})
            versions.setdefault(name, []).append(made["version"])
    query = {"nameFilter": "history", "latestOnly": "false", "sortCreationTime": "true"}

    def list_versions(**more: str) -> list[tuple[str, str]]:
        found = client.ok("GET", f"{NS}/apps", params=query | more)
        listed = found["applications"] if "pageSize" in more else found
        assert ("pageSize" in more) == isinstance(found, dict)
        return [(each["name"], each["version"]) for each in listed]

    made = [(name, each) for name in ("History-2", "history") for each in versions[name]]
    assert list_versions() == made
    assert list_versions(orderBy="DESC") == made[::-1]
    assert list_versions(sortCreationTime="false") == sorted(made)
    assert list_versions(artifactName="cdap-data-streams") == []
    assert list_versions(nameFilterType="EQUALS") == made[3:]
    assert list_versions(nameFilterType="EQUALS_IGNORE_CASE") == made[3:]
    assert list_versions(nameFilterType="EQUALS_IGNORE_CASE", nameFilter="HISTORY") == made[3:]
    assert list_versions(nameFilterType="EQUALS", nameFilter="HISTORY") == []
    assert list_versions(nameFilterType="EQUALS", latestOnly="true") == made[5:]
    got: list[tuple[str, str]] = []
    token: dict[str, str] = {}
    while len(got) < len(made):
        page = list_versions(pageSize="2", **token)
        assert 0 < len(page) <= 2
        got += page
        token = {"pageToken": ".".join(page[-1])}
    assert got == made
    assert client.refused("GET", f"{NS}/apps?nameFilterType=LIKE") == (
        400,
        "Invalid nameFilterType 'LIKE'. It must be one of CONTAINS, EQUALS, EQUALS_IGNORE_CASE.",
    )


def test_an_update_keeps_what_it_does_not_name(client, pipeline):
    client.ok("PUT", f"{NS}/apps/updated", pipeline)
    config = pipeline["config"]
    config["stages"][1]["plugin"]["properties"]["aggregates"] = "n:count(*)"

    assert client.ok("POST", f"{NS}/apps/updated/update", {"config": config}) == "Update complete."

    detail = client.ok("GET", f"{NS}/apps/updated")
    assert "n:count(*)" in detail["configuration"]
    wrong = {"artifact": {"name": "cdap-data-streams", "version": "6.0.0"}}
    assert client.refused("POST", f"{NS}/apps/updated/update", wrong)[0] == 400
