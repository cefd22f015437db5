"""Bad input in the prep area: the screen stays alive, says what and where, and keeps the work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.tui.machine import read_user_state
from localcdap.tui.routes import PrepTarget
from localcdap.tui.screens.prep.recipe import PrepStep, read_step
from tests.tui.screens.prep.test_screen import column, get_screen, opened, problem, write


async def look_around(driver) -> None:
    """Use the keys that read all values of a column."""
    await driver.press("v", "space", "space", "escape")
    screen = get_screen(driver)
    screen.table.grid.focus()
    await driver.press("D", "F", "s", "s", "s", "m", "escape")
    assert not driver.app._exception


@pytest.mark.slow
async def test_files_that_are_no_tables(open_studio, tmp_path):
    binary, mixed, one_line, odd = (tmp_path / f"{name}.csv" for name in ("b", "m", "o", "n"))
    binary.write_bytes(bytes(range(256)) * 40)
    mixed.write_bytes("city,n\nZürich,1\n".encode() + "Zürich,2\n".encode("latin-1"))
    one_line.write_text(",".join(["x" * 1000] * 2000))
    odd.write_text("a,b,c\n,NaN,1e400\n,-Infinity,\n,1,x\n")
    async with open_studio(target=PrepTarget(path=str(mixed))) as driver:
        screen = await opened(driver)
        assert column(driver, 0) == ["Zürich", "Zürich"]
        for path in (binary, one_line, odd):
            screen.show_target(PrepTarget(path=str(path)))
            await driver.settled()
            assert screen.view is not None
            assert screen.column is not None
            await look_around(driver)
        await write(driver, "set-type :b double")
        assert [each.type for each in screen.view.columns] == ["string", "double", "string"]
        await driver.press("right")
        await look_around(driver)
        assert screen.recipe.directives == ["set-type :b double"]


@pytest.mark.slow
async def test_steps_without_end(open_studio, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,n\n" + f"{'a' * 60}!,1\n")
    endless = r"filter-by-regex if-matched :text '(a|aa)+'"
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "uppercase :text")
        await write(driver, "lowercase :text")
        await write(driver, endless)
        if len(screen.recipe.directives) == 2:  # the machine is slow
            assert "takes more than 4 s at row 1" in problem(driver)
            await driver.press("escape")
        else:
            assert "1 left out" in screen.table.note
            assert "time" in screen.view.failures[0].message.lower()
            await driver.press("u")
        assert screen.recipe.directives == ["uppercase :text", "lowercase :text"]
        assert column(driver, 1) == ["1"]


@pytest.mark.slow
async def test_a_studio_that_is_killed_keeps_the_accepted_steps(open_studio, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,n\na,1\n")
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        await opened(driver)
        await write(driver, "uppercase :text")
        await write(driver, "drop :n")
        await driver.press("b", "space", "i")
        await driver.type("lowercase :te")
        kept = read_user_state().find_recipe("default", str(path))
        # What a studio that is killed now leaves: it writes after each step, not at its end.
        assert list(map(read_step, kept)) == [
            PrepStep("uppercase :text"),
            PrepStep("drop :n", is_on=False),
        ]


async def test_a_file_that_changes_is_read_again(open_studio, tmp_path, cdap):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"a": 1}) + "\n")
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "set-column :b exp:{a + 1}")
        Path(path).write_text(json.dumps({"a": 7}) + "\n")
        cdap.methods.end_session(screen.session, "default")
        await driver.press("s")
        assert column(driver, 1) == ["8"]
