"""Every key of every area does something, or says why it does not."""

from __future__ import annotations

import json

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.pipeline.library.draft_model import DraftRequest
from localcdap.runs.model import StoredLogLine
from localcdap.tui.areas import AREAS
from localcdap.tui.routes import DocumentTarget
from tests.runs.stored_runs import write_log, write_run
from tests.tui.inspector.bench import pipeline
from tests.tui.keys.key_sweep import find_silent_keys

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}'
SOURCE = {"referenceName": "r", "path": "x.csv", "format": "csv", "schema": SCHEMA}
DOCUMENT = pipeline(
    "File:batchsource Projection:transform Trash:batchsink",
    File=SOURCE,
    Trash={"referenceName": "t"},
)
EMPTY = {"name": "p", "config": {"stages": [], "connections": []}}
OTHERS = [area for area in AREAS if area.name != "studio"]


@pytest.fixture(scope="module")
def filled(cdap) -> str:
    """A namespace with something in every area."""
    name = "filled"
    cdap.namespaces.create(name)
    text = json.dumps(DOCUMENT)
    cdap.applications.deploy(DeployRequest(text, namespace=name, name="sales"))
    cdap.drafts.save(name, DraftRequest(text))
    cdap.preferences.update(PreferenceLevel(name), {"input": "in"})
    cdap.secure_keys.put(name, "password", "hidden")
    run = write_run(cdap, "sales", RunStatus.COMPLETED, namespace=name)
    write_log(cdap, run.run, [StoredLogLine(n, n, "INFO", f"line {n}", "In") for n in (1, 2, 3)])
    return name


def create_reset(driver, area: str):
    async def close_dialogs() -> None:
        while len(driver.app.screen_stack) > 1:
            driver.app.pop_screen()
            await driver.settled()

    async def reset() -> None:
        await close_dialogs()
        if driver.app.current_mode != area:
            await driver.app.switch_mode(area)
            await close_dialogs()
        driver.app.screen.minimize()
        await driver.settled()

    return reset


async def sweep_area(driver, area) -> list[str]:
    await driver.press(area.key)
    return await find_silent_keys(driver, create_reset(driver, area.name), set())


@pytest.mark.parametrize("area", OTHERS, ids=lambda area: area.name)
async def test_in_an_empty_area(cdap, open_studio, area):
    cdap.namespaces.create(f"empty_{area.name}")
    async with open_studio(namespace=f"empty_{area.name}") as driver:
        assert await sweep_area(driver, area) == []


@pytest.mark.parametrize("area", OTHERS, ids=lambda area: area.name)
async def test_in_a_filled_area(open_studio, filled, area):
    async with open_studio(namespace=filled) as driver:
        assert await sweep_area(driver, area) == []


@pytest.mark.parametrize("selected", [None, "File", "Projection"])
async def test_in_the_studio(open_studio, selected):
    document = EMPTY if selected is None else DOCUMENT
    async with open_studio(target=DocumentTarget("p", json.dumps(document))) as driver:
        editor = await driver.editor()
        view = driver.app.screen.view
        drawer, close = view.query_one("#drawer"), create_reset(driver, "studio")

        async def reset() -> None:
            await close()
            while editor.can_undo:
                editor.undo()
            editor.select(selected)
            drawer.display = False
            view._show_inspector(True)
            await driver.settled()

        assert await find_silent_keys(driver, reset, set()) == []
