"""The recording of a stage: set and removed with a key, shown on the card and in the heading."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input

from localcdap.host.cdap import Cdap
from localcdap.tui.dialogs.dialog_screen import InputDialog
from localcdap.tui.routes import DocumentTarget
from tests.tui.pipeline.documents import SCHEMA, pipeline, stage
from tests.tui.studio_driver import SMALL

WIDE = (150, 42)
SAP = json.dumps(
    pipeline(
        [
            stage("Orders", "batchsource", "SapOdp", "sap", referenceName="sap", schema=SCHEMA),
            stage("Score", "transform", "SapScorer", "sap", schema=SCHEMA),
            stage("Store", "batchsink", "Trash", "trash-plugin", referenceName="out"),
        ],
        "Orders>Score Score>Store",
        name="nightly",
    )
)


@pytest.fixture(autouse=True)
def removed(cdap: Cdap) -> Iterator[None]:
    """Each test finds the namespace without recordings."""
    yield
    for rule in cdap.recordings.list_recordings("default"):
        cdap.recordings.remove_recording("default", rule.subject)


def keep_picture(driver, name):
    """Keep a picture of the screen where a person asks for pictures."""
    folder = os.environ.get("LOCALCDAP_PICTURES")
    if folder:
        file = Path(folder) / f"{name}.svg"
        file.write_text(driver.app.export_screenshot(), encoding="utf-8")


async def record(driver, editor, stage, text):
    editor.select(stage)
    driver.app.screen.view.canvas.focus()
    await driver.press("t")
    await driver.until(lambda: isinstance(driver.app.screen, InputDialog))
    driver.app.screen.query_one(Input).value = text
    await driver.press("enter")
    await driver.until(lambda: not isinstance(driver.app.screen, InputDialog))
    await driver.settled()
    await driver.validated(editor)


async def test_a_stage_gets_a_recording_and_loses_it_again(open_studio, cdap):
    async with open_studio(size=WIDE, target=DocumentTarget("nightly", SAP)) as driver:
        editor = await driver.editor()
        await driver.validated(editor)
        assert {failure.stage for failure in editor.failures} == {"Orders", "Score"}
        editor.select("Orders")
        await driver.press("t")
        await driver.until(lambda: isinstance(driver.app.screen, InputDialog))
        assert driver.app.screen.query_one(Input).value == "generate:100"
        keep_picture(driver, "question-150")
        await driver.press("escape")

        await record(driver, editor, "Orders", "generate:7")
        await record(driver, editor, "Score", "pass")
        await driver.until(lambda: editor.is_valid)
        stand_ins = [editor.get_state(name).stand_in for name in editor.stages]
        assert [each and each.kind for each in stand_ins] == ["recorded", "placeholder", None]
        keep_picture(driver, "canvas-150")
        canvas = driver.app.screen.view.canvas
        drawn = "\n".join(canvas.render_line(y).text for y in range(canvas.size.height))
        assert "● Orders" in drawn
        assert "● Score" in drawn
        assert "✓ Store" in drawn
        assert json.loads(editor.to_text()) == json.loads(SAP)
        assert [each.subject for each in cdap.recordings.list_recordings("default")] == [
            "stage:nightly/Orders",
            "stage:nightly/Score",
        ]

        await record(driver, editor, "Score", "discard")
        await driver.until(lambda: editor.failures)
        assert [f.stage for f in editor.failures] == ["Score"] * len(editor.failures)
        assert "cannot stand in for a stage of type 'transform'" in editor.failures[0].message

        await record(driver, editor, "Orders", "")
        assert editor.get_state("Orders").stand_in is None
        await driver.until(lambda: any(f.stage == "Orders" for f in editor.failures))


async def test_a_recording_shows_on_a_small_screen(open_studio, cdap):
    for each in cdap.recordings.list_recordings("default"):
        cdap.recordings.remove_recording("default", each.key)
    cdap.recordings.set_recording("default", "plugin:SapOdp", "generate:7")
    cdap.recordings.set_recording("default", "plugin:SapScorer", "pass")
    async with open_studio(size=SMALL, target=DocumentTarget("nightly", SAP)) as driver:
        editor = await driver.editor()
        await driver.until(
            lambda: editor.get_state("Orders") and editor.get_state("Orders").stand_in
        )
        keep_picture(driver, "canvas-80")
        await driver.press("enter")
        await driver.settled()
        keep_picture(driver, "inspector-80")
        state = editor.get_state("Orders")
        assert state.stand_in.origin == "instance: plugin:SapOdp"
