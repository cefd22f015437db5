from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Input

from localcdap.tui.lists import FilteredList, FilteredListOptions, ListEntry


class Shown(App[None]):
    AUTO_FOCUS = "FilteredListOptions"
    listing: FilteredList

    def __init__(self) -> None:
        super().__init__()
        self.reported: list[str | None] = []
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        yield FilteredList(empty="Nothing at all.")

    def on_filtered_list_highlighted(self, event: FilteredList.Highlighted) -> None:
        self.reported.append(event.key)

    def on_filtered_list_chosen(self, event: FilteredList.Chosen) -> None:
        self.chosen.append(event.key)


def entries(*keys: str) -> list[ListEntry]:
    return [ListEntry(key, key, group=key[0], hint="a hint " * 9) for key in keys]


@pytest.fixture
async def shown():
    app = Shown()
    async with app.run_test(size=(40, 12)) as pilot:
        app.listing = app.query_one(FilteredList)
        app.listing.set_entries(entries("a1", "a2", "b1", "b2"))
        app.listing.focus_list()
        await pilot.pause()
        yield app, pilot


async def test_keys_move_over_headings(shown):
    app, pilot = shown
    assert app.listing.key == "a1"
    await pilot.press("j", "j")
    assert app.listing.key == "b1"
    await pilot.press("G", "enter")
    assert app.chosen == ["b2"]
    await pilot.press("g", "k")
    assert app.listing.key in ("a1", "b2")


async def test_the_highlight_stays_on_its_entry_when_entries_are_added(shown):
    app, pilot = shown
    await pilot.press("j", "j")
    app.listing.set_entries(entries("a0", "a1", "a2", "a3", "b1", "b2"))
    await pilot.pause()
    assert app.listing.key == "b1"
    assert app.reported[-1] == "b1"


async def test_the_highlight_moves_to_the_neighbour_of_a_removed_entry(shown):
    app, pilot = shown
    await pilot.press("j", "j")
    app.listing.set_entries(entries("a1", "a2", "b2"))
    await pilot.pause()
    assert app.listing.key == "b2"
    app.listing.set_entries([])
    await pilot.pause()
    assert app.listing.key is None
    assert app.reported[-1] is None


async def test_a_shown_key_is_highlighted_once_the_list_has_it(shown):
    app, pilot = shown
    app.listing.show("c9")
    assert app.listing.key == "a1"
    app.listing.set_entries(entries("a1", "c8", "c9"))
    await pilot.pause()
    assert app.listing.key == "c9"


async def test_a_list_that_is_filled_late_keeps_the_focus():
    app = Shown()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.resize_terminal(50, 14)  # nothing is known yet
        app.query_one(FilteredList).set_entries(entries("a1", "a2"))
        await pilot.press("j", "enter")
        assert app.chosen == ["a2"]


async def test_a_list_that_was_empty_gets_the_focus_back(shown):
    app, pilot = shown
    app.listing.set_entries([])
    await pilot.pause()
    assert app.focused is None
    app.listing.set_entries(entries("a1", "a2"))
    await pilot.press("j", "enter")
    assert app.chosen == ["a2"]


async def test_the_chosen_entry_counts_although_the_list_has_changed(shown):
    app, pilot = shown
    app.listing.query_one(FilteredListOptions).action_select()
    app.listing.set_entries(entries("a0"))  # before the list has handled the key
    await pilot.pause()
    assert app.chosen == ["a1"]


async def test_text_typed_before_the_entries_arrive_highlights_the_best_match(shown):
    app, pilot = shown
    await pilot.press("G")
    app.listing.type_filter("a")
    app.listing.set_entries(entries("b1", "a1", "b2"))  # before the list has handled the letter
    await pilot.pause()
    assert app.listing.key == "a1"


async def test_typing_filters_and_escape_shows_all(shown):
    app, pilot = shown
    app.listing.query_one(Input).focus()
    await pilot.press("b", "2")
    assert app.listing.keys == ["b2"]
    await pilot.press("enter", "enter")
    assert app.chosen == ["b2"]
    await pilot.press("escape")
    assert app.listing.keys == ["a1", "a2", "b1", "b2"]
    assert app.listing.key == "b2"
