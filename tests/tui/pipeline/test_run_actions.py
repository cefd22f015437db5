"""What keeps a pipeline from running, and that nothing else does."""

from __future__ import annotations

import json

import pytest
from textual.widgets import Static

from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetRequest
from localcdap.engine.messages.spool import RunStatus
from localcdap.tui.dialogs.dialog_screen import ConfirmDialog
from localcdap.tui.pipeline.actions import ActivityRunner
from localcdap.tui.routes import DocumentTarget
from tests.tui.pipeline.documents import pipeline, stage

pytestmark = pytest.mark.spark


@pytest.fixture
def joined(tmp_path, engine_directory):
    """Two files whose schemas only connected checks find, and a join that needs them."""
    sources = []
    for name in ("left", "right"):
        path = str(tmp_path / f"{name}.csv")
        known = {"path": path, "format": "csv", "referenceName": name, "skipHeader": "true"}
        sources.append(stage(name, "batchsource", "File", **known))
    (tmp_path / "left.csv").write_text("id,body\n1,a\n2,b\n")
    fields = "left.id as id, left.body as body, right.price as price"
    join = {"selectedFields": fields, "joinKeys": "left.id = right.id"}
    out = {"path": str(tmp_path / "out"), "format": "json", "referenceName": "out"}
    return pipeline(
        [
            *sources,
            stage("join", "batchjoiner", "Joiner", requiredInputs="left,right", **join),
            stage("out", "batchsink", "File", **out),
        ],
        "left>join right>join join>out",
        name="joined",
    )


def get_activity(driver):
    return driver.app.screen.view.query_one(ActivityRunner).activity


async def test_what_connected_checks_found_decides_on_a_run(open_studio, joined, tmp_path):
    async with open_studio(target=DocumentTarget("joined", json.dumps(joined))) as driver:
        editor = await driver.editor()
        await driver.press("V")
        await driver.validated(editor)
        assert "does not exist" in editor.failures[0].message

        await driver.press("r")
        assert get_activity(driver) is None
        assert driver.app.screen.query_one("#drawer").display
        assert "does not exist" in driver.app.screen.view.query_one("#problems").shown[0].message

        (tmp_path / "right.csv").write_text("id,price\n1,2.5\n")
        await driver.press("r")  # looks again, since the failure was found in a file
        await driver.until(lambda: get_activity(driver) is not None)
        assert editor.is_valid, editor.failures
        await driver.until(lambda: get_activity(driver).status.is_end, 90)
        assert get_activity(driver).status is RunStatus.COMPLETED, get_activity(driver).error
        assert get_activity(driver).stages["join"].records_out == 1


async def test_what_a_run_found_is_listed_as_other_failures_are(open_studio, joined, tmp_path):
    (tmp_path / "right.csv").write_text("id,cost\n1,2.5\n")
    async with open_studio(target=DocumentTarget("joined", json.dumps(joined))) as driver:
        editor = await driver.editor()
        await driver.press("ctrl+r")
        await driver.until(lambda: driver.app.screen.query("#accept"))
        await driver.press("ctrl+r")
        await driver.until(lambda: any("price" in each.message for each in editor.failures))
        assert driver.app.screen.query_one("#drawer").display


@pytest.mark.slow
async def test_a_dataset_changes_before_a_run_only_after_a_question(open_studio, cdap, tmp_path):
    def row(*names: str) -> str:
        return str(Schema.record("r", [(name, Schema.STRING) for name in names]))

    held = {"schema": row("id"), "schema.row.field": "id"}
    cdap.datasets.create(DatasetRequest("asked", "table", held))
    (tmp_path / "in.csv").write_text("1,ann\n")
    known = {"path": str(tmp_path / "in.csv"), "format": "csv", "referenceName": "in"}
    sink = stage("asked", "batchsink", "Table")
    sink["plugin"]["properties"] = {"name": "asked", "schema.row.field": "id"}
    document = pipeline(
        [
            stage("in", "batchsource", "File", schema=row("id", "name"), **known),
            sink,
        ],
        "in>asked",
        name="asking",
    )

    async with open_studio(target=DocumentTarget("asking", json.dumps(document))) as driver:
        editor = await driver.editor()
        await driver.validated(editor)
        for answer in ("n", "y"):
            await driver.press("r")
            await driver.until(lambda: isinstance(driver.app.screen, ConfirmDialog))
            text = str(driver.app.screen.query_one("#dialog-detail", Static).content)
            assert "Dataset 'asked' must change before the run can write it: it adds 'name'" in text
            await driver.press(answer)
            assert answer == "y" or get_activity(driver) is None
        await driver.until(lambda: get_activity(driver) is not None)
        await driver.until(lambda: get_activity(driver).status.is_end, 90)
        assert get_activity(driver).status is RunStatus.COMPLETED, get_activity(driver).error
    assert cdap.tables.read_rows("default", "asked", 9).rows == [["1", "ann"]]
