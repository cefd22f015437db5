"""Wrong requests, each with the text of CDAP 6, and what may be asked for."""

from __future__ import annotations

import pytest
from reports import application

from localcdap.api.app import RunStatusChanged
from localcdap.api.failures import ArtifactId
from localcdap.apps.model import AppRequest
from tests.plugins.reports.conftest import BEGIN, make_event, make_request

PREFIX = "Please fix the following errors in the report generation request: "


def wrong_filter(**values):
    return {"filters": [values]}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"start": None}, "'start' must be specified."),
        ({"end": None}, "'end' must be specified."),
        ({"end": BEGIN}, "'start' must be smaller than 'end'."),
        ({"fields": []}, "'fields' must be specified."),
        (
            {"fields": ["owner"]},
            "Invalid field name 'owner' in fields. Field name must be one of: [",
        ),
        (
            {"sort": [{"fieldName": "start", "order": "ASCENDING"}] * 2},
            "Currently only one field is supported in sort.",
        ),
        (
            {"sort": [{"fieldName": "user", "order": "ASCENDING"}]},
            (
                "Sort user contains these errors: Field 'user' in sort is not sortable. Only fields: [start, "
                "running, end, duration, numLogWarnings, numLogErrors, numRecordsOut] are sortable"
            ),
        ),
        (
            {"sort": [{"fieldName": "start", "order": "UP"}]},
            "'order' cannot be null, it can only be ASCENDING or DESCENDING",
        ),
        (
            wrong_filter(fieldName="user", range={"min": 1}),
            (
                "Filter user contains these errors: Field 'user' cannot be filtered by range. It can only be "
                "filtered by: [value]"
            ),
        ),
        (
            wrong_filter(fieldName="start", whitelist=["1"]),
            (
                "Filter start contains these errors: Field 'start' cannot be filtered by value. "
                "It can only be filtered by: [range]"
            ),
        ),
        (
            wrong_filter(fieldName="runtimeArgs", whitelist=["1"]),
            "Field 'runtimeArgs' cannot be filtered by value. It can only be filtered by: []",
        ),
        (
            wrong_filter(fieldName="start", whitelist=[5]),
            "Filter start contains these errors: Field 'start' cannot be filtered by value. ",
        ),
        (
            wrong_filter(fieldName="user", whitelist=[5, True], blacklist=["5"]),
            "'whitelist' and 'blacklist' should not contain duplicated elements",
        ),
        ({"fields": [5]}, "Invalid field name '5' in fields. Field name must be one of: ["),
        (wrong_filter(fieldName="user"), "'whitelist' and 'blacklist' cannot both be empty"),
        (
            wrong_filter(fieldName="user", whitelist=["a", "b"], blacklist=["b"]),
            "'whitelist' and 'blacklist' should not contain duplicated elements",
        ),
        (wrong_filter(fieldName="start", range=None), "'range' cannot be null"),
        (wrong_filter(fieldName="start", range={}), "'min' and 'max' cannot both be null'"),
        (
            wrong_filter(fieldName="start", range={"min": 2, "max": 2}),
            "'min' must be smaller than 'max'",
        ),
    ],
)
def test_what_is_wrong_is_said(empty, changes, text):
    answer = empty.create(**changes)

    assert answer.status == 400
    assert answer.body["message"].startswith(PREFIX)
    assert text in answer.body["message"]


def test_all_that_is_wrong_is_said_at_once(empty):
    answer = empty.create(start=None, fields=None, sort=[{"fieldName": "x"}])

    assert answer.body["message"].count("; ") == 3
    assert empty.app.get("/reports").body["total"] == 0


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "Request body cannot be empty."),
        (b"null", "Request body cannot be empty."),
        (b"{", "Request body is invalid json: "),
        (b"[]", "Request body is invalid json: "),
        (b'{"start": "soon"}', "Request body is invalid json: "),
    ],
)
def test_bodies_that_are_no_requests(empty, body, text):
    answer = empty.post("/reports", body)

    assert (answer.status, answer.body["message"][: len(text)]) == (400, text)


def test_what_cannot_be_read(client, monkeypatch):
    id = client.complete()
    get = client.app.get

    def message(path, **query):
        answer = get(path, **{name.replace("_", "-"): value for name, value in query.items()})
        return answer.status, answer.body["message"]

    assert message("/reports/info") == (
        400,
        "Either reportId or sharedId must be provided, missing both",
    )
    assert message("/reports/info", report_id=id, share_id="x") == (
        400,
        "Only one of reportId or sharedId must be provided, provided both",
    )
    assert message("/reports/info", report_id="x") == (
        404,
        "Report with ReportId : x does not exist.",
    )
    assert message("/reports/info", share_id="x")[0] == 404
    assert message("/reports/download", report_id=id, offset=-1) == (
        400,
        "offset cannot be negative",
    )
    assert message("/reports/download", report_id=id, limit=0)[1] == (
        "limit must be a positive integer"
    )
    assert message("/reports/download", report_id=id, limit=10_001)[1] == (
        "limit must cannot be larger than 10000"
    )
    page = client.download(id, offset=1, limit=1).body
    assert (page["offset"], page["limit"], page["total"], len(page["details"])) == (1, 1, 2, 1)
    assert client.post(f"/reports/{id}/save", b"{").status == 400


def test_reports_belong_to_their_user(client):
    id = client.post("/reports", make_request(), user="ada").body["id"]

    assert client.info(id).status == 404
    assert client.app.get("/reports").body["total"] == 0
    assert client.app.delete(f"/reports/{id}").status == 404
    shared = client.post(f"/reports/{id}/share", user="ada").body["shareId"]
    query = {"share-id": shared}
    assert client.wait_for(lambda: client.app.get("/reports/info", **query))["summary"]


def test_three_at_a_time(client, monkeypatch):
    import threading

    may_go = threading.Event()
    generate = application.generate

    def wait(*given):
        assert may_go.wait(60)
        return generate(*given)

    monkeypatch.setattr(application, "generate", wait)
    ids = [client.create().body["id"] for _ in range(3)]
    refused = client.create()

    assert refused.status == 500
    assert refused.body["message"].startswith("Exception occurred while handling request: ")
    assert "pool size = 3, active threads = 3, queued tasks = 0" in refused.body["message"]
    assert client.app.get("/reports").body["total"] == 3  # nothing is left of the fourth
    waiting = client.download(ids[0])
    assert waiting.status == 202
    assert waiting.body["message"] == (
        f"Report {ids[0]} is still being generated, please retry later."
    )
    assert client.post(f"/reports/{ids[0]}/save", {"name": "x"}).body["message"] == (
        "Cannot save the report with status RUNNING"
    )
    assert client.app.delete(f"/reports/{ids[0]}").status == 200  # while it is generated
    may_go.set()
    assert [client.wait(id)["status"] for id in ids[1:]] == ["COMPLETED"] * 2
    client.complete()
    names = {each.name for each in client.app.context.open_folder("system").iterdir()}
    assert f"{ids[0]}.parquet" not in names


def test_a_report_that_fails_says_why(client, monkeypatch):
    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(application, "generate", fail)
    id = client.create().body["id"]
    info = client.wait(id)

    assert info["status"] == "FAILED"
    assert "OSError: no space left" in info["error"]
    assert client.download(id).body["message"] == (
        f"Reading details of the report {id} with failed status is not allowed."
    )


def test_a_report_whose_process_is_gone_has_failed(client):
    id = client.complete()
    with client.store.transaction() as tx:
        tx.execute("UPDATE app_reports SET summary = NULL, worker = '1/0.00'")

    assert client.info(id).body["status"] == "FAILED"
    assert "Create it again" in client.info(id).body["error"]


def test_rows_of_runs_follow_from_their_events(empty):
    events = [
        make_event("default", "r", "STARTING", BEGIN + 5),
        make_event("default", "r", "STARTING", BEGIN),  # the earliest counts
        make_event("default", "r", "RUNNING", BEGIN + 10),
        make_event("default", "only-asked-for", "PENDING", BEGIN, user=None),
        make_event("default", "refused", "PENDING", BEGIN),
        make_event("default", "refused", "FAILED", BEGIN + 1),
    ]
    empty.publish([*events, *events])
    shown = ["run", "status", "start", "running", "end", "duration", "user"]
    id = empty.complete(
        fields=shown, filters=None, sort=[{"fieldName": "start", "order": "ASCENDING"}]
    )
    rows = {each.pop("run"): each for each in empty.download(id).body["details"]}

    assert {each.pop("program") for each in rows.values()} == {"SmartWorkflow_1"}
    assert rows == {
        "r": {"status": "RUNNING", "start": BEGIN, "running": BEGIN + 10, "user": "alice"},
        "only-asked-for": {"status": "PENDING", "start": BEGIN},
        "refused": {
            "status": "FAILED",
            "start": BEGIN,
            "end": BEGIN + 1,
            "duration": 1,
            "user": "alice",
        },
    }
    unfinished = empty.complete(
        fields=["run"], filters=[{"fieldName": "duration", "range": {"min": 0}}]
    )
    assert [each["run"] for each in empty.download(unfinished).body["details"]] == ["refused"]


def test_events_without_anything_else(empty):
    """Those of earlier versions."""
    empty.publish([RunStatusChanged("default", "old", "r", "STARTING", BEGIN * 1000)])
    id = empty.complete(fields=["run", "startMethod"], filters=None, sort=None)

    assert empty.download(id).body["details"] == [{"run": "r", "startMethod": "MANUAL"}]
    assert empty.info(id).body["summary"]["owners"] == [{"runs": 1}]


def test_the_literal_path(instance):
    """In its process, called as clients of CDAP call it."""
    base = "/v3/namespaces/system/apps/ReportGenerationApp/spark/ReportGenerationSpark/methods"
    apps = instance.cdap.apps

    assert apps.call_at(f"{base}/health", AppRequest("GET", "")).status == 200
    inside = "spark/ReportGenerationSpark/methods/reports"
    nobody = {"CDAP-UserId": "nobody"}
    found = apps.call("ReportGenerationApp", AppRequest("GET", inside, headers=nobody))
    assert found.body == {"offset": 0, "limit": 10_000, "total": 0, "reports": []}
    wrong = "services/ReportGenerationSpark/methods/reports"
    assert apps.call("ReportGenerationApp", AppRequest("GET", wrong)).status == 404
    detail = apps.describe("ReportGenerationApp")
    assert [each.program_type for each in detail.services] == ["Spark"]
    assert ArtifactId("reports", "1.0.0", "SYSTEM") == detail.artifact
