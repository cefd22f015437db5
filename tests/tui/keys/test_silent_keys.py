"""Every key of every area does something, or says why it does not."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.schema import Schema
from localcdap.engine.messages.spool import RunStatus
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.runs.model import StoredLogLine
from localcdap.store.tables import NamespaceTables
from localcdap.tui.routes import AREAS, DocumentTarget
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
SPENDING = Schema.record("r", [("id", Schema.LONG), ("city", Schema.STRING.as_nullable)])
OTHERS = [area for area in AREAS if area.name != "studio"]
SOME_EMPTY = [
    area if area.name in ("home", "data") else pytest.param(area, marks=pytest.mark.slow)
    for area in OTHERS
]


@pytest.fixture(scope="module")
def filled(cdap, tmp_path_factory) -> str:
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
    file = tmp_path_factory.mktemp("table") / "spending.parquet"
    pq.write_table(pa.table({"id": [1, 2], "city": ["Rome", None]}), file)
    store = cdap.tables._tables._store
    with store.transaction() as tx:
        NamespaceTables(store).upsert_parquet(tx, name, "spending", SPENDING, "id", [file])
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


@pytest.mark.parametrize("area", SOME_EMPTY, ids=lambda area: area.name)
@pytest.mark.slow
async def test_in_an_empty_area(cdap, open_studio, area):
    cdap.namespaces.create(f"empty_{area.name}")
    async with open_studio(namespace=f"empty_{area.name}") as driver:
        assert await sweep_area(driver, area) == []


@pytest.mark.slow
@pytest.mark.parametrize("area", OTHERS, ids=lambda area: area.name)
async def test_in_a_filled_area(open_studio, filled, area):
    async with open_studio(namespace=filled) as driver:
        assert await sweep_area(driver, area) == []


SLOW = [pytest.param(stage, marks=pytest.mark.slow) for stage in ("File", "Projection")]


@pytest.mark.parametrize("selected", [None, *SLOW])
@pytest.mark.slow
async def test_in_the_studio(open_studio, selected):
    document = EMPTY if selected is None else DOCUMENT
    async with open_studio(target=DocumentTarget("p", json.dumps(document))) as driver:
        editor = await driver.editor()
        view = driver.app.screen.view
        drawer, close = view.query_one("#drawer"), create_reset(driver, "studio")

        tab, part = "properties", ""

        async def reset() -> None:
            await close()
            while editor.can_undo:
                editor.undo()
            editor.select(selected)
            drawer.display = bool(part)
            drawer.current = part or "problems"
            view._show_inspector(True)
            view.inspector.show_selected()
            view.inspector.open_tab(tab)
            await driver.settled()

        known: set[tuple[str, str]] = set()
        assert await find_silent_keys(driver, reset, known) == []
        for tab, part in (("schema", "problems"), ("docs", "log"), ("try", ""), ("preview", "")):
            assert await find_silent_keys(driver, reset, known) == [], (tab, part)


async def test_a_reason_that_is_shown_is_not_repeated(open_studio):
    async with open_studio(target=DocumentTarget("p", json.dumps(EMPTY))) as driver:
        await driver.editor()
        await driver.press("R", "R", "ctrl+z", "R")
        said = [notice.title for notice in driver.app.notices.newest_first]
        assert said == ["Undo: there is nothing to undo.", "Rename: no stage is selected."]
