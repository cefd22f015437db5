"""The overview of a drawing that is larger than the canvas."""

from __future__ import annotations

import pytest
from textual.geometry import Region, Size

from localcdap.tui.canvas.chart import NORMAL
from localcdap.tui.canvas.drawing_view import Minimap
from localcdap.tui.canvas.layout import lay_out
from localcdap.tui.canvas.painter import STYLES
from localcdap.tui.canvas.stage_card import StageCard, StageMark
from tests.tui.canvas.charts import chain, large
from tests.tui.canvas.test_canvas import CanvasApp, until

PLAIN = dict.fromkeys((*STYLES, "ground"))


def draw(chart, view, *, selected=None, wrong=()):
    minimap = Minimap(lay_out(chart, NORMAL), Size(120, 40))
    return [strip.text for strip in minimap.render(view, selected, wrong, PLAIN)]


def test_stages_and_the_part_in_view_are_shown():
    whole = draw(chain(20), Region(0, 0, 100, 10), selected="s0", wrong=["s1", "s10"])
    assert len(whole) == 3  # a row of stages is a row here too
    row = whole[1]
    assert (row[0], row[1], row[-1]) == ("│", "◆", "│")
    assert row.count("✗") == 2
    assert set(row[1:7]) == set("◆✗█")  # what is in view
    assert set(row[7:-1]) == set("▪✗")
    assert all(len(line) <= 38 for line in whole)


def test_a_cell_of_the_overview_stands_for_a_place_in_the_drawing():
    layout = lay_out(chain(20), NORMAL)
    minimap = Minimap(layout, Size(120, 40))
    region = minimap.region
    assert (region.right, region.bottom) == (120, 40)
    first = minimap.find_place(region.x + 1, region.y + 1)
    last = minimap.find_place(region.right - 2, region.y + 1)
    assert first.x < 20
    assert layout.width - 40 < last.x <= layout.width + 20
    assert minimap.find_place(region.x, region.y) is None  # the frame
    assert minimap.find_place(0, 0) is None


@pytest.mark.parametrize(
    ("space", "is_small"), [(Size(30, 20), True), (Size(120, 12), True), (Size(80, 24), False)]
)
def test_a_small_canvas_has_none(space, is_small):
    assert Minimap(lay_out(chain(20), NORMAL), space).is_too_small == is_small


async def test_the_overview_follows_keys_and_mouse_and_can_be_hidden():
    app = CanvasApp(large(200))
    async with app.run_test(size=(120, 40)) as pilot:
        canvas = app.canvas
        await pilot.press("right")
        await until(pilot, lambda: "◆" in app.text())
        before = app.text()
        canvas.show_cards(
            {n: StageCard(n, "P", "", StageMark.WRONG) for n in list(app.chart.nodes)[-1:]}
        )
        await pilot.pause()
        assert ("✗" in before, "✗" in app.text()) == (False, True)
        await pilot.press("shift+down", "shift+right")
        await until(pilot, lambda: app.text().splitlines()[-9:] != before.splitlines()[-9:])
        offset = canvas.scroll_offset
        minimap = canvas._minimap
        await pilot.click(canvas, offset=(minimap.region.right - 3, minimap.region.bottom - 3))
        await until(pilot, lambda: canvas.scroll_offset != offset)
        assert canvas.scroll_offset.x > offset.x
        await pilot.press("M")
        assert "◆" not in app.text()
        await pilot.press("M")
        assert "◆" in app.text()


async def test_a_drawing_that_is_in_view_has_none():
    app = CanvasApp()
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.press("right")
        assert app.canvas._minimap is None
        assert "◆" not in app.text()
