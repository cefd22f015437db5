"""The prep area on real files and tables."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from textual.widgets import Static

from localcdap.api.schema import Schema
from localcdap.store.tables import NamespaceTables
from localcdap.tui.dialogs.dialog_screen import LinesDialog
from localcdap.tui.machine import OpenedData, read_user_state
from localcdap.tui.routes import DocumentTarget, PrepTarget
from localcdap.tui.screens.prep.data_lists import list_present
from localcdap.tui.screens.prep.directives import DirectiveLine
from localcdap.tui.screens.prep.recipe import PrepStep, StepList
from localcdap.tui.screens.prep.screen import PrepScreen
from localcdap.tui.screens.prep.source import PrepSource
from tests.tui.inspector.bench import pipeline
from tests.tui.studio_driver import SMALL

CONTENT = "name;city;amount\nada; Rome ;10\nbob;;7\ncy;Oslo;x\ndan; Rome ;12\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(CONTENT)
    return path


def get_screen(driver) -> PrepScreen:
    screen = driver.app.screen_stack[0]
    assert isinstance(screen, PrepScreen)
    return screen


async def opened(driver) -> PrepScreen:
    await driver.until(lambda: isinstance(driver.app.screen_stack[0], PrepScreen))
    screen = get_screen(driver)
    await driver.until(lambda: screen.view is not None)
    await driver.settled()
    return screen


def column(driver, place: int) -> list[str | None]:
    view = get_screen(driver).view
    assert view is not None
    return [row[place] for row in view.rows]


def problem(driver) -> str:
    return str(get_screen(driver).line.query_one(".problem", Static).content)


def shown(driver) -> str:
    """All that is on the screen."""
    strips = driver.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def write(driver, directive: str) -> None:
    await driver.press("i")
    await driver.paste(directive)
    await driver.press("enter")


async def test_a_file_is_shown_with_headers(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        assert column(driver, 1) == [" Rome ", None, "Oslo", " Rome "]
        title = str(screen.query_one("#prep-title", Static).content)
        assert "people.csv" in title
        assert "4 records · 4 rows · 3 columns · csv" in title
        (label,) = (each for each in screen.table.grid.build_labels() if "city" in each.plain)
        assert label.plain.splitlines()[1:] == ["━━━━━━━━━━ 25% none", "█▄ 2"]
        await driver.press("right")
        shown = str(screen.query_one("#prep-column", Static).content)
        assert "null      1" in shown
        assert "Rome" in shown


@pytest.mark.slow
async def test_a_directive_shows_its_effect_before_it_is_accepted(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await driver.press("i")
        await driver.type("trim :ci")
        assert "ci" in problem(driver)
        await driver.press("tab")
        assert screen.line.input.value == "trim :city"
        await driver.until(lambda: column(driver, 1)[0] == "Rome")
        assert "as the directive would leave them" in screen.table.note
        assert screen.recipe.steps == ()
        await driver.press("escape")
        assert column(driver, 1)[0] == " Rome "
        await write(driver, "trim :city")
        assert screen.recipe.directives == ["trim :city"]
        assert column(driver, 1)[0] == "Rome"
        assert screen.table.grid.has_focus


@pytest.mark.slow
async def test_a_wrong_directive_stays_in_the_line(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "trimm :city")
        assert "Did you mean 'trim'?" in problem(driver)
        assert screen.line.input.has_focus
        assert screen.recipe.steps == ()


@pytest.mark.slow
async def test_the_menu_of_a_column(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await driver.press("right", "m")
        assert "as the directive would leave them" in screen.table.note
        assert column(driver, 0) == ["ada", "dan"]
        await driver.press("down")
        assert column(driver, 0) == ["cy"] or column(driver, 0) == ["bob", "cy"]
        await driver.press("escape")
        assert column(driver, 0) == ["ada", "bob", "cy", "dan"]
        await driver.press("m")
        await driver.type("upper")
        await driver.press("enter")
        assert screen.recipe.directives == ["uppercase :city"]
        await driver.press("m")
        await driver.type("rename")
        await driver.press("enter")
        assert screen.line.input.value == "rename :city :"
        await driver.type("town\n")
        assert screen.view.columns[1].name == "town"


@pytest.mark.slow
async def test_frequent_values_become_filters(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await driver.press("right", "v", "enter", "down", "enter")
        assert screen.recipe.directives == ["filter-row exp:{city == ' Rome '} true"]
        assert column(driver, 1) == [None, "Oslo"]


async def test_steps_are_changed_and_changes_undone(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        for directive in ("set-type :amount int", "trim :city", "drop :name"):
            await write(driver, directive)
        assert column(driver, 0) == ["Rome", None, "Rome"]
        assert "1 left out" in screen.table.note
        await driver.press("b", "up", "up")
        assert len(screen.view.columns) == 3
        assert "after step 1 of 3" in screen.table.note
        await driver.press("space")
        assert screen.recipe.directives == ["trim :city", "drop :name"]
        await driver.press("escape")
        assert column(driver, 0) == ["Rome", None, "Oslo", "Rome"]
        await driver.press("b", "up", "up", "space", "J")
        assert screen.recipe.directives == ["trim :city", "set-type :amount int", "drop :name"]
        await driver.press("d")
        assert screen.recipe.directives == ["trim :city", "drop :name"]
        await driver.press("u", "u", "u", "u")
        assert screen.recipe.directives[0] == "set-type :amount int"
        assert len(screen.recipe.directives) == 3
        await driver.press("U", "U", "U", "U")
        assert screen.recipe.directives == ["trim :city", "drop :name"]
        await driver.press("b", "up", "enter")
        assert screen.line.input.value == "trim :city"
        screen.line.input.value = "uppercase :city"
        await driver.press("enter")
        assert screen.recipe.directives == ["uppercase :city", "drop :name"]


@pytest.mark.slow
async def test_a_new_step_comes_after_the_one_that_is_shown(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "trim :city")
        await write(driver, "drop :name")
        await driver.press("b", "up")
        screen.table.grid.focus()
        await write(driver, "uppercase :name")
        assert screen.recipe.directives == ["trim :city", "uppercase :name", "drop :name"]


async def test_rows_that_are_left_out_are_listed(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        await opened(driver)
        await driver.press("e")
        assert not isinstance(driver.app.screen, LinesDialog)
        await write(driver, "set-type :amount int")
        await driver.press("e")
        assert isinstance(driver.app.screen, LinesDialog)
        (block,) = driver.app.screen.query("#dialog-blocks > Static").results(Static)
        title, *lines = str(block.content).splitlines()
        assert title == "record 3, fails at directive 1"
        assert "  name: cy" in lines


async def test_sorting_and_other_samples(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await driver.press("s", "s")
        assert column(driver, 0) == ["dan", "cy", "bob", "ada"]
        await driver.press("s")
        assert column(driver, 0) == ["ada", "bob", "cy", "dan"]
        await driver.press("w")
        await driver.type("100 random")
        await driver.press("enter")
        assert screen.source == PrepSource(path=str(path), limit=100, seed=1)
        assert sorted(map(str, column(driver, 0))) == ["ada", "bob", "cy", "dan"]


@pytest.mark.slow
async def test_the_recipe_is_there_again(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        await opened(driver)
        await write(driver, "trim :city")
        await write(driver, "drop :name")
        await driver.press("b", "space")
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        assert screen.recipe.steps == (PrepStep("trim :city"), PrepStep("drop :name", is_on=False))
        assert screen.recipe.directives == ["trim :city"]
        await driver.press("u")
        assert not screen.recipe.steps


@pytest.mark.slow
async def test_a_lost_process_loses_nothing(open_studio, path, cdap):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "trim :city")
        cdap.methods.end_session(screen.session, "default")
        await write(driver, "uppercase :city")
        assert column(driver, 1)[0] == "ROME"


async def test_a_table_is_prepared(open_studio, cdap, tmp_path):
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [1, 2], "city": ["Rome", None]}), file)
    schema = Schema.record("r", [("id", Schema.LONG), ("city", Schema.STRING.as_nullable)])
    store = cdap.tables._tables._store
    with store.transaction() as tx:
        NamespaceTables(store).upsert_parquet(tx, "default", "visits", schema, "id", [file])
    async with open_studio() as driver:
        await driver.press("semicolon", "t")
        await driver.type("visits\n")
        screen = await opened(driver)
        assert screen.view.total_count == 2
        assert [each.type for each in screen.view.columns] == ["long", "string"]
        kept = read_user_state().list_opened("default")
        missing = OpenedData("default", table="none")
        assert list_present(cdap, "default", [*kept, missing]) == [PrepSource(table="visits")]
        await driver.press("w")
        await driver.type("100 random")
        await driver.press("enter")
        assert sorted(map(str, column(driver, 0))) == ["1", "2"]
        await write(driver, "set-column :id exp:{id + 1}")
        assert sorted(map(str, column(driver, 0))) == ["2", "3"]
        await driver.press("x", "enter")
        editor = await driver.editor()
        assert [each.name for each in editor.document.stages] == ["Source", "Wrangler", "Sink"]


@pytest.mark.slow
async def test_a_recipe_becomes_a_pipeline(open_studio, path):
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        await opened(driver)
        await write(driver, "trim :city")
        await write(driver, "filter-row exp:{amount == 'x'} true")
        await write(driver, "set-type :amount int")
        await driver.press("x", "enter")
        editor = await driver.editor()
        assert editor.failures == [] or list(editor.failures) == []


async def test_a_recipe_is_applied_to_all_rows(open_studio, path, tmp_path):
    target = tmp_path / "out.json"
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await write(driver, "set-type :amount int")
        screen.run_on_all(target)
        await driver.until(target.exists)
        await driver.settled()
        said = shown(driver)
        rows = [json.loads(line) for line in target.read_text().splitlines()]
        assert [row["amount"] for row in rows] == [10, 7, 12]
        assert "4 rows read · 3 in the result · 1 failed" in said


async def test_a_file_that_cannot_be_read(open_studio, tmp_path):
    async with open_studio(target=PrepTarget(path=str(tmp_path / "none.csv"))) as driver:
        await driver.until(lambda: isinstance(driver.app.screen_stack[0], PrepScreen))
        await driver.settled()
        assert get_screen(driver).source is None
        assert "does not exist" in next(iter(driver.app.notices.newest_first)).title


@pytest.mark.slow
async def test_hostile_texts_and_a_small_terminal(open_studio, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\x1b[31m,[b]b[/b]\n\x1b[2Jx,\x07[red]y\n")
    async with open_studio(target=PrepTarget(path=str(path)), size=SMALL) as driver:
        screen = await opened(driver)
        await driver.press("right", "m", "escape", "v", "escape")
        assert screen.query_one(StepList).size.width > 10
        assert screen.query_one(DirectiveLine).size.height == 2
        text = "".join(
            segment.text
            for strip in driver.app.screen._compositor.render_strips()
            for segment in strip
        )
        assert "\x1b" not in text
        assert "\x07" not in text


@pytest.mark.slow
async def test_a_wrangler_stage_is_prepared_with_what_reaches_it(open_studio, path):
    schema = Schema.record("r", [(name, Schema.STRING) for name in ("name", "city", "amount")])
    source = {
        "referenceName": "r",
        "path": str(path),
        "format": "delimited",
        "delimiter": ";",
        "skipHeader": "true",
        "schema": str(schema),
    }
    recipe = "// tidy\ntrim :city; uppercase :name"
    document = pipeline(
        "File:batchsource Wrangler:transform Trash:batchsink",
        File=source | {"schema": str(schema).replace('"string"', '["string","null"]')},
        Wrangler={"field": "*", "directives": recipe, "schema": str(schema)},
        Trash={"referenceName": "t"},
    )
    target = DocumentTarget("p", json.dumps(document))
    async with open_studio(target=target) as driver:
        editor = await driver.editor()
        editor.select("Wrangler")
        view = driver.app.screen.view
        view.inspector.show_selected()
        await driver.settled()
        view.inspector.focus_content()
        await driver.settled()
        await driver.press("f11")
        screen = await opened(driver)
        assert screen.recipe.directives == ["trim :city", "uppercase :name"]
        assert column(driver, 0) == ["ADA", "BOB", "CY", "DAN"]
        assert "Wrangler in" in str(screen.query_one("#prep-title", Static).content)
        assert not screen.recipe.can_undo
        await write(driver, "drop :amount")
        await driver.press("ctrl+s")
        await driver.until(lambda: driver.app.current_mode == "studio")
        await driver.settled()
        properties = editor.get_properties("Wrangler")
        expected = "// tidy\ntrim :city\nuppercase :name\ndrop :amount"
        assert properties["directives"] == expected
        fields = [each["name"] for each in json.loads(properties["schema"])["fields"]]
        assert fields == ["name", "city"]
        editor.undo()
        assert editor.get_properties("Wrangler")["directives"] == recipe


@pytest.mark.slow
async def test_values_that_mean_the_same_become_one(open_studio, tmp_path):
    path = tmp_path / "cities.csv"
    cities = ["Rome", "rome ", "Rome", "ROME", "Oslo", "oslo", "Oslo", "Paris"]
    path.write_text("\n".join(["city,n", *(f"{city},{n}" for n, city in enumerate(cities))]))
    async with open_studio(target=PrepTarget(path=str(path))) as driver:
        screen = await opened(driver)
        await driver.press("C", "enter")
        assert set(map(str, column(driver, 0))) == {"Rome", "Oslo", "Paris"}
        assert screen.recipe.steps == ()
        await driver.press("escape")
        assert column(driver, 0) == cities
        await driver.press("C", "enter", "enter")
        assert set(map(str, column(driver, 0))) == {"Rome", "Oslo", "Paris"}
        assert len(screen.recipe.directives) == 2
        await driver.press("u")
        assert column(driver, 0) == cities
