"""The canvas in an app of its own."""

from __future__ import annotations

import time

import pytest
from textual.app import App

from localcdap.tui.canvas.canvas import Canvas
from localcdap.tui.canvas.chart import COMPACT, DOTS, NORMAL, SNUG, Chart, Link
from localcdap.tui.canvas.stage_card import StageCard, StageMark
from tests.tui.canvas.charts import chain, large

CHART = Chart(("a", "b", "c", "d"), (Link("a", "b"), Link("b", "d"), Link("a", "c")))


class CanvasApp(App):
    def __init__(self, chart=CHART):
        super().__init__()
        self.chart = chart
        self.seen = []

    def compose(self):
        yield Canvas()

    def on_mount(self):
        self.canvas.show_chart(self.chart)
        self.canvas.show_cards(
            {n: StageCard(n, "P", "", StageMark.VALID, "valid") for n in self.chart.nodes}
        )

    @property
    def canvas(self):
        return self.query_one(Canvas)

    def on_canvas_selected(self, event):
        self.seen.append(event.stage)

    def on_canvas_opened(self, event):
        self.seen.append(("open", event.stage))

    def on_canvas_drawn(self, event):
        self.seen.append((event.source, event.target))

    def text(self):
        canvas = self.canvas
        return "\n".join(canvas.render_line(y).text for y in range(canvas.size.height))


def place_of(canvas, stage):
    """The middle of a stage, in cells of the widget."""
    found = [
        (x, y)
        for y in range(canvas.size.height)
        for x in range(canvas.size.width)
        if canvas.find_stage_at(x, y) == stage
    ]
    return found[len(found) // 2]


async def until(pilot, holds):
    """Wait until something holds."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        await pilot.pause(0.01)


async def test_arrows_go_along_lines_and_to_what_is_near():
    app = CanvasApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("l", "l", "right", "left", "j", "h")

        assert app.seen == ["a", "b", "d", "b", "c", "a"]


async def test_a_click_selects_and_two_open():
    app = CanvasApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        await pilot.click(Canvas, offset=place_of(app.canvas, "c"))
        assert app.canvas.selected == "c"
        await pilot.click(Canvas, offset=place_of(app.canvas, "b"), times=2)

        assert app.seen == ["c", "b", ("open", "b")]


async def test_a_stage_drawn_to_another_is_reported():
    app = CanvasApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        await pilot.mouse_down(Canvas, offset=place_of(app.canvas, "c"))
        await pilot.hover(Canvas, offset=place_of(app.canvas, "d"))
        await pilot.mouse_up(Canvas, offset=place_of(app.canvas, "d"))

        assert app.seen == [("c", "d")]


async def test_states_and_selection_are_seen_without_colour():
    app = CanvasApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("l")
        assert "┃ a" in app.text()
        assert "✓ valid" in app.text()

        app.canvas.show_cards({"b": StageCard("b", "P", "", StageMark.WRONG, "2 failures")})
        await pilot.pause()

        assert "✗ 2 failures" in app.text()


async def test_zooming_out_shows_less_of_more():
    app = CanvasApp(large(40))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        assert app.canvas.zoom is NORMAL  # what cannot be seen whole begins readable
        await pilot.press("minus")
        assert app.canvas.zoom.level == SNUG.level
        await pilot.press("minus")
        assert app.canvas.zoom.level == COMPACT.level
        await pilot.press("0")
        assert app.canvas.zoom is DOTS
        await pilot.press("plus", "plus", "plus", "plus")
        assert app.canvas.zoom is NORMAL


@pytest.mark.parametrize(
    ("size", "zoom", "shown"),
    [
        ((160, 20), NORMAL, "│ Purchases of all customers ├"),
        ((125, 20), NORMAL, "│ Purchases of…l customers ├"),
        ((90, 20), SNUG, "│ ✓ Purcha…tomers ├"),
        ((90, 2), COMPACT, "│✓ Purchas…stomers│"),
    ],
)
async def test_stages_are_as_wide_as_their_names_want_and_there_is_room(size, zoom, shown):
    app = CanvasApp(chain(4, "Purchases of all customers"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: shown in app.text())

        assert app.canvas.zoom.level == zoom.level


async def test_a_drawing_that_was_whole_stays_so_until_its_user_chooses_a_zoom():
    app = CanvasApp(chain(3))
    async with app.run_test(size=(100, 12)) as pilot:
        await until(pilot, lambda: app.canvas.drawing.width < app.canvas.size.width)
        assert app.canvas.zoom is NORMAL

        app.canvas.show_chart(chain(5))
        assert app.canvas.zoom.level == SNUG.level

        await pilot.press("plus")
        app.canvas.show_chart(chain(6))
        assert app.canvas.zoom is NORMAL


async def test_what_is_selected_is_in_view_however_far():
    app = CanvasApp(large(60))
    async with app.run_test(size=(80, 24)) as pilot:
        for stage in ("stage 59", "stage 0", "stage 30"):
            app.canvas.selected = stage
            await pilot.pause()
            assert any(
                app.canvas.find_stage_at(x, y) == stage for y in range(24) for x in range(80)
            )


async def test_panning_moves_the_view_not_the_selection():
    app = CanvasApp(large(60))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("l", "shift+right", "shift+right")

        assert app.canvas.scroll_offset.x == 16
        assert app.canvas.selected is not None


async def test_names_with_any_characters_can_be_drawn():
    names = ("日本語の段階" * 5, "\x1b[31mred", "a\nb", "e\u0301", "")
    app = CanvasApp(Chart(names, (Link(names[0], names[1]),)))
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(3):
            await pilot.press("minus")
            assert "\x1b" not in app.text()
            for y in range(24):
                assert app.canvas.render_line(y).cell_length == app.canvas.size.width


async def test_an_empty_chart_can_be_walked_and_zoomed():
    app = CanvasApp(Chart(()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("l", "h", "j", "k", "enter", "0", "plus", "minus", "full_stop")

        assert app.seen == []
