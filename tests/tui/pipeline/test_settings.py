"""The settings of a pipeline: what has an effect here, what has none, and what the instance adds to it."""

from __future__ import annotations

import json

import pytest
from textual.widgets import Select, Static

from localcdap.api.app.connections import Connection, ConnectionPlugin
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.tui.pipeline.settings_dialog import PipelineSettingsDialog
from localcdap.tui.routes import DocumentTarget
from tests.tui.pipeline.documents import pipeline, stage
from tests.tui.studio_driver import SMALL

LEVEL = PreferenceLevel("default", "nightly")
SHOP = Connection("shop", "PostgreSQL", ConnectionPlugin("PostgreSQL", properties={"host": "db"}))


@pytest.fixture
def nightly(cdap):
    """A pipeline with a schedule, whose stages use connections, as the text of its document."""
    cdap.connections.put("default", SHOP)
    properties = {"useConnection": "true", "referenceName": "in", "importQuery": "SELECT 1"}
    stages = [
        stage(name, "batchsource", "Postgres", "postgresql-plugin", **properties, connection=used)
        for name, used in (("In", "${conn(shop)}"), ("Gone", "${conn(elsewhere)}"))
    ]
    yield json.dumps(pipeline(stages, name="nightly", schedule="30 2 * * *"))
    cdap.connections.delete("default", "shop")
    cdap.preferences.delete(LEVEL)


async def opened(driver):
    await driver.editor()
    await driver.press("s")
    assert isinstance(driver.app.screen, PipelineSettingsDialog)
    return driver.app.screen


def notes(screen):
    return " ".join(str(each.content) for each in screen.query(Static))


async def test_settings_say_what_has_no_effect_and_what_to_do_instead(open_studio, nightly):
    async with open_studio(size=SMALL, target=DocumentTarget("nightly", nightly)) as driver:
        said = notes(await opened(driver))

        assert "A deployment makes the schedule dataPipelineSchedule" in said
        assert " 02:30:00 " in said
        assert "engine.memory in localcdap.toml" in said
        assert "shop: PostgreSQL" in said
        assert "elsewhere: not in this namespace" in said


async def test_the_profile_of_a_pipeline_is_a_preference(open_studio, cdap, nightly):
    async with open_studio(target=DocumentTarget("nightly", nightly)) as driver:
        screen = await opened(driver)
        assert screen.query_one("#profile", Select).value == ""
        screen.query_one("#profile", Select).value = "native"
        await driver.press("ctrl+s")
        assert cdap.preferences.get(LEVEL) == {"system.profile.name": "native"}
        assert not driver.app.screen.editor.is_changed

        await driver.press("s")
        assert driver.app.screen.query_one("#profile", Select).value == "native"
        driver.app.screen.query_one("#profile", Select).value = ""
        await driver.press("ctrl+s")
        assert cdap.preferences.get(LEVEL) == {}


async def test_a_profile_that_is_not_declared_any_more_is_shown(open_studio, cdap, nightly):
    cdap.preferences.replace(LEVEL, {"system.profile.name": "USER:gone"})
    async with open_studio(target=DocumentTarget("nightly", nightly)) as driver:
        screen = await opened(driver)

        assert screen.query_one("#profile", Select).value == "gone"
        await driver.press("escape")
        assert cdap.preferences.get(LEVEL) == {"system.profile.name": "USER:gone"}
