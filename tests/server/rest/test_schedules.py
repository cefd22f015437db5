"""Schedules over REST: the calls, codes and texts of the original."""

from __future__ import annotations

import time

import pytest

from tests.server.rest.client import NS, WORKFLOW

PROGRAM = {"programName": "DataPipelineWorkflow", "programType": "WORKFLOW"}
NIGHTLY = {"type": "TIME", "cronExpression": "0 3 * * *"}
APP = f"{NS}/apps/timed"
SCHEDULES = f"{APP}/schedules"


@pytest.fixture(scope="module", autouse=True)
def application(client, source):
    stages = [
        {
            "name": "In",
            "plugin": {
                "name": "File",
                "type": "batchsource",
                "artifact": {"name": "core-plugins", "version": "[1.0.0,9.0.0)", "scope": "SYSTEM"},
                "properties": {"referenceName": "in", "path": str(source), "format": "text"},
            },
        },
        {
            "name": "Out",
            "plugin": {
                "name": "Trash",
                "type": "batchsink",
                "artifact": {"name": "trash-plugin", "version": "[1.0.0,9.0.0)", "scope": "SYSTEM"},
                "properties": {"referenceName": "out"},
            },
        },
    ]
    config = {
        "stages": stages,
        "connections": [{"from": "In", "to": "Out"}],
        "schedule": "0 1 * * *",
    }
    config |= {"maxConcurrentRuns": 1}
    body = {"artifact": {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}}
    client.ok("PUT", APP, {**body, "config": config})


@pytest.fixture
def nightly(client):
    client.ok("PUT", f"{SCHEDULES}/nightly", {"program": PROGRAM, "trigger": NIGHTLY})
    yield f"{SCHEDULES}/nightly"
    client.send("DELETE", f"{SCHEDULES}/nightly")


def test_the_schedule_of_a_pipeline_is_there_suspended(client):
    found = client.ok("GET", f"{SCHEDULES}/dataPipelineSchedule")
    assert found.pop("lastUpdateTime") > 0
    assert found == {
        "namespace": "default",
        "application": "timed",
        "applicationVersion": "-SNAPSHOT",
        "name": "dataPipelineSchedule",
        "description": "Data pipeline schedule",
        "program": PROGRAM,
        "properties": {},
        "trigger": {"type": "TIME", "cronExpression": "0 1 * * *"},
        "constraints": [{"type": "CONCURRENCY", "maxConcurrency": 1, "waitUntilMet": False}],
        "timeoutMillis": 86_400_000,
        "status": "SUSPENDED",
    }


def test_a_schedule_lives_from_put_to_delete(client, nightly):
    assert client.ok("GET", f"{nightly}/status") == {"status": "SUSPENDED"}
    assert client.refused("PUT", nightly, {"program": PROGRAM, "trigger": NIGHTLY})[0] == 409
    assert client.refused("POST", f"{nightly}/disable") == (
        409,
        "Schedule 'default.timed.-SNAPSHOT.nightly' is already disabled",
    )
    assert client.ok("POST", f"{nightly}/enable") == "OK"
    assert client.refused("POST", f"{nightly}/resume")[1].endswith("is already enabled")
    (runtime,) = client.ok("GET", f"{APP}/{WORKFLOW}/nextruntime")
    assert runtime["time"] > time.time() * 1000
    assert "nightly" in runtime["id"]
    assert client.ok("GET", f"{APP}/{WORKFLOW}/previousruntime") == []

    change = {"description": "new", "properties": {"n": 5}, "timeoutMillis": 60_000}
    client.ok("POST", f"{nightly}/update", change)
    changed = client.ok("GET", nightly)
    assert (changed["description"], changed["properties"]) == ("new", {"n": "5"})
    assert (changed["trigger"], changed["status"]) == (NIGHTLY, "SCHEDULED")

    assert client.ok("POST", f"{nightly}/suspend") == "OK"
    client.ok("DELETE", nightly)
    assert client.refused("GET", f"{nightly}/status")[0] == 404
    assert client.refused("DELETE", nightly)[0] == 404


def test_versioned_routes_ignore_the_version(client, nightly):
    versioned = nightly.replace("/apps/timed", "/apps/timed/versions/-SNAPSHOT")
    assert client.ok("POST", f"{versioned}/resume") == "OK"
    assert client.ok("GET", f"{versioned}/status") == {"status": "SCHEDULED"}
    assert client.ok("GET", nightly) == client.ok("GET", versioned)


def test_the_cli_enables_a_schedule_by_the_old_path(client, nightly):
    old = f"{APP}/versions/-SNAPSHOT/program-type/schedules/program-id/nightly/action"
    assert client.ok("PUT", f"{old}/enable") == "OK"
    assert client.ok("GET", f"{nightly}/status") == {"status": "SCHEDULED"}
    assert client.refused("PUT", f"{old}/enable")[0] == 409
    assert client.refused("PUT", f"{old}/jump")[0] == 400


def test_schedules_are_listed_with_filters(client, nightly):
    after = {
        "type": "PROGRAM_STATUS",
        "programId": {
            "namespace": "default",
            "application": "other",
            "version": "-SNAPSHOT",
            "type": "WORKFLOW",
            "entity": "PROGRAM",
            "program": "DataPipelineWorkflow",
        },
        "programStatuses": ["COMPLETED", "FAILED"],
    }
    both = f"{SCHEDULES}/timed.default.other.default"
    client.ok(
        "PUT", both, {"program": PROGRAM, "trigger": {"type": "OR", "triggers": [NIGHTLY, after]}}
    )
    chained = f"{SCHEDULES}/chained"
    client.ok("PUT", chained, {"name": "chained", "program": PROGRAM, "trigger": after})

    def names(path: str) -> list[str]:
        return [each["name"] for each in client.ok("GET", path)]

    own = "dataPipelineSchedule"
    assert names(SCHEDULES) == ["chained", own, "nightly", "timed.default.other.default"]
    assert names(f"{APP}/{WORKFLOW}/schedules") == names(SCHEDULES)
    assert names(f"{SCHEDULES}?trigger-type=time") == [own, "nightly"]
    assert names(f"{SCHEDULES}?trigger-type=program-status") == ["chained"]
    assert names(f"{SCHEDULES}?schedule-status=SCHEDULED") == []
    assert client.refused("GET", f"{SCHEDULES}?schedule-status=x")[0] == 400
    assert client.refused("GET", f"{SCHEDULES}?trigger-type=x")[0] == 400

    program = (
        "trigger-namespace-id=default&trigger-app-name=other&trigger-program-type=workflows"
        "&trigger-program-name=DataPipelineWorkflow"
    )
    triggered = f"{NS}/schedules/trigger-type/program-status"
    assert names(f"{triggered}?{program}") == ["chained", "timed.default.other.default"]
    assert names(f"{triggered}?{program}&trigger-program-statuses=KILLED") == []
    assert names(f"{triggered}?{program}&schedule-status=SCHEDULED") == []
    assert client.refused("GET", triggered) == (
        400,
        "Must specify trigger-namespace-id as a query param",
    )
    code, text = client.refused("GET", f"{triggered}?{program}&trigger-program-statuses=GONE")
    assert code == 400
    assert text.startswith("Unable to parse program statuses 'GONE'. Must be comma separated")
    for each in (both, chained):
        client.ok("DELETE", each)


def test_runtimes_of_many_programs(client, nightly):
    client.ok("POST", f"{nightly}/enable")
    asked = {"appId": "timed", "programType": "workflow", "programId": "DataPipelineWorkflow"}
    found, missing = client.ok("POST", f"{NS}/nextruntime", [asked, {**asked, "appId": "nope"}])
    assert found["statusCode"] == 200
    assert len(found["schedules"]) == 1
    assert missing["statusCode"] == 404
    assert "schedules" not in missing
    assert client.ok("POST", f"{NS}/previousruntime", [asked])[0]["schedules"] == []


def test_schedules_that_were_suspended_in_a_time_are_enabled_again(client, nightly):
    client.ok("POST", f"{nightly}/enable")
    start = int(time.time() * 1000)
    client.ok("POST", f"{nightly}/suspend")
    span = f"start-time-millis={start}&end-time-millis={start + 60_000}"
    client.ok("PUT", f"{NS}/schedules/re-enable?{span}")
    assert client.ok("GET", f"{nightly}/status") == {"status": "SCHEDULED"}
    assert client.ok("GET", f"{SCHEDULES}/dataPipelineSchedule/status") == {"status": "SUSPENDED"}


def test_the_dashboard_shows_planned_runs(client, nightly):
    client.ok("POST", f"{nightly}/enable")
    start = int(time.time())
    runs = client.ok("GET", f"/v3/dashboard?start={start}&duration={2 * 86_400}&namespace=default")
    assert [each["startMethod"] for each in runs] == ["SCHEDULED"] * len(runs)
    assert len(runs) == 2
    assert runs[0]["application"]["name"] == "timed"
    assert runs[0].get("status") is None


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"trigger": NIGHTLY}, "No program was specified for the schedule"),
        ({"program": {}, "trigger": NIGHTLY}, "No program type was specified for the schedule"),
        (
            {"program": {"programType": "WORKFLOW"}, "trigger": NIGHTLY},
            "No program name was specified for the schedule",
        ),
        ({"program": PROGRAM}, "No trigger was specified for the schedule"),
        ([], "Expected a json object in the request body but received []"),
        (
            {"name": "other", "program": PROGRAM, "trigger": NIGHTLY},
            "Schedule name in the body of the request (other) does not match the schedule name",
        ),
        (
            {"program": PROGRAM, "trigger": {"type": "TIME", "cronExpression": "0 3 * *"}},
            "Invalid cron entry format in '0 3 * *'. Cron entry must contain 5 or 6 fields.",
        ),
        (
            {"program": PROGRAM, "trigger": {"type": "PHASE_OF_MOON"}},
            "Error parsing request body as a schedule specification: Invalid value 'PHASE_OF_MOON'",
        ),
        (
            {
                "program": PROGRAM,
                "trigger": NIGHTLY,
                "constraints": [
                    {"type": "DELAY", "millisAfterTrigger": 1000, "waitUntilMet": False}
                ],
            },
            "DelayConstraint must always wait until met.",
        ),
        (
            {
                "program": {"programName": "Spark", "programType": "SPARK"},
                "trigger": NIGHTLY,
            },
            "Cannot schedule program DataPipelineWorkflow of type SPARK: Only workflows can be scheduled",
        ),
    ],
)
def test_a_schedule_that_is_none_is_refused(client, body, text: str):
    code, found = client.refused("PUT", f"{SCHEDULES}/bad", body)
    assert code == 400
    assert found.startswith(text)
    assert client.refused("GET", f"{SCHEDULES}/bad")[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "apps/nope/schedules", 404),
        ("GET", "apps/nope/schedules/x", 404),
        ("GET", "apps/nope/schedules/x/status", 404),
        ("POST", "apps/timed/schedules/x/enable", 404),
        ("POST", "apps/timed/schedules/dataPipelineSchedule/jump", 400),
        ("GET", f"apps/nope/{WORKFLOW}/nextruntime", 404),
        ("GET", f"apps/timed/{WORKFLOW.replace('Data', 'Other')}/schedules", 404),
    ],
)
def test_wrong_calls(client, method: str, path: str, code: int):
    assert client.refused(method, f"{NS}/{path}")[0] == code


def test_schedules_go_with_their_pipeline(client):
    client.ok("PUT", f"{SCHEDULES}/nightly", {"program": PROGRAM, "trigger": NIGHTLY})
    metadata = client.ok("GET", f"{APP}/metadata/properties?scope=SYSTEM")
    assert {name: value for name, value in metadata.items() if name.startswith("schedule:")} == {
        "schedule:dataPipelineSchedule": "dataPipelineSchedule:Data pipeline schedule",
        "schedule:nightly": "nightly:",
    }
    own = client.ok("GET", f"{SCHEDULES}/nightly/metadata/properties?scope=SYSTEM")
    assert own["entity-name"] == "nightly"
    client.ok("DELETE", f"{SCHEDULES}/nightly")
    metadata = client.ok("GET", f"{APP}/metadata/properties?scope=SYSTEM")
    assert "schedule:nightly" not in metadata

    client.ok("DELETE", APP)
    assert client.refused("GET", SCHEDULES)[0] == 404
    assert client.ok("POST", f"{NS}/nextruntime", []) == []
