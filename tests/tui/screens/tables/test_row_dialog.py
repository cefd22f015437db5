"""Changing rows of datasets in the data area."""

from __future__ import annotations

import json

import pytest
from textual.widgets import Static, TextArea

from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetRequest
from localcdap.tui.lists import FilteredList
from localcdap.tui.records.table import RecordTable
from localcdap.tui.screens.tables.browser import TableBrowser
from localcdap.tui.screens.tables.row_dialog import RowDialog

ITEM = Schema.record(
    "r",
    [
        ("id", Schema.LONG),
        ("price", Schema.decimal(10, 2).as_nullable),
        ("tags", Schema.array(Schema.STRING).as_nullable),
    ],
)


@pytest.fixture
def items(cdap):
    given = {"schema": str(ITEM), "schema.row.field": "id"}
    cdap.datasets.create(DatasetRequest("items", "table", given))
    cdap.datasets.create(DatasetRequest("pairs", "keyValueTable"))
    cdap.transactions.run(lambda tx: tx.dataset("items").write({"id": 1, "tags": ["a"]}))
    cdap.transactions.run(lambda tx: tx.dataset("pairs").write(b"k", b"v"))
    yield lambda: cdap.transactions.run(lambda tx: [dict(r) for r in tx.dataset("items").scan()])
    for name in ("items", "pairs"):
        cdap.datasets.drop("default", name)


async def show(driver, name: str) -> None:
    await driver.press("5")
    driver.app.screen.query_one("#tables", FilteredList).show(f'"default"."{name}"')
    await driver.press("b")
    await driver.settled()


async def open_dialog(driver, key: str) -> RowDialog:
    await driver.press(key)
    await driver.until(lambda: isinstance(driver.app.screen, RowDialog))
    return driver.app.screen


async def save(driver, dialog: RowDialog, **fields) -> str:
    """Write the fields of the row and save it; return what is wrong."""
    area = dialog.query_one(TextArea)
    area.text = json.dumps({**json.loads(area.text), **fields})
    await driver.press("ctrl+s")
    await driver.settled()
    return "".join(str(each.content) for each in dialog.query("#dialog-problem").results(Static))


async def test_rows_are_changed_added_and_deleted(open_studio, items):
    async with open_studio() as driver:
        await show(driver, "items")
        dialog = await open_dialog(driver, "r")
        assert json.loads(dialog.query_one(TextArea).text) == {
            "id": 1,
            "price": None,
            "tags": ["a"],
        }
        assert "price" in await save(driver, dialog, price="much")
        assert "There is no field 'prize'" in await save(driver, dialog, prize=1)
        dialog.query_one(TextArea).text = '{"id": 1, "price": "2.50", "tags": null}'
        await driver.press("ctrl+s")
        await driver.until(lambda: driver.app.screen is not dialog)
        ((_, price, tags),) = (row.values() for row in items())
        assert (str(price), tags) == ("2.50", None)

        dialog = await open_dialog(driver, "i")
        assert "There is a row with the key 1 already." in await save(driver, dialog, id=1)
        await save(driver, dialog, id=2)
        await driver.until(lambda: driver.app.screen is not dialog)
        await driver.settled()
        shown = driver.app.screen.query_one(TableBrowser).query_one(RecordTable).table
        assert shown.column("id").to_pylist() == [1, 2]

        dialog = await open_dialog(driver, "r")
        await save(driver, dialog, id=7)
        await driver.until(lambda: driver.app.screen is not dialog)
        await driver.settled()
        assert [row["id"] for row in items()] == [2, 7], (
            "another key takes the place of the old one"
        )
        await driver.press("x")
        await driver.settled()
        await driver.press("y")
        await driver.until(lambda: [row["id"] for row in items()] == [7])


@pytest.mark.slow
async def test_a_row_that_has_changed_meanwhile_is_not_overwritten(open_studio, items, cdap):
    async with open_studio() as driver:
        await show(driver, "items")
        dialog = await open_dialog(driver, "r")
        cdap.transactions.run(lambda tx: tx.dataset("items").put(1, {"tags": ["b"]}))
        assert "key 1 has changed since it was opened" in await save(driver, dialog, tags=["c"])
        await driver.press("escape")
        assert [row["tags"] for row in items()] == [["b"]]


async def test_values_by_key_are_changed(open_studio, items, cdap):
    async with open_studio() as driver:
        await show(driver, "pairs")
        dialog = await open_dialog(driver, "r")
        row = json.loads(dialog.query_one(TextArea).text)
        await save(driver, dialog, value=row["key"])
        await driver.until(lambda: driver.app.screen is not dialog)
        found = cdap.transactions.run(lambda tx: tx.dataset("pairs").read(b"k"))
        assert found == b"k"


@pytest.mark.slow
async def test_why_rows_cannot_be_changed_is_said(open_studio, cdap):
    cdap.datasets.create(DatasetRequest("keyless", "table", {"schema": str(ITEM)}))
    cdap.datasets.create(DatasetRequest("f", "fileSet", {"schema": str(ITEM), "format": "csv"}))
    async with open_studio() as driver:
        for name, reason in (
            ("keyless", "rows without a key of one column cannot be changed one by one"),
            ("f", "only rows of tables can be changed"),
        ):
            await show(driver, name)
            browser = driver.app.screen.query_one(TableBrowser)
            assert browser.explain_disabled("new_row") == reason
            await driver.press("i", "r", "x")
            assert not isinstance(driver.app.screen, RowDialog)
    for name in ("keyless", "f"):
        cdap.datasets.drop("default", name)
