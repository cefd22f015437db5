"""The story of a messy file: by keys only, in a terminal of 80 x 24, from raw data to a clean file."""

from __future__ import annotations

import json
from pathlib import Path

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
