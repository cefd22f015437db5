"""Whole screens as pictures; ``--snapshot-update`` takes new ones, which are to be looked at."""

from __future__ import annotations

import re

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from localcdap.home import find_shipped_data
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.tui.dialogs.schedules import SchedulesDialog
from localcdap.tui.routes import DocumentTarget
from tests.tui.studio_driver import LARGE, SMALL

SAMPLE = (find_shipped_data() / "demo" / "pipeline.json").read_text()


class Picture(SingleFileSnapshotExtension):
    """One SVG file for each."""

    _write_mode = WriteMode.TEXT
    file_extension = "svg"


@pytest.fixture
def picture(snapshot):
    return snapshot.use_extension(Picture)


def taken(driver):
    """The screen, without the name that is another one each time."""
    return re.sub(r"terminal-\d+", "terminal", driver.app.export_screenshot())


async def opened(driver):
    editor = await driver.editor()
    driver.app.screen.refresh(layout=True)  # the sign of an answer waited for leaves no trace
    await driver.until(lambda: not driver.app.busy)
    return editor


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_studio(open_studio, picture, size):
    async with open_studio(size=size, target=DocumentTarget("spending", SAMPLE)) as driver:
        await opened(driver)

        assert taken(driver) == picture


async def test_what_can_be_done_at_home(open_studio, picture):
    async with open_studio(size=SMALL) as driver:
        await driver.until(lambda: driver.app.focused is not None)
        await driver.press("question_mark")
        await driver.settled()

        shown = taken(driver)
        assert "What" in shown
        assert shown == picture


async def test_the_schedules_of_a_pipeline(open_studio, picture, cdap):
    cdap.applications.deploy(DeployRequest(SAMPLE, name="spending"))
    try:
        async with open_studio(size=SMALL) as driver:
            driver.app.push_screen(SchedulesDialog("spending"))
            # The answer about the highlighted schedule comes after that about all.
            await driver.until(lambda: "triggered" in taken(driver))
            await driver.settled()

            assert taken(driver) == picture
    finally:
        cdap.applications.delete("default", "spending")
