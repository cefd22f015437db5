"""The studio paints no character that does something to the terminal, on no screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.tui.routes import AREAS, LineageTarget, PipelineFileTarget
from localcdap.tui.screens.lineage.graph import LineageCanvas
from tests.e2e.pipelines import pipeline, stage, write
from tests.tui.studio_driver import Driver, studio

HOSTILE = "x\x1b]0;owned\x07\x1b[2J\x9b31m\u202edlrow\u2066\x7f\x08y"


def find_controls(driver: Driver) -> list[str]:
    """The painted texts that hold control or direction characters."""
    lines = driver.app.screen._compositor.render_strips(driver.app.size)
    texts = [segment.text for line in lines for segment in line if not segment.control]
    return [text for text in texts if not text.isprintable()]


@pytest.mark.slow
async def test_no_screen_paints_a_control_character(tmp_path: Path):
    source = stage("In" + HOSTILE, "batchsource", "File", path="/nowhere" + HOSTILE, format="text")
    sink = stage(HOSTILE, "batchsink", HOSTILE, HOSTILE, **{HOSTILE: HOSTILE})
    document = pipeline([source, sink], ("In" + HOSTILE, HOSTILE))
    file = write(document | {"name": HOSTILE, "description": HOSTILE}, tmp_path / "p.json")
    with open_in_process(Home(tmp_path / "home")) as cdap:
        cdap.namespaces.create("team", HOSTILE, {})
        target = PipelineFileTarget(Path(file))
        async with studio(cdap, Home(tmp_path / "home"), target=target) as driver:
            await driver.editor()
            assert find_controls(driver) == []
            for area in AREAS:
                await driver.press(area.key)
                assert find_controls(driver) == [], area.name
            driver.app.notify(HOSTILE, title=HOSTILE)
            await driver.settled()
            assert find_controls(driver) == []


@pytest.mark.slow
async def test_no_lineage_search_or_metadata_paints_a_control_character(tmp_path: Path):
    home = Home(tmp_path / "home")
    with open_in_process(home) as cdap:
        dataset = DatasetId("default", HOSTILE)
        field = DatasetField(dataset, HOSTILE)
        lineage = cdap.lineage._lineage
        with lineage._store.transaction() as tx:
            lineage.replace_edges(tx, "default", HOSTILE, [ColumnEdge(field, field)])
        entity = dataset.to_entity().append("field", HOSTILE)
        cdap.metadata.add(entity, {"owner": "ada"}, ["tag"])
        async with studio(cdap, home, target=LineageTarget(HOSTILE, HOSTILE)) as driver:
            await driver.until(lambda: driver.app.current_mode == "lineage")
            await driver.settled()
            assert driver.app.screen.query_one(LineageCanvas).node is not None
            assert find_controls(driver) == []
            for keys in (["d"], ["f"], ["p"], ["T"], ["T", "t"], ["t"], ["8", "escape", "down"]):
                await driver.press(*keys)
                assert find_controls(driver) == [], keys
                await driver.press("escape", "escape")
