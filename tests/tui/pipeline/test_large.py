"""A pipeline of 200 stages in the studio."""

from __future__ import annotations

import json
import time

import pytest

from localcdap.pipeline.editing.edits import DuplicateStage, SetProperty
from localcdap.tui.routes import DocumentTarget
from tests.tui.pipeline.documents import SCHEMA, pipeline, stage
from tests.tui.pipeline.test_editing import agreed

COUNT = 200


def large():
    first = stage(
        "s0", "batchsource", "File", path="/x", format="csv", schema=SCHEMA, referenceName="a"
    )
    stages, links = [first], []
    for i in range(1, COUNT):
        stages.append(stage(f"s{i}", "transform", "Projection"))
        links.append(f"s{i - 1 - (i % 5 == 0) * min(i - 1, 3)}>s{i}")
    return pipeline(stages, " ".join(links))


@pytest.fixture(scope="module")
def document():
    return large()


@pytest.mark.slow
async def test_an_edit_of_200_stages_is_seen_at_once(open_studio, cdap, document):
    async with open_studio(target=DocumentTarget("large", json.dumps(document))) as driver:
        editor = await driver.editor()
        assert len(editor.stages) == COUNT
        canvas = driver.app.screen.view.canvas
        spent = []
        for number in range(12):
            start = time.thread_time()
            assert editor.apply(SetProperty("s100", "drop", "body" if number % 2 else "id"))
            for y in range(canvas.size.height):
                canvas.render_line(y)
            spent.append(time.thread_time() - start)
        assert sorted(spent)[len(spent) // 2] < 0.016
        await agreed(driver, cdap, editor)


@pytest.mark.slow
async def test_200_stages_are_walked_searched_and_changed(open_studio, cdap, document):
    async with open_studio(target=DocumentTarget("large", json.dumps(document))) as driver:
        editor = await driver.editor()
        canvas = driver.app.screen.view.canvas
        await driver.press("l", "l", "0", "l", "j", "minus", "plus")
        inspector = driver.app.screen.view.inspector
        before = inspector.stage
        editor.select("s149")
        editor.select("s150")
        assert inspector.stage == before  # it follows when the selection rests
        await driver.settled()
        assert inspector.stage == "s150"
        width, height = canvas.size
        assert any(
            canvas.find_stage_at(x, y) == "s150" for x in range(width) for y in range(height)
        )

        assert editor.apply(DuplicateStage("s150"))
        assert "s150 2" in canvas.drawing.boxes
        await driver.press("u")
        assert "s150 2" not in canvas.drawing.boxes
        await agreed(driver, cdap, editor)
