"""Real runs on Spark, started, watched and stopped in the runs area."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host.cdap import Cdap, open_in_process
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.runs.model import RunRequest
from localcdap.tui.dialogs.dialog_screen import ConfirmDialog
from localcdap.tui.log.run_log import RunLog
from localcdap.tui.routes import RunTarget
from localcdap.tui.screens.runs.run_view import RunView
from localcdap.tui.screens.runs.tables import StageTable
from tests.e2e.pipelines import csv_source, json_sink, pipeline, python, schema

pytestmark = pytest.mark.spark
WAITING = """
import os, time
def transform(record, emitter, context):
    while not os.path.exists({gate!r}):
        time.sleep(0.05)
    emitter.emit(record)
"""


@pytest.fixture(scope="module")
def cdap(home: Home, engine_directory: Path) -> Iterator[Cdap]:
    """The services of an instance on the shared Spark server."""
    home.path.mkdir(parents=True, exist_ok=True)
    home.settings_file.write_text(f"engine.directory = {json.dumps(str(engine_directory))}\n")
    with open_in_process(home) as services:
        yield services


@pytest.fixture
def document(tmp_path: Path) -> str:
    """A pipeline that waits in its transform until the file ``gate`` is there."""
    (tmp_path / "in.csv").write_text("1\n2\n3\n")
    row = schema(n="string")
    stages = [
        csv_source("In", tmp_path / "${input}", row),
        python("Wait", WAITING.format(gate=str(tmp_path / "gate")), row),
        json_sink("Out", tmp_path / "${output}"),
    ]
    return json.dumps(pipeline(stages, ("In", "Wait"), ("Wait", "Out")))


def start(cdap: Cdap, document: str, **arguments: str) -> str:
    return cdap.runs.start(RunRequest(document, arguments=arguments)).run


@pytest.mark.slow
async def test_a_run_is_found_again_and_repeated(cdap, document, open_studio, tmp_path):
    cdap.preferences.replace(PreferenceLevel("default"), {"input": "in.csv"})
    first = start(cdap, document, output="one")
    async with open_studio(target=RunTarget(first)) as driver:
        view = driver.app.screen.query_one(RunView)
        await driver.until(lambda: view.run and view.run.status is RunStatus.RUNNING, 120)
    (tmp_path / "gate").touch()
    async with open_studio(target=RunTarget(first)) as driver:
        view = driver.app.screen.query_one(RunView)
        await driver.until(lambda: view.run and view.run.status is RunStatus.COMPLETED, 120)
        assert view.run.origins == {"input": "namespace", "output": "given"}
        assert [Path(each).name for each in view.run.written] == ["one"]
        table = driver.app.screen.query_one(StageTable)
        assert [cell.plain for cell in table.get_row_at(1)[:4]] == ["  Wait", "3", "3", "0"]
        await driver.press("L")
        log = driver.app.screen.query_one(RunLog)
        await driver.until(lambda: log.is_ended and log.view.count > 0)

        cdap.preferences.replace(PreferenceLevel("default"), {"input": "elsewhere.csv"})
        await driver.press("escape", "R")
        await driver.until(lambda: len(driver.app.screen.query("ArgumentRow")) == 2)
        rows = {each.argument.name: each for each in driver.app.screen.query("ArgumentRow")}
        assert {name: row.given for name, row in rows.items()} == {
            "input": "in.csv",  # the preference is another one now
            "output": "one",
        }
        rows["output"].query_one("Input").value = "two"
        await driver.press("ctrl+r")
        await driver.until(lambda: view.run and view.run.run != first)
        await driver.until(lambda: view.run.status.is_end, 120)
        second = view.run
        assert second.status is RunStatus.COMPLETED
        assert second.arguments == {"input": "in.csv", "output": "two"}
        assert cdap.runs.get_document(second.run) == document

        # The same once more cannot write where it has written already: it says so.
        await driver.press("r")
        await driver.until(lambda: view.run and view.run.run != second.run)
        await driver.until(lambda: view.run.status.is_end, 120)
        assert view.run.status is RunStatus.FAILED
        assert "already exists" in view.query_one("#run-error").content.plain


@pytest.mark.slow
async def test_a_run_is_stopped_after_a_question(cdap, document, open_studio):
    run = start(cdap, document, input="in.csv", output="out")
    async with open_studio(target=RunTarget(run)) as driver:
        view = driver.app.screen.query_one(RunView)
        await driver.until(lambda: view.run and view.run.status is RunStatus.RUNNING, 120)
        await driver.press("x")
        dialog = driver.app.screen
        assert isinstance(dialog, ConfirmDialog)
        await driver.press("escape", "x", "y")
        await driver.until(lambda: view.run.status is RunStatus.KILLED, 60)
        assert driver.app.screen.explain_disabled("stop") == "the run has ended"
