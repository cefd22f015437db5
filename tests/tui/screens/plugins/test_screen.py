"""The plugins area on the shipped plugins and on files that come, break and go."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Markdown, Static

from localcdap.home import Home
from localcdap.host.cdap import open_in_process
from localcdap.tui.lists import FilteredList
from localcdap.tui.routes import PluginTarget
from localcdap.tui.screens.plugins.catalog import find_source_file
from localcdap.tui.widgets.lines import CapabilityToggle
from tests.artifacts.authoring import capable, source, write
from tests.tui.studio_driver import SMALL, studio


def get_list(driver) -> FilteredList:
    return driver.app.screen.query_one("#plugins", FilteredList)


def read_facts(driver) -> str:
    return str(driver.app.screen.query_one("#plugin-facts", Static).content)


def read_note(driver) -> str:
    return str(driver.app.screen.query_one("#plugins-note", Static).content)


async def go_to(driver, key: str) -> None:
    get_list(driver).show(key)
    await driver.settled()


@pytest.fixture
def plugins(home: Home):
    folder = home.path / "plugins"
    folder.mkdir(exist_ok=True)
    yield folder
    for file in folder.glob("*.py"):
        file.unlink()


async def test_a_plugin_is_shown_with_all_its_properties(open_studio):
    async with open_studio(target=PluginTarget("batchsource", "File")) as driver:
        await driver.until(lambda: "batchsource" in read_facts(driver))
        await driver.settled()
        assert get_list(driver).key == "plugin batchsource File"
        reported = read_facts(driver)
        for part in (
            "core-plugins",
            "SYSTEM",
            "mode_native",
            "properties",
            "referenceName",
            "path",
        ):
            assert part in reported
        assert "runs on       native" in reported
        assert "the instance requires nothing" in read_note(driver)
        assert "profile native requires mode_native" in read_note(driver)


async def test_the_list_is_grouped_by_type_or_by_artifact(open_studio):
    async with open_studio(size=SMALL) as driver:
        await driver.press("4")
        by_type = get_list(driver).keys
        assert not any(key.startswith("artifact") for key in by_type)
        await driver.press("t")
        by_artifact = get_list(driver).keys
        assert by_artifact[0].startswith("artifact")
        assert len([k for k in by_artifact if k.startswith("plugin")]) == len(by_type)
        assert "plugins" in read_facts(driver)


async def test_capabilities_filter_the_list(open_studio, cdap, plugins: Path):
    write(plugins / "special-1.0.py", capable("Special", '@capability("pii")'))
    cdap.artifacts.sync()
    async with open_studio() as driver:
        await driver.press("4")
        chip = next(c for c in driver.app.screen.query(CapabilityToggle) if c.capability == "pii")
        chip.focus()
        await driver.press("space")
        assert get_list(driver).keys == ["plugin transform Special"]
        await driver.press("space")
        assert len(get_list(driver).keys) > 10


async def test_an_artifact_that_uses_a_moved_path_has_a_warning(open_studio, cdap, plugins: Path):
    moved = "from localcdap.api.lookup import TableShape\n" + source("Old")
    file = write(plugins / "old-1.0.py", moved)
    cdap.artifacts.sync()
    async with open_studio() as driver:
        await driver.press("4")
        assert get_list(driver).keys[0] == f"artifact {file}"
        await go_to(driver, f"artifact {file}")
        assert (
            "⚠ old-1.0.py:1 uses localcdap.api.lookup, which has moved to localcdap.api.tables"
            in " ".join(read_facts(driver).split())
        )
        assert "plugin transform Old" in get_list(driver).keys


async def test_added_changed_and_removed_files_are_followed(open_studio, plugins: Path):
    async with open_studio() as driver:
        for key in ("4", "j", "j", "j"):
            await driver.press(key)
        before = get_list(driver).key
        file = write(plugins / "mine-1.0.py", source("Mine"))
        await driver.until(lambda: "plugin transform Mine" in get_list(driver).keys)
        assert get_list(driver).key == before

        write(file, "1 / 0\n")
        await driver.until(lambda: f"artifact {file}" in get_list(driver).keys)
        await go_to(driver, f"artifact {file}")
        assert "ZeroDivisionError" in read_facts(driver)
        assert "mine-1.0.py:1 in <module>: 1 / 0" in read_facts(driver)
        assert "✗ 1 with errors" in read_note(driver)
        assert "plugin transform Mine" in get_list(driver).keys  # the last good content is in use

        file.unlink()
        await driver.until(lambda: "plugin transform Mine" not in get_list(driver).keys)


async def test_an_artifact_is_removed_and_restored(open_studio, cdap, plugins: Path):
    file = write(plugins / "mine-1.0.py", source("Mine"))
    cdap.artifacts.sync()
    async with open_studio() as driver:
        await driver.press("4")
        screen = driver.app.screen
        assert screen.explain_disabled("remove") == "it is part of localcdap"
        assert screen.explain_disabled("undo") == "nothing was removed"
        await go_to(driver, "plugin transform Mine")
        await driver.press("d")
        assert not file.exists()
        assert "plugin transform Mine" not in get_list(driver).keys
        await driver.press("ctrl+z")
        assert file.exists()
        assert "plugin transform Mine" in get_list(driver).keys


async def test_a_new_plugin_is_written_from_a_template(open_studio, plugins: Path):
    async with open_studio() as driver:
        for key in ("4", "a"):
            await driver.press(key)
        await driver.type("transf")
        await driver.press("enter")
        await driver.type("no-name")
        await driver.press("enter")
        driver.app.focused.value = "CleanText"
        await driver.press("enter")
        key = "plugin transform CleanText"
        await driver.until(lambda: get_list(driver).key == key)
        await driver.settled()
        documentation = driver.app.screen.query_one("#plugin-documentation", Markdown)
        await driver.until(lambda: documentation.display)
        assert "CleanText" in documentation.source
        assert driver.app.screen._find_source().name == "clean_text.py"


@pytest.mark.slow
async def test_hidden_plugins_are_shown_on_demand_with_the_reason(tmp_path: Path):
    home = Home(tmp_path)
    home.settings_file.write_text('plugin.required.capabilities = "gpu"\n')
    write(tmp_path / "plugins" / "fast-1.0.py", capable("Fast", '@capability("gpu")'))
    with open_in_process(home) as cdap:
        async with studio(cdap, home) as driver:
            await driver.press("4")
            assert get_list(driver).keys == ["plugin transform Fast"]
            assert "requires gpu" in read_note(driver)
            await driver.press("x")
            hidden = [key for key in get_list(driver).keys if key.startswith("hidden")]
            assert len(hidden) > 10
            await go_to(driver, hidden[0])
            assert "Hidden: the plugin does not have gpu." in read_facts(driver)
            await driver.press("x")
            assert get_list(driver).keys == ["plugin transform Fast"]


def test_the_file_of_a_plugin_is_found(tmp_path: Path):
    file = write(tmp_path / "one-1.0.py", "")
    project = write(tmp_path / "kit" / "pyproject.toml", "").parent
    module = write(project / "src" / "kit" / "a.py", "")
    package = write(project / "kit2" / "__init__.py", "")
    wheel = write(tmp_path / "w-1.0-py3-none-any.whl", "")

    assert find_source_file(str(file), "one.One") == file
    assert find_source_file(str(project), "kit.a.One") == module
    assert find_source_file(str(project), "kit2.One") == package
    assert find_source_file(str(project), "") == project / "pyproject.toml"
    assert find_source_file(str(wheel), "w.One") is None
    assert find_source_file(str(tmp_path / "gone.py"), "x") is None
