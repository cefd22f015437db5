"""A record table under a user's hands."""

from __future__ import annotations

import contextlib
import json
import sys
import types

import pyarrow as pa
import pytest
from textual.app import App

from localcdap.api.schema import Schema
from localcdap.tui.dialogs.dialog_screen import TextDialog
from localcdap.tui.records.columns import ColumnProfileView
from localcdap.tui.records.table import MOST_ROWS, RecordTable

SCHEMA = Schema.record(
    "r",
    [
        ("id", Schema.LONG),
        ("name", Schema.STRING.as_nullable),
        ("tags", Schema.array(Schema.STRING)),
    ],
)
RECORDS = [
    {"id": 1, "name": "ada", "tags": ["a"]},
    {"id": 2, "name": None, "tags": []},
    {"id": 3, "name": "", "tags": ["b", "c"]},
    {"id": 4, "name": "\x1b[31mgrace", "tags": ["d"]},
]


class Alone(App[None]):
    def __init__(self):
        super().__init__()
        self.copied = []

    def compose(self):
        yield RecordTable()

    def on_record_table_copied(self, event):
        self.copied.append((event.what, event.text))


@contextlib.asynccontextmanager
async def shown(records=RECORDS, schema=SCHEMA, **more):
    app = Alone()
    async with app.run_test(size=(90, 20)) as pilot:
        table = app.query_one(RecordTable)
        table.show_records(records, schema, **more)
        await app.workers.wait_for_complete()
        await pilot.pause()
        table.grid.focus()
        await pilot.pause()
        yield app, table, pilot


async def test_it_is_made_while_a_thread_imports_pandas(monkeypatch):
    pa.array(
        [0]
    )  # pyarrow imports pandas here, unless a test before has done it: it waits for the thread
    monkeypatch.setitem(sys.modules, "pandas", types.ModuleType("pandas"))
    async with shown() as (_, table, _pilot):
        assert table.note == "4 records · 3 columns"


async def test_cells_and_note():
    async with shown(limit_note="the first 4 of 25,312") as (app, table, pilot):
        assert table.note == "4 records · 3 columns · the first 4 of 25,312"
        picture = app.export_screenshot().replace("&#160;", " ")
        for part in ("∅", "&quot;&quot;", "array&lt;string&gt;", "\\x1b[31mgrace"):
            assert part in picture
        assert "\x1b" not in picture


async def test_copying():
    async with shown() as (app, _, pilot):
        await pilot.press("l", "y", "Y", "c", "a", "A")
        texts = dict(app.copied)
        assert texts["cell name"] == "ada"
        assert json.loads(texts["row 1"]) == RECORDS[0]
        assert texts["column name"] == "ada\n\n\n\x1b[31mgrace"
        assert texts["4 records as CSV"].splitlines()[:4] == [
            "id,name,tags",
            '1,ada,"[""a""]"',
            "2,,[]",
            '3,"","[""b"", ""c""]"',
        ]
        assert json.loads(texts["4 records as JSON"]) == RECORDS
        assert app.clipboard == texts["4 records as JSON"]


async def test_search_and_the_whole_value():
    async with shown() as (app, table, pilot):
        await pilot.press("G", "slash", *'c"]', "enter")
        assert table.grid.cursor_coordinate == (2, 2)
        await pilot.press("slash", "end", "ctrl+u", "a", "enter", "n")
        first = table.grid.cursor_coordinate
        await pilot.press("n")
        assert table.grid.cursor_coordinate != first
        await pilot.press("N")
        assert table.grid.cursor_coordinate == first
        await pilot.press("g", "enter")
        assert isinstance(app.screen, TextDialog)
        await pilot.press("escape")
        assert table.grid.has_focus


async def test_the_profile_follows_the_cursor():
    async with shown() as (app, table, pilot):
        await pilot.press("p")
        await app.workers.wait_for_complete()
        await pilot.pause()
        view = table.query_one(ColumnProfileView)
        assert "distinct" in str(view.render())
        await pilot.press("l")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "empty texts 1 (25.0%)" in str(view.render())
        await pilot.press("p")
        assert not view.display


async def test_the_note_says_that_rows_are_left_out():
    async with shown() as (_, table, pilot):
        table.show(pa.table({"n": list(range(MOST_ROWS + 5))}))
        await pilot.pause()
        assert table.table.num_rows == MOST_ROWS
        assert f"the first {MOST_ROWS:,} of {MOST_ROWS + 5:,}" in table.note


async def test_no_records_and_columns_of_the_same_name():
    async with shown([], None) as (app, table, pilot):
        await pilot.press("y", "Y", "c", "a", "enter", "p", "n")
        assert app.copied == []
        table.show(pa.table([pa.array([1]), pa.array(["x"])], names=["same", "same"]))
        await pilot.pause()
        await pilot.press("l", "y")
        assert app.copied[-1][1] == "x"
        table.clear("Nothing here.")
        await pilot.pause()
        assert table.note == "Nothing here."


@pytest.mark.parametrize("name", ["[bold]x", "", "\n", "x" * 300])
async def test_any_name_of_a_column(name):
    async with shown([{name: "[red]v[/]"}], None) as (app, _, pilot):
        await pilot.press("y")
        assert app.copied[-1][1] == "[red]v[/]"


async def test_a_profile_is_that_of_the_table_that_is_shown():
    async with shown() as (app, table, pilot):
        await pilot.press("p")
        await app.workers.wait_for_complete()
        view = table.query_one(ColumnProfileView)
        assert str(view.render()).startswith("id ")
        other = Schema.record("o", [("city", Schema.STRING)])
        table.show_records([{"city": "Rome"}], other)
        await app.workers.wait_for_complete()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert str(view.render()).startswith("city ")
        table.show_records([], other)  # a stage without records
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert str(view.render()) == ""


async def press(app, pilot, *keys):
    await pilot.press(*keys)
    await app.workers.wait_for_complete()
    await pilot.pause()


async def test_an_order_goes_up_then_down_then_away_and_numbers_stay_with_their_records():
    async with shown() as (app, table, pilot):
        await press(app, pilot, "l", "o")
        assert table.table.column("name").to_pylist() == ["", "\x1b[31mgrace", "ada", None]
        assert list(table.grid.numbers) == [3, 4, 1, 2]
        assert "by name ↑" in table.note
        await press(app, pilot, "o")
        assert list(table.grid.numbers) == [1, 4, 3, 2]
        await press(app, pilot, "Y")
        assert app.copied[-1][0] == "row 1"
        await press(app, pilot, "o")
        assert list(table.grid.numbers) == [1, 2, 3, 4]
        assert table.note == "4 records · 3 columns"


async def test_an_older_order_holds_among_equal_values_and_lists_are_ordered_too():
    rows = [{"a": 2, "b": [1]}, {"a": 1, "b": [2]}, {"a": 2, "b": [0]}]
    schema = Schema.record("r", [("a", Schema.LONG), ("b", Schema.array(Schema.LONG))])
    async with shown(rows, schema) as (app, table, pilot):
        await press(app, pilot, "l", "o", "h", "o")
        assert table.table.to_pylist() == [rows[1], rows[2], rows[0]]
        assert "by a ↑, by b ↑" in table.note


async def test_records_are_filtered_by_a_value_and_come_back():
    async with shown([{"c": "x"}, {"c": None}, {"c": "x"}, {"c": "y"}], None) as (
        app,
        table,
        pilot,
    ):
        await press(app, pilot, "equals_sign")
        assert list(table.grid.numbers) == [1, 3]
        assert "2 of 4 records" in table.note
        assert "c = x" in table.note
        await press(app, pilot, "minus")
        assert list(table.grid.numbers) == []
        assert "c ≠ x" in table.note
        await press(app, pilot, "backspace", "backspace", "backspace", "j", "minus")
        assert list(table.grid.numbers) == [1, 3, 4]


async def test_a_value_is_chosen_by_its_frequency():
    async with shown([{"c": "x"}, {"c": None}, {"c": "x"}, {"c": None}, {"c": "y"}], None) as (
        app,
        table,
        pilot,
    ):
        await press(app, pilot, "F")
        picture = app.export_screenshot().replace("&#160;", " ")
        assert "c: 3 values" in picture
        assert "40.0%" in picture
        await press(app, pilot, "down", "enter")
        assert list(table.grid.numbers) == [2, 4]
