"""ReportGenerationAppTest of CDAP 6, by number: the same runs, requests and figures."""

from __future__ import annotations

import msgspec
from reports.request import ReportRequest, decode_request

from localcdap.namespaces.preferences import PreferenceLevel
from tests.plugins.reports.conftest import BEGIN, HOUR, make_request

FIRST = {
    "namespace": "ns1",
    "artifactScope": "USER",
    "artifactName": "TestArtifact",
    "artifactVersion": "1.0.0",
    "applicationName": "Pipeline",
    "applicationVersion": "-SNAPSHOT",
    "programType": "WORKFLOW",
    "program": "SmartWorkflow_1",
    "run": "ns1-0-1",
    "status": "FAILED",
    "start": BEGIN,
    "end": BEGIN + 300,
    "duration": 300,
    "user": "alice",
    "startMethod": "TRIGGERED",
    "runtimeArgs": {"k1": "v1", "k2": "v2"},
    "numLogWarnings": 1,
    "numLogErrors": 2,
}


def check_summary(summary):
    assert summary["namespaces"] == [
        {"namespace": "ns1", "runs": 1},
        {"namespace": "ns2", "runs": 1},
    ]
    assert summary["artifacts"] == [
        {"name": "TestArtifact", "version": "1.0.0", "scope": "USER", "runs": 2}
    ]
    assert summary["durations"] == {"min": 300, "max": 300, "average": 300.0}
    assert summary["starts"] == {"oldest": BEGIN, "newest": BEGIN}
    assert summary["owners"] == [{"user": "alice", "runs": 2}]
    assert summary["startMethods"] == [{"method": "TRIGGERED", "runs": 2}]
    assert (summary["start"], summary["end"]) == (BEGIN, BEGIN + 30)
    assert summary["recordCount"] == 2


def check_details(answer):
    assert answer.status == 200
    assert answer.body["total"] == len(answer.body["details"]) == 2
    assert {each["startMethod"] for each in answer.body["details"]} == {"TRIGGERED"}


def test_1_to_4_one_report_from_its_request_to_its_deletion(client):
    id = client.complete()

    # 1
    info = client.info(id).body
    check_summary(info["summary"])
    assert info["name"] == "ns1_ns2_report"
    assert info["request"] == make_request()
    summary = info["summary"]
    assert info["expiry"] == summary["expirationTimeMillis"] // 1000
    assert summary["expirationTimeMillis"] - summary["creationTimeMillis"] == 2 * 86_400_000
    assert summary["creationTimeMillis"] // 1000 >= info["created"]
    check_details(client.download(id))
    assert client.download(id).body["details"][0] == FIRST

    # 2
    shared = client.post(f"/reports/{id}/share").body["shareId"]
    assert client.post(f"/reports/{id}/share").body["shareId"] == shared
    query = {"share-id": shared}
    check_summary(client.app.get("/reports/info", **query).body["summary"])
    check_details(client.app.get("/reports/download", **query))

    # 3
    saved = client.post(f"/reports/{id}/save", {"name": "newName", "description": "newDescription"})
    assert saved.status == 200
    info = client.info(id).body
    assert (info["name"], info["description"]) == ("newName", "newDescription")
    assert "expiry" not in info
    again = client.post(f"/reports/{id}/save", {"name": "other", "description": "other"})
    assert again.status == 403
    assert again.body["message"] == (
        f"Report with id {id} is already saved with name 'newName' and description 'newDescription'. "
        "Updating the saved report is not allowed."
    )

    # 4
    deleted = client.app.delete(f"/reports/{id}")
    after = (client.info(id), client.app.delete(f"/reports/{id}"), client.download(id))
    assert deleted.status == 200
    assert [each.status for each in after] == [404, 404, 404]
    assert client.app.get("/reports/info", **query).status == 404
    assert not list(client.app.context.open_folder("system").iterdir())


def test_5_reports_without_runs(client):
    in_both = {"fieldName": "namespace", "whitelist": ["ns1", "ns2"]}
    requests = (
        {"start": BEGIN - 2 * HOUR, "end": BEGIN - 30},
        {"filters": [in_both, {"fieldName": "user", "whitelist": ["bob"]}]},
        {"filters": [in_both, {"fieldName": "artifactName", "blacklist": ["TestArtifact"]}]},
    )

    for changes in requests:
        id = client.complete(**changes)
        summary = client.info(id).body["summary"]
        assert summary["namespaces"] == [
            {"namespace": "ns1", "runs": 0},
            {"namespace": "ns2", "runs": 0},
        ]
        assert summary["durations"] == {"min": 0, "max": 0, "average": 0.0}
        assert summary["starts"] == {"oldest": 0, "newest": 0}
        assert not summary["artifacts"] + summary["owners"] + summary["startMethods"]
        assert client.download(id).body["total"] == 0


def test_6_reports_expire(client):
    level = PreferenceLevel("system")
    client.app.preferences.replace(level, {"report.expiry.duration.seconds": "0"})
    id = client.create().body["id"]
    kept = client.app.get("/reports").body
    while kept["total"]:
        assert kept["total"] == len(kept["reports"])
        kept = client.app.get("/reports").body
    client.app.preferences.replace(level, {})

    assert client.info(id).status == 404
    assert client.post(f"/reports/{id}/share").body["message"] == (
        f"Invalid report-id {id}, report does not exist"
    )
    other = client.complete()
    assert [each["id"] for each in client.app.get("/reports").body["reports"]] == [other]
    folder = client.app.context.open_folder("system")
    assert [each.name for each in folder.iterdir()] == [f"{other}.parquet"]


def test_7_a_request_is_the_same_after_json():
    request = decode_request(msgspec.json.encode(make_request()))
    text = msgspec.json.encode(request)

    assert msgspec.json.decode(text, type=ReportRequest) == request
    assert msgspec.json.decode(text) == make_request()
