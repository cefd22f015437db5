"""The lineage area on real services, by keys."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList, Static

from localcdap.tui.dialogs.metadata import MetadataDialog
from localcdap.tui.records.table import RecordTable
from localcdap.tui.routes import LineageTarget
from localcdap.tui.screens.lineage.graph import format_node, get_dataset
from localcdap.tui.screens.lineage.panel import ImpactDialog
from tests.metadata.lineage.shop import write_shop
from tests.tui.studio_driver import SMALL


@pytest.fixture(scope="module", autouse=True)
def shop(cdap):
    return write_shop(cdap)


@pytest.fixture
def open_lineage(open_studio):
    """Open the studio on the lineage of a dataset or field."""

    def open(dataset, field=None, **more):
        return open_studio(target=LineageTarget(dataset, field), **more)

    return open


async def shown(driver):
    await driver.until(lambda: driver.app.current_mode == "lineage")
    await driver.settled()
    return names(driver)


def names(driver) -> set[str]:
    found = set()
    for node in driver.app.screen.graph.nodes:
        dataset, name = get_dataset(node), format_node(node)
        found.add(name if dataset in (None, node) else f"{dataset.dataset}.{name}")
    return found


def selected(driver) -> str:
    return format_node(driver.app.screen.canvas.node)


def text(driver, id: str) -> str:
    return str(driver.app.screen.query_one(f"#{id}", Static).content)


def listed(driver) -> list[str]:
    """The lines of the datasets that runs used last."""
    options = driver.app.screen.query_one("#lineage-recent OptionList", OptionList).options
    return [str(each.prompt) for each in options]


def said(driver) -> str:
    return driver.app.notices.newest_first[0].title


async def test_a_dataset_is_chosen_and_shown(open_studio):
    async with open_studio() as driver:
        await driver.press("9")
        assert names(driver) == set()
        await driver.press("d")
        await driver.type("clean")
        await driver.press("enter")
        assert names(driver) == {"orders", "tidy", "clean", "enrich", "sales"}
        assert selected(driver) == "clean"
        await driver.press("right_square_bracket")
        assert names(driver) == {"orders", "tidy", "clean", "enrich", "sales", "summary", "report"}
        await driver.press("left_square_bracket", "w")
        assert names(driver) == {"orders", "tidy", "clean"}
        assert "only before" in text(driver, "lineage-title")
        await driver.press("left_square_bracket")
        assert said(driver) == "One step is the least."


async def test_datasets_that_runs_used_last_are_listed_and_opened(open_studio, cdap, shop):
    async with open_studio(size=SMALL) as driver:
        await driver.press("9")
        lines = listed(driver)
        assert [each.split()[:4] for each in lines] == [
            ["report", "written", "by", "summary"],
            ["sales", "read", "by", "summary"],
            ["clean", "read", "by", "enrich"],
            ["people", "read", "by", "enrich"],
            ["orders", "read", "by", "tidy"],
        ]
        await driver.press("j", "enter")
        assert names(driver) == {"clean", "people", "enrich", "sales", "summary", "report"}
        assert selected(driver) == "sales"
        assert driver.app.focused is driver.app.screen.canvas


async def test_the_list_of_datasets_says_what_to_do_first(open_studio, cdap):
    cdap.namespaces.create("fresh")
    async with open_studio(size=SMALL, namespace="fresh") as driver:
        await driver.press("9")
        screen = driver.app.screen
        note = screen.query_one("#lineage-recent .note", Static)
        assert "No run has read or written a dataset yet." in str(note.content)
        await driver.press("enter")
        write_shop(cdap, "fresh")
        await driver.until(lambda: len(listed(driver)) == 5)
        await driver.press("down", "enter")
        assert selected(driver) == "sales"
    cdap.namespaces.delete("fresh")


async def test_a_node_is_expanded_in_place_and_collapsed(open_lineage):
    async with open_lineage("sales", "price") as driver:
        before = await shown(driver)
        assert before == {
            *("sales.price", "sales.all fields", "report.total"),
            *("clean.price", "clean.id", "people.id"),
        }
        await driver.press("c")
        assert "was not expanded" in said(driver)
        await driver.press("left")
        while (
            selected(driver) != "price" or driver.app.screen.canvas.node.dataset.dataset != "clean"
        ):
            await driver.press("down")
        await driver.press("e")
        assert names(driver) - before == {"orders.price"}
        await driver.press("e")
        assert said(driver) == "Expand: price is expanded."
        await driver.press("c")
        assert names(driver) == before


async def test_tables_and_columns_are_switched_by_one_key(open_lineage):
    async with open_lineage("clean") as driver:
        await shown(driver)
        await driver.press("i")
        assert "t shows the columns" in said(driver)
        await driver.press("t")
        assert names(driver) == {
            *("orders.id", "orders.price", "clean.id", "clean.price"),
            *("sales.id", "sales.price", "sales.all fields"),
        }
        assert "columns" in text(driver, "lineage-title")
        await driver.press("i")
        assert "sales.all fields" not in names(driver)
        await driver.press("t")
        assert names(driver) == {"orders", "tidy", "clean", "enrich", "sales"}
        await driver.press("b")
        assert "columns" in text(driver, "lineage-title")


async def test_the_panel_tells_operations_influences_and_the_last_write(open_lineage, shop):
    async with open_lineage("clean", "price", size=SMALL) as driver:
        await shown(driver)
        told = text(driver, "lineage-facts")
        assert f"run {shop['tidy'].run}" in told
        assert "last written by tidy" in told
        assert "orders.price  direct: transformation, by tidy" in told
        assert "Round.Round price" in told
        assert "price → price" in told
        await driver.press("r")
        await driver.until(lambda: driver.app.current_mode == "runs")


async def test_the_panel_lists_the_fields_of_a_dataset(open_lineage):
    async with open_lineage("orders") as driver:
        await shown(driver)
        told = text(driver, "lineage-facts")
        assert "orders  dataset outside of this instance, 3 fields" in told
        assert "  note  no lineage yet" in told
        assert "no run has written this dataset" in told


async def test_enter_moves_the_focus_and_opens_pipelines(open_lineage):
    async with open_lineage("clean") as driver:
        await shown(driver)
        await driver.press("enter")
        assert said(driver) == "Enter: the graph is drawn around it already."
        await driver.press("right", "right", "enter")
        assert driver.app.screen.exploration.focus.dataset == "sales"
        await driver.press("b")
        assert driver.app.screen.exploration.focus.dataset == "clean"
        assert selected(driver) == "clean"
        await driver.press("left", "o")
        assert said(driver) == "Open: tidy is not deployed."
        await driver.press("p")
        assert said(driver) == "Impact: a pipeline is selected; select a dataset."


async def test_a_field_is_chosen_of_the_selected_dataset(open_lineage):
    async with open_lineage("orders") as driver:
        await shown(driver)
        await driver.press("f")
        await driver.type("note")
        await driver.press("enter")
        assert names(driver) == {"orders.note"}
        assert "relates orders.note to another field" in text(driver, "lineage-legend")


@pytest.mark.slow
async def test_what_lies_on_no_way_through_the_selected_node_is_dimmed(open_lineage):
    async with open_lineage("clean") as driver:
        await shown(driver)
        await driver.press("right_square_bracket", "right_square_bracket")
        canvas = driver.app.screen.canvas
        assert canvas._get_painter().dimmed == set()
        await driver.press("t")
        assert selected(driver) == "id"
        dimmed = canvas._get_painter().dimmed
        assert "f/default/orders/price" in dimmed
        assert dimmed.isdisjoint({"f/default/orders/id", "f/default/sales/id"})


async def test_the_impact_is_a_table_to_copy(open_lineage):
    async with open_lineage("orders", "id") as driver:
        await shown(driver)
        await driver.press("p")
        dialog = driver.app.screen
        assert isinstance(dialog, ImpactDialog)
        assert dialog.query_one(RecordTable).grid.has_focus
        await driver.press("a")
        lines = driver.app._clipboard.splitlines()
        assert lines[0] == "steps,dataset,field,how,pipelines"
        assert "1,clean,id,direct,tidy" in lines
        assert "2,sales,all fields,indirect,enrich" in lines
        assert "3,report,total,indirect,summary" in lines


async def test_the_graph_is_exported(open_lineage, tmp_path):
    async with open_lineage("clean") as driver:
        await shown(driver)
        await driver.press("x")
        driver.app.screen.query_one("Input").value = str(tmp_path / "clean.mmd")
        await driver.press("enter")
        await driver.until(lambda: (tmp_path / "clean.mmd").exists())
        lines = (tmp_path / "clean.mmd").read_text().splitlines()
        assert lines[0] == "flowchart LR"
        assert '  n1["clean"]' in lines


async def test_unknown_names_show_the_nearest_and_leave_what_was_shown(open_lineage):
    async with open_lineage("clean") as driver:
        before = await shown(driver)
        driver.app.navigate(LineageTarget("clear"))
        await driver.settled()
        assert said(driver) == "There is no dataset 'clear' in namespace 'default'."
        assert names(driver) == before


@pytest.mark.slow
async def test_metadata_of_a_node_is_changed_and_shown(open_lineage):
    async with open_lineage("people", "name") as driver:
        await shown(driver)
        await driver.press("T")
        assert isinstance(driver.app.screen, MetadataDialog)
        await driver.press("t")
        await driver.type("pii")
        await driver.press("enter", "escape", "f5")
        await driver.until(lambda: "tags  pii" in text(driver, "lineage-facts"))


async def test_another_namespace_shows_its_own(open_lineage, cdap):
    cdap.namespaces.create("elsewhere")
    async with open_lineage("clean") as driver:
        await shown(driver)
        driver.app.namespace = "elsewhere"
        await driver.settled()
        assert names(driver) == set()
        await driver.press("d")
        assert "there is no dataset yet" in said(driver)
