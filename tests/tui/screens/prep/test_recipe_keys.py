"""Steps side by side, versions and the library of recipes in the prep area."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.apps.model import AppRequest
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.routes import PrepTarget
from localcdap.tui.screens.prep import recipe_keys
from localcdap.tui.screens.prep.recipe_keys import LibraryRecipe, read_recipes, save_recipe
from tests.tui.screens.prep.test_screen import column, opened, shown, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("name;city\nada; Rome \nbob;\ncy;Oslo\n")
    return path


async def test_a_step_is_compared(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "trim :city")
        await write(driver, "filter-row exp:{name == 'bob'} true")
        await driver.press("b", "equals_sign")
        assert column(driver, 0) == ["ada", "bob", "cy"]
        assert "after step 2 of 2 · compared: 2 same, 1 dropped" in screen.table.note
        assert "- bob" in shown(driver)
        await driver.press("up")
        assert [each.kind for each in screen.view.changes] == ["changed", "same", "same"]
        assert "Rome → Rome" in " ".join(shown(driver).split())
        await driver.press("equals_sign")
        assert screen.view.changes == []
        await driver.press("escape")
        assert column(driver, 0) == ["ada", "cy"]


@pytest.mark.slow
async def test_versions_are_kept_and_restored(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "trim :city")
        await driver.press("V", "enter", "enter")
        await write(driver, "drop :name")
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        assert screen.recipe.directives == ["trim :city", "drop :name"]
        await driver.press("V", "down")
        assert column(driver, 0) == ["ada", "bob", "cy"]
        chooser = driver.app.screen
        assert isinstance(chooser, Chooser)
        assert "- drop :name" in shown(driver)
        await driver.press("enter")
        assert screen.recipe.directives == ["trim :city"]
        kept = driver.app.user_state.find_versions("default", str(path))
        assert [each.name for each in kept] == ["version 1", "before version 1"]
        await driver.press("u")
        assert screen.recipe.directives == ["trim :city", "drop :name"]


@pytest.mark.slow
async def test_the_library_is_that_of_the_namespace(open_studio, path, cdap, monkeypatch):
    monkeypatch.setattr(recipe_keys, "_PAGE", 2)
    for number in range(3):
        recipe = LibraryRecipe(f"recipe {number}", "d", ["uppercase :${column}"])
        save_recipe(cdap, "default", recipe, replaces=False)
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "trim :city")
        await driver.press("B", "enter")
        await driver.type("tidy\n")
        await driver.press("enter")
        await driver.until(lambda: "tidy" in [each.recipe_name for each in _read(cdap)])
        assert len(_read(cdap)) == 4
        await driver.press("B")
        await driver.type("recipe 2\n")
        await driver.press("enter")
        assert "Value of ${column}" in shown(driver)
        await driver.type("name\n")
        assert screen.recipe.directives == ["trim :city", "uppercase :${column}"]
        assert column(driver, 0) == ["ADA", "BOB", "CY"]
        await driver.press("B")
        await driver.type("tidy\n")
        await driver.press("down", "down", "enter")
        await driver.press("y")
        await driver.until(lambda: len(_read(cdap)) == 3)
    route = "/v2/contexts/default/recipes/name/recipe%202"
    assert cdap.apps.call("dataprep", AppRequest("GET", route)).status == 200


def _read(cdap) -> list[LibraryRecipe]:
    return read_recipes(cdap, "default")
