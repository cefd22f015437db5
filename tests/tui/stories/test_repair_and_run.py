"""The story of a pipeline that came from elsewhere: opened, repaired, tried, run, its counts read."""

from __future__ import annotations

import json

import pytest
from textual.widgets import OptionList

from localcdap.engine.messages.spool import RunStatus
from localcdap.host import demo
from localcdap.tui.inspector.preview.debug_pane import DebugPane
from localcdap.tui.pipeline.actions import ActivityRunner
from localcdap.tui.pipeline.problem_list import ProblemList
from localcdap.tui.screens.runs.arguments import ArgumentRow, ArgumentsDialog

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def came(home, tmp_path, engine_directory):
    """The sample pipeline as another instance exported it, with what its author got wrong."""
    sample = demo.install_demo(home)
    document = json.loads(sample.read_text())
    document["name"] = "came"
    stages = {stage["name"]: stage["plugin"] for stage in document["config"]["stages"]}
    stages["Parse"]["artifact"]["version"] = "1.0.0"  # a version that is not here
    stages["Customers"]["properties"]["sampleSize"] = "many"  # no number
    del stages["Spending table"]["properties"]["name"]  # a required property
    file = tmp_path / "came.json"
    file.write_text(json.dumps(document))
    return file


async def to_problem(driver, stage):
    """Go to the first failure of a stage in the list of problems, and from there to its field."""
    listed = driver.app.screen.query_one(ProblemList)
    failures = [failure.stage for failure in listed.shown]
    await driver.press("g", *["j"] * failures.index(stage), "enter")
    return driver.app.screen.query_one("Inspector")


def focused_field(inspector):
    """The name of the property whose field has the focus, once its form is complete."""
    form = inspector.form
    return next(
        (name for name, field in form.fields.items() if form.is_ready and field.has_focus_within),
        None,
    )


async def settled(driver, editor):
    driver.app.screen.query_one("Inspector").flush()
    await driver.validated(editor)


async def test_a_pipeline_is_opened_repaired_tried_and_run(open_studio, cdap, home, came):
    async with open_studio() as driver:
        await driver.press("o")
        await driver.type(str(came))
        await driver.press("enter")
        editor = await driver.editor()
        assert {failure.stage for failure in editor.failures} >= {"Parse", "Customers"}

        await take_what_is_here(driver, editor)
        await mend(driver, editor)
        await try_a_stage(driver, editor)
        await run(driver, cdap, str(demo.install_demo(home).parent))

        await driver.press("3")
        await driver.until(lambda: "came" in _text(driver))
        assert "completed" in _text(driver)


async def take_what_is_here(driver, editor):
    """The version that is here instead of the one that is not: the fix that the problem offers."""
    await driver.press("P")
    await driver.settled()
    driver.app.screen.query_one(ProblemList).query_one(OptionList).focus()
    assert "X applies the fix" in _text(driver)
    await driver.press("X")
    await settled(driver, editor)
    assert "Parse" not in {failure.stage for failure in editor.failures}


async def mend(driver, editor):
    """Each of the other failures is corrected in the field that it belongs to."""
    inspector = await to_problem(driver, "Customers")
    await settled(driver, editor)
    await driver.until(lambda: focused_field(inspector) == "sampleSize")
    await driver.press("home", *["delete"] * 4, *"50")
    await settled(driver, editor)
    assert editor.get_properties("Customers")["sampleSize"] == "50"
    driver.app.screen.query_one(ProblemList).query_one(OptionList).focus()
    await to_problem(driver, "Spending table")
    await driver.until(lambda: focused_field(inspector) == "name")
    await driver.type("repaired")
    await settled(driver, editor)
    assert editor.is_valid, editor.failures
    await driver.until(lambda: driver.app.screen.query_one("#drawer").size.height < 3)


async def try_a_stage(driver, editor):
    """A stage is tried on records that are typed."""
    inspector = driver.app.screen.query_one("Inspector")
    editor.select("Parse")
    await settled(driver, editor)
    inspector.open_tab("try")
    pane = inspector.query_one(DebugPane)
    await settled(driver, editor)
    await driver.press("escape", "enter")
    assert driver.app.focused is pane.query_one("ValueArea")
    await driver.type('offset,body\n0,"ada,tea,2.5,2"\n14,only')
    await driver.press("f9")
    await driver.until(lambda: pane.answer is not None, 60)
    assert [record["price"] for record in pane.answer.output.records] == [2.5]
    assert "1 values, but the schema needs 4" in pane.answer.errors[0].message


async def run(driver, cdap, folder):
    """It runs, asked for the value of its macro; the counts are those of its records."""
    await driver.press("escape", "escape", "r")
    await driver.until(lambda: isinstance(driver.app.screen, ArgumentsDialog))
    await driver.until(lambda: driver.app.screen.query(ArgumentRow))
    await driver.type(folder)
    await driver.press("ctrl+r")
    running = driver.app.screen.view.query_one(ActivityRunner)
    await driver.until(lambda: running.activity is not None and running.activity.status.is_end, 120)
    assert running.activity.status is RunStatus.COMPLETED, running.activity.error
    counts = running.activity.stages
    assert (counts["Purchases"].records_out, counts["Parse"].errors) == (60, 1)
    assert len(cdap.tables.read_rows("default", "repaired", 100).rows) == 7


def _text(driver):
    """What stands on the screen."""
    width, height = driver.app.size
    strips = driver.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips[:height])
