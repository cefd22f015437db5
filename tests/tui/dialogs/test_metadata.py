"""The dialog of tags and properties on real services, opened in the areas that have it."""

from __future__ import annotations

import threading

import pytest
from textual.widgets import Static

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import MetadataEntity
from localcdap.home import find_shipped_data
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.tui.dialogs.metadata import MetadataDialog
from localcdap.tui.lists import FilteredList

SHELF = MetadataEntity({"namespace": "default", "shelf": "a"})
SALES = MetadataEntity.of_application("sales", "default")


@pytest.fixture(scope="module", autouse=True)
def sales(cdap):
    text = (find_shipped_data() / "demo" / "pipeline.json").read_text()
    assert cdap.applications.deploy(DeployRequest(text, name="sales")).application is not None


def keys(driver) -> list[str]:
    return driver.app.screen.query_one(FilteredList).keys


def problem(driver) -> str:
    return str(driver.app.screen.query_one("#dialog-problem", Static).content)


async def test_tags_and_properties_are_added_changed_and_removed(open_studio, cdap):
    async with open_studio() as driver:
        driver.app.show_metadata(SHELF)
        await driver.settled()
        assert keys(driver) == []
        await driver.press("t")
        await driver.type("wood")
        await driver.press("enter")
        await driver.press("p")
        await driver.type("owner")
        await driver.press("enter")
        await driver.type("Ada")
        await driver.press("enter")
        assert cdap.metadata.get(SHELF).user.properties == {"owner": "Ada"}
        assert keys(driver) == ["USER tag wood", "USER property owner"]
        await driver.press("y")
        assert driver.app._clipboard == "Ada"
        await driver.press("enter")
        await driver.type("Ada L")
        await driver.press("enter")
        assert cdap.metadata.get(SHELF).user.properties == {"owner": "Ada L"}
        await driver.press("d")
        await driver.press("d")
        assert cdap.metadata.get(SHELF).is_empty()


@pytest.mark.parametrize("error", [None, BadRequestError("The disk is full.")])
async def test_it_closes_after_its_last_change_unless_that_fails(
    open_studio, cdap, monkeypatch, error
):
    change, may_change = cdap.metadata.add, threading.Event()

    def change_late(*arguments: object) -> object:
        assert may_change.wait(60)
        if error is not None:
            raise error
        return change(*arguments)

    monkeypatch.setattr(cdap.metadata, "add", change_late)
    async with open_studio() as driver:
        await driver.press("8")
        await driver.type("tags:late")
        await driver.settled()
        assert driver.app.screen.query_one("#results", FilteredList).keys == []
        driver.app.show_metadata(SHELF)
        await driver.settled()
        await driver.press("t")
        await driver.type("late")
        await driver.pilot.press("enter", "escape")
        await driver.until(lambda: driver.app.calls.pending_count > 0)
        may_change.set()
        await driver.settled()
        if error is None:
            assert driver.app.screen.query_one("#results", FilteredList).keys != []
            cdap.metadata.remove(SHELF, [], ["late"])
            return
        shown = str(driver.app.screen.query_one("#dialog-problem", Static).content)
        assert "The disk is full." in shown
        await driver.press("escape")
        assert not isinstance(driver.app.screen, MetadataDialog)


async def test_the_errors_of_the_original_are_shown_at_the_field(open_studio, cdap):
    async with open_studio() as driver:
        driver.app.show_metadata(SHELF)
        await driver.press("t")
        await driver.type("a b")
        await driver.press("enter")
        assert problem(driver).startswith("Illegal format for 'a b'. Should only contain")
        await driver.press("escape", "p")
        await driver.type("tags")
        await driver.press("enter")
        assert problem(driver) == "Could not set metadata with reserved key tags"
        await driver.press("escape", "t")
        await driver.type("x" * 51)
        await driver.press("enter")
        assert "exceeds maximum of 50 characters" in problem(driver)
        assert cdap.metadata.get(SHELF).is_empty()


async def test_what_localcdap_writes_is_read_only(open_studio, cdap):
    async with open_studio() as driver:
        driver.app.show_metadata(SALES)
        await driver.settled()
        assert "SYSTEM property entity-name" in keys(driver)
        await driver.press("d")
        await driver.press("enter")
        said = [notice.title for notice in driver.app.notices.newest_first]
        assert said == [
            "Change: localcdap itself writes it.",
            "Remove: localcdap itself writes it.",
        ]
        assert cdap.metadata.get(SALES).system.properties["entity-name"] == "sales"


async def test_an_entity_that_does_not_exist_says_so(open_studio):
    async with open_studio() as driver:
        driver.app.show_metadata(MetadataEntity.of_application("nothing", "default"))
        await driver.settled()
        shown = str(driver.app.screen.query_one("#dialog-problem", Static).content)
        assert "nothing" in shown


@pytest.mark.parametrize(
    ("area", "type"), [("6", "application"), ("7", "namespace"), ("4", "plugin"), ("8", "")]
)
async def test_areas_open_it_for_what_is_highlighted(open_studio, area, type):
    async with open_studio() as driver:
        await driver.press(area)
        if area == "8":
            await driver.press("down")
        await driver.press("T")
        dialog = driver.app.screen
        assert isinstance(dialog, MetadataDialog)
        assert not type or dialog.entity.type == type


async def test_where_nothing_is_highlighted_the_key_says_so(open_studio):
    async with open_studio() as driver:
        await driver.press("T")
        assert "nothing is highlighted" in driver.app.notices.newest_first[0].title
