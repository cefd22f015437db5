"""Every screen as it is heard, and in other sizes: names, order, states in words, nothing cut."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.home import find_shipped_data
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.runs.model import RunError
from localcdap.tui.routes import AREAS, DocumentTarget
from tests.runs.stored_runs import write_run
from tests.tui.stories.reader import Reader

SAMPLE = (find_shipped_data() / "demo" / "pipeline.json").read_text()
SIZES = [(200, 60), (100, 30), (80, 24), (60, 20)]
KEYS_OF_DIALOGS = {
    "home": ["question_mark", "colon", "n", "o", "ctrl+t", "f12"],
    "studio": ["a", "s", "E", "ctrl+o"],
    "runs": ["p", "s", "t", "R"],
    "data": ["T"],
    "library": ["n", "i"],
    "namespaces": ["a", "n"],
    "lineage": ["d"],
}
"""The dialogs that are open while the terminal gets another size."""


@pytest.fixture(scope="module", autouse=True)
def furnished(cdap) -> None:
    """Something in every area."""
    cdap.applications.deploy(DeployRequest(SAMPLE, name="a_pipeline_with_a_name_longer_than_most"))
    cdap.drafts.save("default", DraftRequest(SAMPLE, "draft"))
    cdap.namespaces.create("other")
    cdap.secure_keys.put("default", "password", "hidden")
    for name in ("orders", "people", "stock"):
        write_run(cdap, name, RunStatus.COMPLETED)
    error = RunError("no file 'x'", "Write another path.", "In", [])
    write_run(cdap, "a_pipeline_with_a_name_longer_than_most", RunStatus.FAILED, error=error)


@pytest.mark.parametrize(
    ("colours", "sizes", "areas"),
    [
        ("NO_COLOR", SIZES[-1:], AREAS[1:3]),
        pytest.param("NO_COLOR", SIZES[-1:], AREAS, marks=pytest.mark.slow),
        pytest.param("16", SIZES[2:3], AREAS, marks=pytest.mark.slow),
        pytest.param("all", SIZES, AREAS, marks=pytest.mark.slow),
    ],
    ids=["two", "NO_COLOR", "16", "all"],
)
async def test_every_screen_can_be_heard_in_every_size(
    open_studio, monkeypatch, colours, sizes, areas
):
    if colours == "NO_COLOR":
        monkeypatch.setenv("NO_COLOR", "1")
    async with open_studio(target=DocumentTarget("spending", SAMPLE)) as driver:
        if colours == "16":
            driver.app.theme = "localcdap-16"
        await driver.editor()
        reader, faults = Reader(driver), []
        for area in areas:
            await driver.press("escape", area.key)
            await driver.until(lambda name=area.name: driver.app.current_mode == name)
            await driver.until(reader.read)
            for size in sizes:
                await driver.resize(*size)
                faults += [f"{area.name} {size}: {each}" for each in reader.find_faults()]
                unseen = await reader.find_unreachable() if size == SIZES[-1] else []
                faults += [f"{area.name} {size}: {each} cannot be seen" for each in unseen]
        assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "area",
    [
        each if each == "runs" else pytest.param(each, marks=pytest.mark.slow)
        for each in KEYS_OF_DIALOGS
    ],
)
async def test_a_dialog_can_be_used_after_the_terminal_got_another_size(open_studio, area):
    async with open_studio(target=DocumentTarget("spending", SAMPLE)) as driver:
        await driver.editor()
        reader = Reader(driver)
        await driver.press("escape", next(each.key for each in AREAS if each.name == area))
        for key in KEYS_OF_DIALOGS[area]:
            await driver.press(key)
            dialog = driver.app.screen
            assert dialog.is_modal, f"{key} opens no dialog:\n" + "\n".join(reader.read())
            for size in [*SIZES, SIZES[0]]:
                await driver.resize(*size)
                place = f"{key} {size}"
                assert not list(reader.find_faults()), place
                assert not await reader.find_unreachable(), place
            await driver.press("escape", "escape")
            assert driver.app.screen is not dialog, f"escape does not close the dialog of {key}"


async def test_every_state_has_a_word_or_a_mark(open_studio):
    document = json.loads(SAMPLE)
    stages = {stage["name"]: stage["plugin"] for stage in document["config"]["stages"]}
    stages["Customers"]["properties"]["sampleSize"] = "many"
    async with open_studio(
        size=(200, 60), target=DocumentTarget("p", json.dumps(document))
    ) as driver:
        editor = await driver.editor()
        editor.select("Customers")
        await driver.settled()
        shown = "\n".join(Reader(driver).read())
        assert "✗ 1 failure" in shown
        assert "✓ valid" in shown
        assert "┏" in shown, "the selected stage has another frame"
        assert "✗ 1 failure in 1 stage" in shown
        await driver.press("escape", "3")
        lines = Reader(driver).read()
        assert any("✗ failed" in line for line in lines)
        assert any("✓ completed" in line for line in lines)
        assert sum("›" in line for line in lines) >= 1, "the chosen run has a mark"


def test_no_two_states_of_a_run_have_the_same_mark_and_word():
    from localcdap.tui.labels import RUN_MARKS

    told = sorted((RUN_MARKS[status][0], status.lower()) for status in RunStatus)
    assert len(told) == len(RunStatus)
    assert all(one != other for one, other in pairwise(told))
