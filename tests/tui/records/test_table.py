"""A record table under a user's hands."""

from __future__ import annotations

import contextlib
import json

import pyarrow as pa
import pytest
from textual.app import App

from localcdap.api.schema import Schema
from localcdap.tui.records.profile import ColumnProfileView
from localcdap.tui.records.table import MOST_ROWS, RecordTable, ValueDialog

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
        assert isinstance(app.screen, ValueDialog)
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
