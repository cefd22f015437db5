"""The data that were opened last in the prep area, on real files, tables and connections."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Static

from localcdap.tui.lists import FilteredList
from localcdap.tui.machine import OpenedData, UserState, read_user_state
from localcdap.tui.routes import PrepTarget
from tests.tui.screens.prep.test_screen import get_screen, opened
from tests.tui.studio_driver import SMALL


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("name,city\nada,Rome\n")
    return path


def get_list(driver) -> FilteredList:
    return get_screen(driver).query_one("#prep-recent FilteredList", FilteredList)


@pytest.mark.slow
async def test_what_was_opened_is_listed_and_opened_again(open_studio, cdap, path):
    document = {"name": "pasted", "plugin": {"name": "Paste", "properties": {"text": "a,b\n1,2"}}}
    cdap.connections.load("default", document)
    async with open_studio(size=SMALL) as driver:
        await driver.press("semicolon")
        note = str(get_screen(driver).query_one("#prep-recent .note", Static).content)
        assert note.startswith("Nothing was opened in this namespace yet.")
        for target in (PrepTarget(str(path)), PrepTarget("/text", connection="pasted")):
            get_screen(driver).show_target(target)
            await opened(driver)
            await driver.until(lambda t=target: get_screen(driver).source.place in t.path)
        await driver.until(lambda: len(read_user_state().opened) == 2)
        assert get_screen(driver).table.grid.has_focus

    async with open_studio(size=SMALL) as driver:
        await driver.press("semicolon")
        assert get_list(driver).keys == ["connection:pasted:/text", str(path)]
        await driver.press("j", "enter")
        await opened(driver)
        assert get_screen(driver).source.path == str(path)
        assert read_user_state().list_opened("default")[0].path == str(path)

    path.unlink()
    cdap.namespaces.create("other")
    async with open_studio(size=SMALL) as driver:
        await driver.press("semicolon")
        assert get_list(driver).keys == ["connection:pasted:/text"]
        driver.app.namespace = "other"
        await driver.settled()
        assert get_list(driver).keys == []
    cdap.namespaces.delete("other")
    cdap.connections.delete("default", "pasted")


async def test_data_that_cannot_be_opened_are_not_kept(open_studio, path):
    async with open_studio(target=PrepTarget(str(path.with_name("none.csv")))) as driver:
        await driver.until(lambda: driver.app.current_mode == "prep")
        await driver.until(lambda: driver.app.notices.newest_first)
        await driver.settled()
        assert get_screen(driver).source is None
        assert read_user_state().opened == []
        assert "Nothing was opened" in str(
            get_screen(driver).query_one("#prep-recent .note", Static).content
        )


def test_the_newest_data_come_first_and_the_oldest_are_dropped():
    state = UserState()
    for number in range(150):
        state.remember_opened(OpenedData("default", table=f"t{number}"))
    state.remember_opened(OpenedData("default", table="t120"))
    found = [each.table for each in state.list_opened("default")]
    assert found[:3] == ["t120", "t149", "t148"]
    assert len(found) == len(set(found)) == 100
    assert state.list_opened("other") == []
