"""Data of connections in the prep area: browsed, searched, looked at, sampled and opened."""

from __future__ import annotations

import sqlite3

import pytest
from textual.widgets import Static

from localcdap.api.connector import SampleType
from localcdap.tui.lists import FilteredList
from localcdap.tui.routes import PrepTarget
from localcdap.tui.screens.prep.data_lists import ConnectionBrowser
from localcdap.tui.screens.prep.screen import PrepScreen
from tests.tui.screens.prep.test_screen import column, get_screen, opened, shown, write
from tests.tui.studio_driver import SMALL

ROWS = 2500


@pytest.fixture(scope="module")
def connections(cdap, tmp_path_factory):
    """A connection ``files`` with folders, and ``lite`` with a table; the folder."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "2026" / "q1").mkdir(parents=True)
    (folder / "2026" / "q1" / "sales.csv").write_text("id;city\n1;Rome\n2;Oslo\n3;\n")
    rows = "".join(f"{n},{'north' if n % 5 else 'south'}\n" for n in range(ROWS))
    (folder / "2026" / "orders.csv").write_text(f"id,region\n{rows}")
    lite = sqlite3.connect(folder / "x.sqlite")
    lite.execute("CREATE TABLE visits (a INT, b TEXT)")
    lite.executemany("INSERT INTO visits VALUES (?, ?)", [(n, f"x{n}") for n in range(30)])
    lite.commit()
    lite.close()
    for name, kind, properties in (
        ("files", "File", {"root": str(folder)}),
        ("lite", "SQLite", {"path": str(folder / "x.sqlite")}),
    ):
        plugin = {"name": kind, "properties": properties}
        cdap.connections.load("default", {"name": name, "plugin": plugin})
    yield folder
    for name in ("files", "lite"):
        cdap.connections.delete("default", name)


def listed(driver) -> list[str]:
    dialog = driver.app.screen
    assert isinstance(dialog, ConnectionBrowser)
    return [each.name for each in dialog._entries]


async def test_data_are_browsed_looked_at_and_opened(open_studio, connections):
    async with open_studio() as driver:
        await driver.press("semicolon", "c")
        assert listed(driver) == ["files  File", "lite  SQLite"]
        await driver.type("fi\n")
        assert listed(driver) == ["2026/", "x.sqlite"]
        await driver.press("enter")
        assert listed(driver) == ["q1/", "orders.csv"]
        await driver.press("down", "f3")
        await driver.until(lambda: "20 of" in shown(driver))
        said = shown(driver)
        assert "20 of 2,500 records" in said
        assert "region" in said
        await driver.press("ctrl+w")
        assert listed(driver) == ["2026/", "x.sqlite"]
        await driver.type("sales")
        assert listed(driver) == ["2026/q1/sales.csv"]
        await driver.press("enter", "enter")
        screen = await opened(driver)
        assert column(driver, 1) == ["Rome", "Oslo", None]
        title = str(screen.query_one("#prep-title", Static).content)
        assert "3 of 3 records" in title
        assert "csv" in title
        assert screen.source.key == "connection:files:/2026/q1/sales.csv"
        await driver.press("c")  # also with the cursor among the rows
        assert listed(driver) == ["sales.csv"], "it begins where the data are"
        await driver.press("escape")

        await write(driver, "uppercase :city")
        await driver.press("x", "enter")
        editor = await driver.editor()
        await driver.validated(editor)
        assert list(editor.failures) == []
        source = editor.get_properties("Source")
        assert source["path"] == str(connections / "2026" / "q1" / "sales.csv")
        assert source["delimiter"] == ";"


@pytest.mark.slow
async def test_kinds_of_samples(open_studio, connections):
    target = PrepTarget(connection="files", path="2026/orders.csv")
    async with open_studio(target=target) as driver:
        screen = await opened(driver)
        assert screen.view.record_count == 1000
        assert "1,000 of 2,500 records" in str(screen.query_one("#prep-title", Static).content)

        await driver.press("w")
        await driver.type("each value")
        await driver.press("enter", "ctrl+u")
        await driver.type("region\n")
        assert screen.source.kind is SampleType.STRATIFIED
        values = [row[1] for row in screen.view.rows]
        assert screen.view.record_count == 1000
        assert screen.view.columns[1].profile.distinct == 2
        assert {"north", "south"} == set(values)

        await driver.press("w")
        await driver.type("condition")
        await driver.press("enter")
        await driver.type("region == 'south'\n")
        assert set(column(driver, 1)) == {"south"}
        assert screen.view.record_count == 500

        await write(driver, "filter-row exp:{id == '5'} true")
        await driver.press("w")
        await driver.type("fails")
        await driver.press("enter")
        await driver.press("ctrl+u")
        await driver.type("send-to-error exp:{id > 2490}\n")
        assert [row[0] for row in screen.view.rows][:2] == ["2491", "2492"]

        await driver.press("w")
        await driver.type("100 random")
        await driver.press("enter")
        assert screen.view.record_count == 100
        assert "random, seed 1" in str(screen.query_one("#prep-title", Static).content)


@pytest.mark.slow
async def test_what_was_detected_is_corrected(open_studio, connections):
    target = PrepTarget(connection="files", path="/2026/q1/sales.csv")
    async with open_studio(target=target) as driver:
        screen = await opened(driver)
        await driver.press("r")
        assert "semicolon" in shown(driver)
        await driver.type("separates")
        await driver.press("enter")
        await driver.type("comma\n")
        assert [each.name for each in screen.view.columns] == ["id_city"]
        await driver.press("r")
        await driver.type("all as")
        await driver.press("enter")
        assert [each.name for each in screen.view.columns] == ["id", "city"]
        await driver.press("r")
        await driver.type("types")
        await driver.press("enter", "enter")
        assert [each.type for each in screen.view.columns] == ["int", "string"]
        await driver.press("r", "enter")
        await driver.type("parquet\n")
        await driver.until(
            lambda: screen.source.format is None
        )  # it is none, so it is read as before
        assert column(driver, 1)[:2] == ["Rome", "Oslo"]


async def test_the_format_of_a_file_is_corrected(open_studio, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1|Rome\n2|Oslo\n")
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await driver.press("r", "enter")
        await driver.type("csv\n")
        await driver.press("r")
        await driver.type("separates")
        await driver.press("enter")
        await driver.type("vertical\n")
        await driver.press("r")
        await driver.type("first line")
        await driver.press("enter")
        await driver.type("no\n")
        assert column(driver, 1) == ["Rome", "Oslo"]
        assert screen.source.header is False
        await driver.press("r")
        await driver.type("left out")
        await driver.press("enter", "ctrl+u")
        await driver.type("1\n")
        assert column(driver, 1) == ["Oslo"]


async def test_pasted_cells_are_opened(open_studio, cdap):
    async with open_studio() as driver:
        await driver.press("semicolon")
        await driver.paste("Report\nid\tcity\n1\tRome\n2\tOslo\n")
        await driver.press("enter")
        screen = await opened(driver)
        assert screen.source.key == "connection:pasted-1:/text"
        assert column(driver, 1) == ["Rome", "Oslo"]
    cdap.connections.delete("default", "pasted-1")


async def test_a_connection_is_browsed_from_the_list(open_studio, connections, cdap):
    async with open_studio(size=SMALL) as driver:
        await driver.press("7", "o")
        listing = driver.app.screen.query_one("#connections", FilteredList)
        await driver.until(lambda: listing.keys == ["files", "lite"])
        listing.focus_list()
        await driver.press("T")
        assert "works" in next(iter(driver.app.notices.newest_first)).title
        await driver.press("down", "b")
        await driver.until(lambda: isinstance(driver.app.screen, ConnectionBrowser))
        await driver.settled()
        while listed(driver) != ["visits"]:
            await driver.press("enter")
        await driver.press("enter", "enter")
        await opened(driver)
        assert column(driver, 1)[:2] == ["x0", "x1"]
        assert "30 of 30 records" in str(
            get_screen(driver).query_one("#prep-title", Static).content
        )


@pytest.mark.slow
async def test_wrong_places(open_studio, connections, cdap):
    async with open_studio(target=PrepTarget(connection="files", path="nowhere.csv")) as driver:
        await driver.until(lambda: isinstance(driver.app.screen_stack[0], PrepScreen))
        await driver.settled()
        assert "nothing at" in next(iter(driver.app.notices.newest_first)).title
        await driver.press("c")
        await driver.type("files:/none/x")
        assert "There is nothing at" in shown(driver)
        await driver.press("escape")
    plugin = {"name": "Paste", "properties": {"text": "a\tb\n1\t2\n"}}
    cdap.connections.load("default", {"name": "paste", "plugin": plugin})
    try:
        async with open_studio(target=PrepTarget(connection="paste")) as driver:
            await driver.settled()
            if isinstance(driver.app.screen, ConnectionBrowser):
                await driver.press("enter", "enter")
            await opened(driver)
            assert column(driver, 1) == ["2"]
            await driver.press("x", "enter")
            assert "No source of pipelines" in next(iter(driver.app.notices.newest_first)).title
    finally:
        cdap.connections.delete("default", "paste")
