"""Connections of a namespace in the studio."""

from __future__ import annotations

import json

import pytest
from textual.widgets import OptionList, Static, TextArea

from localcdap.tui.lists import FilteredList
from localcdap.tui.routes import DocumentTarget
from localcdap.tui.screens.namespaces.connections import ConnectionDialog
from tests.tui.pipeline.documents import pipeline, stage
from tests.tui.studio_driver import SMALL


@pytest.fixture
def no_connections(cdap):
    yield
    for each in cdap.connections.list_connections("default"):
        cdap.connections.delete("default", each.name)


@pytest.fixture
def team(cdap):
    """A namespace that no other test uses."""
    cdap.namespaces.create("team")
    yield "team"
    cdap.namespaces.delete("team")


def listed(driver):
    return driver.app.screen.query_one("#connections", FilteredList)


async def test_a_connection_is_created_changed_and_deleted(open_studio, cdap, no_connections):
    async with open_studio(size=SMALL) as driver:
        await driver.press("7", "o", "a")
        assert isinstance(driver.app.screen, ConnectionDialog)
        await driver.press("ctrl+s")
        said = str(driver.app.screen.query_one("#dialog-problem", Static).content)
        assert said == "Give the connection a name. Give the type of the other system."
        for text in ("shop", "PostgreSQL", "Orders"):
            await driver.type(text)
            await driver.press("enter")
        await driver.type("host=db\npassword=hunter2\nno value")
        await driver.press("ctrl+s")
        assert "Line 3" in str(driver.app.screen.query_one("#dialog-problem", Static).content)
        await driver.press(*["backspace"] * 9, "ctrl+s")

        made = cdap.connections.get("default", "shop")
        assert (made.connection_type, made.description) == ("PostgreSQL", "Orders")
        secret = "${secure(connection-shop-password)}"
        assert made.plugin.properties == {"host": "db", "password": secret}
        assert cdap.secure_keys.get("default", "connection-shop-password") == "hunter2"
        assert listed(driver).key == "shop"

        await driver.press("enter")
        area = driver.app.screen.query_one(TextArea)
        assert area.text == f"host=db\npassword={secret}"
        area.text = f"host=other\npassword={secret}"
        await driver.press("ctrl+s")
        changed = cdap.connections.get("default", "shop").plugin
        assert changed.properties == {"host": "other", "password": secret}
        assert changed.name == "PostgreSQL"

        await driver.press("d", "y")
        assert cdap.connections.list_connections("default") == []
        assert cdap.secure_keys.list_keys("default") == []


async def test_an_exported_connection_is_imported(open_studio, cdap, team, tmp_path):
    exported = {
        "name": "files",
        "connectionType": "GCS",
        "plugin": {"name": "GCS", "properties": {"project": "p"}},
    }
    (tmp_path / "files.json").write_text(json.dumps(exported))
    (tmp_path / "none.json").write_text("[")
    async with open_studio(namespace=team) as driver:
        await driver.press("7", "o", "I")
        await driver.type(str(tmp_path / "none.json"))
        await driver.press("enter")
        assert "is not the JSON of a connection" in driver.app.notices.newest_first[0].title
        await driver.press("I")
        await driver.type(str(tmp_path / "files.json"))
        await driver.press("enter")

        assert cdap.connections.get(team, "files").plugin.properties == {"project": "p"}
        await driver.press("c")
        contents = driver.app.screen.query_one("#contents OptionList", OptionList)
        assert any("1  connection" in str(each.prompt) for each in contents.options)


@pytest.mark.slow
async def test_a_form_offers_connections_as_macros(open_studio, cdap, no_connections):
    cdap.connections.load("default", {"name": "shop", "plugin": {"name": "MySQL"}})
    source = stage("In", "batchsource", "Mysql", "mysql-plugin", connection="${conn(shop)}")
    text = json.dumps(pipeline([source]))
    async with open_studio(target=DocumentTarget("orders", text)) as driver:
        await driver.editor()

        known = driver.app.screen.query_one("Inspector")._known
        assert ("conn(shop)", "connection") in [(m.text, m.hint) for m in known.list_macros()]
