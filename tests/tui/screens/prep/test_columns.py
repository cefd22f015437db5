"""Facets, directives by example and very many columns in the prep area."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.tui.routes import PrepTarget
from localcdap.tui.screens.prep.facets import FacetList
from tests.tui.screens.prep.test_screen import column, opened, shown, write
from tests.tui.studio_driver import SMALL


def make_file(folder: Path) -> Path:
    path = folder / "people.csv"
    rows = [
        f"{city},{n},{name}@{domain}"
        for n, (city, name, domain) in enumerate(
            [
                ("Rome", "ada", "example.com"),
                ("Rome", "bob", "mail.org"),
                ("Oslo", "cy.x", "example.com"),
                ("Oslo", "dan", "mail.org"),
                ("Rome", "eve", "example.com"),
            ]
        )
    ]
    path.write_text("\n".join(["city,n,mail", *rows, rows[0]]) + "\n")
    return path


async def test_facets_count_filter_and_become_a_directive(open_studio, tmp_path):
    path = make_file(tmp_path)
    async with open_studio(target=PrepTarget(path=str(path)), size=SMALL) as driver:
        screen = await opened(driver)
        await write(driver, "set-type :n int")
        await driver.press("v")
        listed = screen.query_one(FacetList)
        assert listed.has_focus
        assert [(each.label, each.count) for each in screen.view.facets[0].bins] == [
            ("Rome", 4),
            ("Oslo", 2),
        ]
        await driver.press("space")
        assert column(driver, 0) == ["Rome"] * 4
        assert "4 of 6 rows" in screen.table.note
        screen.table.grid.focus()
        await driver.press("right", "f", "enter")
        number = screen.view.facets[1]
        assert (number.kind, sum(each.count for each in number.bins)) == ("range", 4)
        assert screen.facet_list.place == (1, number.bins[0])
        await driver.press("space")
        assert column(driver, 1) == ["0", "0"]
        await driver.press("enter", "down", "enter")
        condition = "(city == 'Rome') && (n != null && n >= 0 && n <= 0)"
        assert screen.recipe.directives[1] == f"filter-row exp:{{{condition}}} true"
        assert column(driver, 1) == ["1", "2", "3", "4"]
        screen.facet_list.focus()
        await driver.press("d")
        assert len(screen.facets) == 1
        screen.table.grid.focus()
        await driver.press("F")
        assert not screen.facets


@pytest.mark.slow
async def test_rows_that_are_there_again_lead_to_a_pipeline(open_studio, tmp_path):
    path = make_file(tmp_path)
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await driver.press("D", "down", "space")
        assert column(driver, 1) == ["0"]
        await driver.press("down", "space")
        assert column(driver, 1) == ["0", "0"]
        await driver.press("enter", "enter")
        editor = await driver.editor()
        assert [each.plugin.name for each in editor.document.stages] == [
            "File",
            "Wrangler",
            "Distinct",
            "Table",
        ]
        assert list(editor.failures) == []
        assert screen.recipe.steps == ()


async def test_directives_by_example(open_studio, tmp_path):
    path = make_file(tmp_path)
    async with open_studio(target=PrepTarget(path=str(path)), size=SMALL) as driver:
        screen = await opened(driver)
        await driver.press("right", "right", "E")
        field = driver.app.focused
        assert field.value == "ada@example.com"
        field.value = "example.com"
        await driver.press("enter")
        assert "6 of 6" in shown(driver)
        assert screen.view.columns[-1].name == "mail_part", "it shows before it is accepted"
        await driver.press("escape")
        assert screen.recipe.steps == ()
        await driver.press("E")
        driver.app.focused.value = "ada | example.com"
        await driver.press("enter", "enter")
        assert screen.recipe.directives == ["split-email :mail"]
        await driver.press("E")
        driver.app.focused.value = "nothing like it |"
        await driver.press("enter")
        assert screen.recipe.directives == ["split-email :mail"]


@pytest.mark.slow
async def test_of_very_many_columns_each_can_be_reached(open_studio, tmp_path):
    path = tmp_path / "wide.json"
    path.write_text(json.dumps({f"c{n}": n for n in range(2000)}) + "\n")
    async with open_studio(target=PrepTarget(path=str(path)), size=SMALL) as driver:
        screen = await opened(driver)
        assert len(screen.view.columns) == 300
        await driver.press("colon")
        await driver.type("c1234\n")
        assert screen.column.name == "c1234"
        assert screen.value == "1234"
        await driver.press("m")
        assert "c1234" in shown(driver)


@pytest.mark.slow
async def test_two_files_are_joined_by_a_pipeline(open_studio, tmp_path):
    path, other = make_file(tmp_path), tmp_path / "towns.csv"
    other.write_text("town,country\nRome,Italy\nOslo,Norway\n")
    async with open_studio(target=PrepTarget(path=str(other))) as driver:
        await opened(driver)
        await write(driver, "uppercase :country")
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        await opened(driver)
        await driver.press("L")
        await driver.type("towns\n")
        assert "city = town" in shown(driver)
        assert "6 of 6 rows match" in shown(driver)
        await driver.press("enter", "enter")
        editor = await driver.editor()
        assert [each.plugin.name for each in editor.document.stages] == [
            "File",
            "Wrangler",
            "File",
            "Wrangler",
            "Joiner",
            "Table",
        ]
        assert list(editor.failures) == []
