"""The story of a morning after: the demo ran, another pipeline failed; it is found and exported."""

from __future__ import annotations

import json
import time

import pytest

from localcdap.apps.model import AppRequest
from localcdap.engine.messages.spool import RunStatus
from localcdap.host import demo
from localcdap.runs.model import RunRequest
from localcdap.tui.screens.runs.run_view import RunView
from tests.tui.stories.newcomer import Newcomer

pytestmark = [pytest.mark.spark, pytest.mark.slow]
BASE = "/v3/namespaces/system/apps/ReportGenerationApp/spark/ReportGenerationSpark/methods"


@pytest.fixture
def runs(cdap, home, engine_directory):
    """The demo twice, and under another name with a folder that is not there."""
    file = demo.install_demo(home)
    document = json.loads(file.read_text())
    good = demo.get_arguments(file)
    asked = [
        RunRequest(document | {"name": "spending"}, arguments=good),
        RunRequest(document | {"name": "spending"}, arguments=good),
        RunRequest(document | {"name": "nightly"}, arguments={"demo.folder": "/nowhere"}),
    ]
    found = []
    for request in asked:
        run = cdap.runs.start(request)
        while not run.status.is_end:
            run = cdap.runs.wait(run.run, run.version, 5)
        found.append(run)
    return found


async def test_what_happened_over_night(open_studio, cdap, runs, tmp_path):
    first, second, failed = runs
    assert [each.status for each in runs] == [RunStatus.COMPLETED] * 2 + [RunStatus.FAILED]
    page = tmp_path / "night.html"
    async with open_studio() as driver:
        newcomer = Newcomer(driver)
        await newcomer.press("apostrophe")
        await newcomer.sees("3 runs", "1 failed", "success 67 %", "failures by reason")
        await newcomer.sees("something it reads is missing", "slowest stages")
        await newcomer.press("tab", "enter")  # why it failed
        await newcomer.sees("/nowhere")
        view = driver.app.screen.query_one(RunView)
        await driver.until(lambda: view.run is not None and view.run.run == failed.run)
        await newcomer.press("apostrophe", "x", "enter")
        await newcomer.is_in_field()
        driver.app.focused.value = ""
        await newcomer.type(str(page))
        await newcomer.press("enter")
        await driver.until(page.exists)
        assert newcomer.keys <= 8
    assert "something it reads is missing" in page.read_text()
    compared = cdap.statistics.compare("default", first.run, second.run)
    read = next(iter(compared.stages))
    assert read.counts[0] == read.counts[1]
    check_report(cdap, runs)


def check_report(cdap, runs):
    """The application knows the same runs, with their records and the user who started them."""
    wanted = {
        "start": 0,
        "end": 4_000_000_000,
        "fields": ["run", "status", "numRecordsOut", "numLogErrors", "user"],
        "sort": [{"fieldName": "start", "order": "ASCENDING"}],
    }

    def call(method, path, body=None, **query):
        return cdap.apps.call_at(f"{BASE}{path}", AppRequest(method, "", query, body))

    id = call("POST", "/reports", json.dumps(wanted).encode()).body["id"]
    query = {"report-id": id}
    deadline = time.monotonic() + 60
    while (answer := call("GET", "/reports/download", **query)).status == 202:
        assert time.monotonic() < deadline
    details = answer.body["details"]
    assert [each["run"] for each in details] == [each.run for each in runs]
    assert [each["status"] for each in details] == ["COMPLETED", "COMPLETED", "FAILED"]
    assert details[0]["numRecordsOut"] == details[1]["numRecordsOut"] > 0
    assert details[2]["numLogErrors"] > 0
    owners = call("GET", "/reports/info", **query).body["summary"]["owners"]
    assert owners == [{"user": runs[0].user, "runs": 3}]
