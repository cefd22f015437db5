"""The search area on real services: type-ahead, the query language, and where enter goes."""

from __future__ import annotations

import json

import pytest
from textual.widgets import Input, Static

from localcdap.api.metadata import MetadataEntity
from localcdap.engine.messages.spool import RunStatus
from localcdap.home import find_shipped_data
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.tui.dialogs.metadata import MetadataDialog
from localcdap.tui.lists import FilteredList
from localcdap.tui.screens.search.screen import build_query
from tests.metadata.lineage.shop import write_shop
from tests.runs.stored_runs import write_run
from tests.tui.studio_driver import SMALL


@pytest.fixture(scope="module", autouse=True)
def shop(cdap):
    runs = write_shop(cdap)
    text = (find_shipped_data() / "demo" / "pipeline.json").read_text()
    assert cdap.applications.deploy(DeployRequest(text, name="tidy")).application is not None
    cdap.drafts.save("default", DraftRequest(json.dumps({**json.loads(text), "name": "tidy 2"})))
    cdap.metadata.add(MetadataEntity.of_dataset("people", "default"), {"owner": "Ada"}, ["pii"])
    cdap.metadata.add(MetadataEntity({"namespace": "default", "shelf": "tidy-box"}), {}, ["t"])
    return runs | {"failed": write_run(cdap, "other", RunStatus.FAILED)}


def keys(driver) -> list[str]:
    return driver.app.screen.query_one("#results", FilteredList).keys


def facts(driver) -> str:
    return str(driver.app.screen.query_one("#search-facts", Static).content)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", None),
        ("  ", None),
        ("ord", "ord*"),
        ("tags:pii ord", "tags:pii ord*"),
        ("tags:pii ", "tags:pii"),
        ("or*", "or*"),
        ("ttl:>=3", "ttl:>=3"),
        ("+owner:an", "+owner:an*"),
    ],
)
def test_the_last_word_may_go_on(text, query):
    assert build_query(text) == query


async def test_everything_is_found_while_typing(open_studio, shop):
    async with open_studio() as driver:
        await driver.press("8")
        assert driver.app.screen.query_one(Input).has_focus
        await driver.type("tid")
        found = keys(driver)
        assert found[0] == "apps/tidy"
        assert any(key.startswith("draft ") for key in found)
        assert f"run {shop['tidy'].run}" in found
        assert found[-1] == "shelf/tidy-box"
        await driver.press("escape")
        await driver.type("failed ")
        assert keys(driver) == [f"run {shop['failed'].run}"]
        await driver.press("escape")
        await driver.type("pri")
        assert keys(driver) == [
            *(f"datasets/{name}" for name in ("clean", "orders", "sales")),
            *(f"datasets/{name}/field/price" for name in ("clean", "orders", "sales")),
        ]


async def test_the_query_language_is_that_of_the_service(open_studio):
    async with open_studio(size=SMALL) as driver:
        await driver.press("8")
        await driver.type("owner:ad +tags:pii")
        assert keys(driver) == ["datasets/people"]
        assert "owner  Ada" in facts(driver)
        await driver.press("escape")
        await driver.type("schema:countr")
        assert keys(driver) == ["datasets/people", "datasets/people/field/country"]
        await driver.press("escape")
        await driver.type("nothingofthatname")
        assert keys(driver) == []
        assert facts(driver) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("application:tidy", "studio"),
        ("GCSCop", "plugins"),
        ("schema:country ", "lineage"),
    ],
)
async def test_enter_goes_to_what_is_found(open_studio, text, area):
    async with open_studio() as driver:
        await driver.press("8")
        await driver.pilot.press(*("space" if each == " " else each for each in text), "enter")
        await driver.until(lambda: driver.app.current_mode == area)
        await driver.settled()


async def test_a_run_and_what_has_only_metadata_are_opened(open_studio, shop):
    async with open_studio() as driver:
        await driver.press("8")
        await driver.type(shop["enrich"].run)
        await driver.press("enter")
        await driver.until(lambda: driver.app.current_mode == "runs")
        await driver.press("8", "escape")
        await driver.type("shelf:tidy")
        await driver.press("down", "enter")
        assert isinstance(driver.app.screen, MetadataDialog)


async def test_a_field_leads_to_its_lineage(open_studio):
    async with open_studio() as driver:
        await driver.press("8")
        await driver.type("country")
        await driver.press("down", "down", "W")
        await driver.until(lambda: driver.app.current_mode == "lineage")
        await driver.settled()
        assert driver.app.screen.exploration.focus.field == "country"
        await driver.press("8")
        await driver.press("down", "y")
        assert driver.app._clipboard.startswith("datasets/people")
