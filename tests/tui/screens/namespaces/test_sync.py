"""Synchronizing a folder in the studio."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Static

from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.sync.synchronizer import Synchronizer
from localcdap.tui.dialogs.dialog_screen import ConfirmDialog
from localcdap.tui.lists import FilteredList
from localcdap.tui.screens.namespaces.sync_dialog import SyncDialog

LEVEL = PreferenceLevel("shared")


@pytest.fixture
def folder(cdap, tmp_path: Path):
    cdap.namespaces.create("shared", "")
    cdap.preferences.replace(LEVEL, {"region": "eu", "day": "monday", "size": "1"})
    made = Synchronizer(cdap.sync, "shared", tmp_path)
    made.apply(made.plan())
    yield tmp_path
    cdap.namespaces.delete("shared")


def write(folder: Path, **values: str) -> None:
    text = json.dumps({"preferences": values})
    (folder / "preferences" / "namespace.json").write_text(text)


def read(folder: Path) -> dict[str, str]:
    return json.loads((folder / "preferences" / "namespace.json").read_text())["preferences"]


def listed(driver) -> FilteredList:
    return driver.app.screen.query_one(FilteredList)


def detail(driver) -> str:
    return str(driver.app.screen.query_one("#sync-detail", Static).content)


async def open_dialog(driver, folder: Path) -> None:
    await driver.press("7")
    driver.app.screen.query_one("#namespaces", FilteredList).show("shared")
    await driver.press("f")
    assert driver.app.focused.value == str(folder)
    await driver.press("enter")
    await driver.until(lambda: isinstance(driver.app.screen, SyncDialog))
    await driver.settled()


async def test_conflicts_are_solved_one_by_one(open_studio, cdap, folder: Path):
    write(folder, region="us", day="friday", size="1", new="x")
    cdap.preferences.replace(LEVEL, {"region": "asia", "day": "sunday", "size": "2"})
    async with open_studio() as driver:
        await open_dialog(driver, folder)
        start = "conflict preferences/namespace#/preferences/"
        assert listed(driver).keys == [f"{start}region", f"{start}day"]
        assert detail(driver).split() == ["before", "eu", "instance", "asia", "folder", "us"]
        assert "2 conflicts" in driver.app.screen.explain_disabled("synchronize")

        await driver.press("m", "t", "s")
        await driver.until(lambda: isinstance(driver.app.screen, ConfirmDialog))
        assert read(folder)["region"] == "us"
        await driver.press("y")
        await driver.until(lambda: not isinstance(driver.app.screen, (SyncDialog, ConfirmDialog)))

    solved = {"region": "asia", "day": "friday", "size": "2", "new": "x"}
    assert cdap.preferences.get(LEVEL) == solved == read(folder)


async def test_problems_are_explained_and_nothing_is_done(open_studio, cdap, folder: Path):
    write(folder, region="us")
    (folder / "drafts").mkdir()
    (folder / "drafts" / "x.json").write_text("{")
    async with open_studio() as driver:
        await open_dialog(driver, folder)
        assert listed(driver).keys == ["problem 0"]
        assert "drafts/x.json" in detail(driver)
        assert driver.app.screen.explain_disabled("synchronize") == "solve 1 problem first"
        (folder / "drafts" / "x.json").unlink()
        await driver.press("r")
        assert listed(driver).keys == ["i preferences/namespace"]
        await driver.press("escape")

    assert cdap.preferences.get(LEVEL)["region"] == "eu"
