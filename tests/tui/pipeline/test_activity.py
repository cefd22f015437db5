"""Stories of running and previewing from the studio, on Spark."""

from __future__ import annotations

import json

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.pipeline.editing.edits import SetProperty
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import PreviewStatus
from localcdap.tui.pipeline.actions import ActivityRunner
from localcdap.tui.routes import DocumentTarget
from localcdap.tui.screens.runs.arguments import ArgumentRow, ArgumentsDialog
from tests.tui.pipeline.documents import orders, stage

pytestmark = pytest.mark.spark
WAITING = """
import os, time
def transform(record, emitter, context):
    while not os.path.exists({gate!r}):
        time.sleep(0.05)
    emitter.emit(record)
"""


@pytest.fixture
def document(tmp_path, engine_directory):
    """Three orders are read, renamed and written."""
    source = tmp_path / "orders.csv"
    source.write_text("id,body\n1,a\n2,b\n3,c\n")
    return orders(str(source), str(tmp_path / "out"))


def activity(driver):
    return driver.app.screen.view.query_one(ActivityRunner).activity


def has_ended(driver):
    return lambda: activity(driver) is not None and activity(driver).status.is_end


def text(driver):
    canvas = driver.app.screen.view.canvas
    return "\n".join(canvas.render_line(y).text for y in range(canvas.size.height))


async def test_a_run_is_asked_for_its_arguments_and_its_records_are_shown(
    open_studio, cdap, document, tmp_path
):
    path = document["config"]["stages"][0]["plugin"]["properties"]
    path["path"] = "${folder}/orders.csv"
    async with open_studio(target=DocumentTarget("counted", json.dumps(document))) as driver:
        await driver.editor()
        await driver.press("r")
        await driver.until(lambda: isinstance(driver.app.screen, ArgumentsDialog))
        await driver.until(lambda: driver.app.screen.query(ArgumentRow))
        await driver.type(str(tmp_path))
        await driver.press("ctrl+r")
        await driver.until(has_ended(driver), 90)

        run = activity(driver)
        assert run.status is RunStatus.COMPLETED, run.error
        assert run.arguments == {"folder": str(tmp_path)}
        await driver.settled()
        assert driver.app.screen.editor.arguments == run.arguments
        assert "out 3" in text(driver)
        assert "✓ in 3 out 3" in text(driver)
        assert "run completed" in str(driver.app.screen.view.query_one("TitleBar").render())

        await driver.press("escape")
        assert "✓ valid" in text(driver)


@pytest.mark.slow
async def test_a_run_goes_on_without_the_studio_and_is_found_and_stopped(
    open_studio, cdap, document, tmp_path
):
    gate = tmp_path / "gate"
    script = WAITING.format(gate=str(gate))
    document["config"]["stages"][1] = stage("Rename", "transform", "PythonEvaluator", script=script)
    async with open_studio(target=DocumentTarget("waiting", json.dumps(document))) as driver:
        await driver.editor()
        await driver.press("r")
        await driver.until(lambda: activity(driver) is not None)
        run = activity(driver).run
    assert not cdap.runs.get("default", run).status.is_end

    async with open_studio(target=DocumentTarget("waiting", json.dumps(document))) as driver:
        await driver.editor()
        await driver.until(lambda: activity(driver) is not None)
        assert activity(driver).run == run
        await driver.press("X", "y")
        await driver.until(has_ended(driver), 60)
        assert activity(driver).status is RunStatus.KILLED
    gate.touch()


SECOND_LACKS = """
def transform(record, emitter, context):
    if record['id'] == 2:
        record['body'] = None
    emitter.emit(record)
"""
FAILING = "def transform(record, emitter, context):\n    raise ValueError('too bad')"


async def test_a_preview_shows_what_each_stage_makes(open_studio, document, tmp_path):
    source = document["config"]["stages"][0]["plugin"]["properties"]
    source["path"] = "${folder}/orders.csv"
    source["schema"] = source["schema"].replace('"string"', '["string", "null"]')
    script = stage("Rename", "transform", "PythonEvaluator", script=SECOND_LACKS)
    document["config"]["stages"][1] = script
    async with open_studio(target=DocumentTarget("previewed", json.dumps(document))) as driver:
        editor = await driver.editor()
        await driver.press("v")
        await driver.until(lambda: driver.app.screen.query(ArgumentRow))
        await driver.type(str(tmp_path))
        await driver.press("ctrl+r")
        await driver.until(has_ended(driver), 90)
        preview = activity(driver)
        assert preview.status is PreviewStatus.COMPLETED, preview.error
        editor.select("Out")
        await driver.until(lambda: "✓ in 3" in text(driver))  # what it would write

        editor.select("Rename")
        await driver.settled()
        table = driver.app.screen.view.inspector.query_one("PreviewPane").query_one("RecordTable")
        await driver.until(lambda: table.note.startswith("3 records"))
        assert list(table.grid.get_column_at(1)) == ["a", None, "c"]

        await again(driver, editor, FAILING)
        await driver.until(has_ended(driver), 90)
        await driver.settled()
        assert activity(driver).status is PreviewStatus.RUN_FAILED
        assert editor.selected == "Rename"
        assert "too bad" in shown(driver, "PreviewPane")
        assert "✗ preview failed" in shown(driver, "TitleBar")

        await again(driver, editor, WAITING.format(gate=str(tmp_path / "gate")))
        await driver.press("X")
        await driver.until(has_ended(driver), 60)
        assert activity(driver).status is PreviewStatus.KILLED


async def again(driver, editor, script):
    """Preview with another script. The arguments are known by now."""
    before = activity(driver)
    assert editor.apply(SetProperty("Rename", "script", script))
    await driver.validated(editor)
    await driver.press("v")
    await driver.until(lambda: activity(driver).preview != before.preview)


def shown(driver, part):
    """What stands in a part of the view."""
    region = driver.app.screen.view.query_one(part).region
    strips = driver.app.screen._compositor.render_strips()[region.y : region.bottom]
    return "\n".join(strip.crop(region.x, region.right).text for strip in strips)


async def test_a_pipeline_with_failures_shows_them_instead_of_running(open_studio, document):
    document["config"]["stages"][1]["plugin"]["properties"] = {"rename": "nothing:x"}
    async with open_studio(target=DocumentTarget("wrong", json.dumps(document))) as driver:
        await driver.editor()
        await driver.press("r")

        assert driver.app.screen.query_one("#drawer").display
        assert activity(driver) is None


async def test_a_run_that_fails_goes_to_its_stage(open_studio, document):
    script = stage("Rename", "transform", "PythonEvaluator", script=FAILING)
    document["config"]["stages"][1] = script
    async with open_studio(target=DocumentTarget("failing", json.dumps(document))) as driver:
        editor = await driver.editor()
        await driver.press("r")
        await driver.until(has_ended(driver), 90)
        await driver.settled()

        assert activity(driver).status is RunStatus.FAILED
        assert editor.selected == "Rename"
        assert "✗ failed" in text(driver)
        assert "too bad" in driver.app.notices.newest_first[0].title


async def test_a_run_of_the_command_line_is_found_too(open_studio, cdap, document, tmp_path):
    gate = tmp_path / "gate"
    script = WAITING.format(gate=str(gate))
    document["config"]["stages"][1] = stage("Rename", "transform", "PythonEvaluator", script=script)
    run = cdap.runs.start(RunRequest(document, name="orders"))
    async with open_studio(target=DocumentTarget("orders", json.dumps(document))) as driver:
        await driver.editor()
        await driver.until(lambda: activity(driver) is not None)
        assert activity(driver).run == run.run
        gate.touch()
        await driver.until(has_ended(driver), 60)
        assert activity(driver).status is RunStatus.COMPLETED
        assert "in 3" in text(driver)
