"""Stories of messy files: by keys only, in a terminal of 80 x 24, from raw data to clean ones."""

from __future__ import annotations

import json
from pathlib import Path

import openpyxl
import pytest
from textual.widgets import Input

from localcdap.tui.routes import PrepTarget
from localcdap.tui.screens.prep.screen import PrepScreen
from tests.tui.stories.newcomer import Newcomer
from tests.tui.studio_driver import SMALL

CONTENT = """id,city,price,joined,email
1,Rome,"$1,200.50",2021-01-02,ada@example.com
2,rome ,17,03/04/2021,
3,ROME,$5.5,2021-07-01,cy@example.com
4,Oslo,12,2020-05-05,dan@example.com
5,oslo,n/a,05/06/2020,eve@example.com
6,Paris,3,2020-01-31,flo@example.com
"""
MOST_KEYS = 32
"""What it takes; a text that is typed counts as one."""


async def write(newcomer: Newcomer, directive: str) -> None:
    await newcomer.press("i")
    await newcomer.type(directive)
    await newcomer.press("enter")


@pytest.mark.slow
async def test_a_messy_file_becomes_a_clean_one(open_studio, tmp_path: Path) -> None:
    path, output = tmp_path / "messy.csv", tmp_path / "clean.json"
    path.write_text(CONTENT)
    async with open_studio(size=SMALL) as driver:
        newcomer = Newcomer(driver)
        await newcomer.press("semicolon")
        await newcomer.sees("no data are open; o opens a file")
        await newcomer.press("o")
        await newcomer.type(str(path))
        await newcomer.press("enter")
        await newcomer.sees("messy.csv", "6 records")
        await newcomer.press("right", "C", "enter", "enter")  # one spelling for each city
        await newcomer.sees("find-and-replace :city")
        await write(newcomer, "find-and-replace :price 's/[$,]//g'")
        await write(newcomer, "filter-row exp:{price == 'n/a'} true")
        await newcomer.sees("-1 rows")
        await write(newcomer, "set-type :price double")
        await write(newcomer, "find-and-replace :joined 's#(\\d+)/(\\d+)/(\\d+)#$3-$2-$1#g'")
        await write(newcomer, "parse-as-simple-date :joined 'yyyy-MM-dd'")
        await write(newcomer, "fill-null-or-empty :email 'unknown'")
        await newcomer.press("x", "down", "enter")  # apply the recipe to all rows
        dialog = driver.app.screen
        await newcomer.is_in_field()
        driver.app.focused.value = ""
        await newcomer.type(str(output))
        await newcomer.press("enter")
        await driver.until(lambda: output.exists() and driver.app.screen is not dialog)
        await newcomer.sees("6 rows read · 5 in the result", "What the sample did not show")
        await newcomer.press("enter")
        assert isinstance(driver.app.screen, PrepScreen)
        assert newcomer.keys <= MOST_KEYS, f"it took {newcomer.keys} keys"
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(row["city"], row["price"], row["joined"][:10], row["email"]) for row in rows] == [
        ("Rome", 1200.5, "2021-01-02", "ada@example.com"),
        ("Rome", 17.0, "2021-04-03", "unknown"),
        ("Rome", 5.5, "2021-07-01", "cy@example.com"),
        ("Oslo", 12.0, "2020-05-05", "dan@example.com"),
        ("Paris", 3.0, "2020-01-31", "flo@example.com"),
    ]


ORDERS = """Order No.,Customer Name,City,Price,Day
1,"Doe, John",Rome,"$1,200.50",2021-01-02
2,"Roe, Jane",rome ,€ 17,03/04/2021
2,"Roe, Jane",rome ,€ 17,03/04/2021
3,"Poe, Eva",Oslo,$5.5,1.7.21
4,"Loe, Max",Osloo,12,5.5.20
5,"Moe, Ida",Rome,n/a,06/05/2020
"""
KEYS_FOR_ORDERS = 46


@pytest.mark.slow
async def test_three_forms_of_dates_and_of_prices(open_studio, tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text(ORDERS)
    async with open_studio(size=SMALL, target=PrepTarget(path=str(path))) as driver:
        newcomer = Newcomer(driver)
        await newcomer.sees("orders.csv", "6 records")
        await newcomer.press("right")
        await by_example(newcomer, "Doe, John", "John Doe")
        await newcomer.press("right", "C", "enter", "enter")  # the same words: Rome and rome
        await newcomer.press(
            "C", "down", "down", "down", "enter", "enter"
        )  # few other letters: Osloo
        await newcomer.press("right")
        await by_example(newcomer, "$1,200.50", "1200.50")
        await newcomer.press("m")
        await newcomer.type("without a value")  # n/a had no digits
        await newcomer.press("enter", "m")
        await newcomer.type("to double")
        await newcomer.press("enter", "right", "down")
        await by_example(newcomer, "03/04/2021", "2021-04-03")
        await newcomer.press("down", "down")
        await by_example(newcomer, "1.7.21", "2021-07-01")
        await newcomer.press("D", "down", "space", "down", "space")
        await newcomer.sees("2 of 5 rows")
        screen = driver.app.screen
        assert isinstance(screen, PrepScreen)
        await newcomer.press("F")
        assert screen.view.rows == [
            ["1", "John Doe", "Rome", "1200.5", "2021-01-02"],
            ["2", "Jane Roe", "Rome", "17.0", "2021-04-03"],
            ["2", "Jane Roe", "Rome", "17.0", "2021-04-03"],
            ["3", "Eva Poe", "Oslo", "5.5", "2021-07-01"],
            ["4", "Max Loe", "Oslo", "12.0", "2020-05-05"],
        ]
        assert newcomer.keys <= KEYS_FOR_ORDERS, f"it took {newcomer.keys} keys"


async def by_example(newcomer: Newcomer, value: str, wanted: str) -> None:
    """Say what is wanted of the value under the cursor, and take the first answer."""
    await newcomer.press("E")
    await newcomer.is_in_field()
    field = newcomer.driver.app.focused
    assert isinstance(field, Input)
    assert field.value == value
    field.value = ""
    await newcomer.type(wanted)
    await newcomer.press("enter", "enter")


@pytest.mark.slow
async def test_nested_json_becomes_columns(open_studio, tmp_path: Path) -> None:
    path = tmp_path / "users.json"
    lines = [
        {"id": 1, "user": {"name": "ada", "address": {"city": "Rome"}}, "tags": ["a", "b"]},
        {"id": 2, "user": {"name": "bob", "address": {"city": None}}, "tags": ["a"]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    async with open_studio(size=SMALL, target=PrepTarget(path=str(path))) as driver:
        newcomer = Newcomer(driver)
        await newcomer.sees("users.json", "2 records")
        await newcomer.press("right", "m")
        await newcomer.type("inner members")
        await newcomer.press("enter")
        await newcomer.sees("parse-as-json :user 9")
        await newcomer.press("m")
        await newcomer.type("one row")
        await newcomer.press("enter")
        screen = driver.app.screen
        assert isinstance(screen, PrepScreen)
        assert [each.name for each in screen.view.columns] == [
            "id",
            "tags",
            "user_name",
            "user_address_city",
        ]
        assert screen.view.rows == [
            ["1", "a", "ada", "Rome"],
            ["1", "b", "ada", "Rome"],
            ["2", "a", "bob", None],
        ]
        assert newcomer.keys <= 7, f"it took {newcomer.keys} keys"


@pytest.mark.slow
async def test_a_wide_export_of_excel(open_studio, tmp_path: Path) -> None:
    path = tmp_path / "export.xlsx"
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Year", *(f"Total (Month {n})" for n in range(1, 121))])
    for year in (2020, 2021):
        sheet.append([year, *(year * n / 100 if n % 7 else None for n in range(1, 121))])
    book.save(path)
    async with open_studio(size=SMALL, target=PrepTarget(path=str(path))) as driver:
        newcomer = Newcomer(driver)
        await newcomer.sees("export.xlsx", "121 columns")
        await newcomer.press("colon")
        await newcomer.type("month_119")
        await newcomer.press("enter", "v", "enter", "down", "enter")
        screen = driver.app.screen
        assert isinstance(screen, PrepScreen)
        assert screen.recipe.directives[0].startswith("filter-row exp:{Total_Month_119")
        assert screen.view.row_count < 2
        assert newcomer.keys <= 7, f"it took {newcomer.keys} keys"
