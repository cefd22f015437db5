"""The records of a run on the connections."""

from __future__ import annotations

from localcdap.runs.model import StageCounts
from localcdap.tui.canvas.chart import NORMAL, Chart, Link, Port, PortKind
from localcdap.tui.canvas.drawing_view import MARKER, RecordFlow
from localcdap.tui.canvas.layout import lay_out
from tests.tui.canvas.test_canvas import CHART, CanvasApp

ERRORS = Link("a", "c", Port(PortKind.ERRORS, "errors"))


def drawn(marks):
    """The characters by row, from left to right."""
    rows = {}
    for (_, y), character in sorted(marks.items()):
        rows[y] = rows.get(y, "") + character
    return rows


def test_markers_move_away_from_a_stage_while_its_count_grows():
    flow = RecordFlow(lay_out(Chart(("a", "b"), (Link("a", "b"),)), NORMAL))
    flow.update({"a": StageCounts(0, 0, 0), "b": StageCounts()}, now=10.0)
    assert not flow.is_moving(10.0)
    assert flow.build_marks(0, 10.0) == {}

    flow.update({"a": StageCounts(0, 5, 0), "b": StageCounts()}, now=11.0)
    assert flow.is_moving(11.5)
    places = [
        min(x for (x, _), mark in flow.build_marks(step, 11.5).items() if mark == MARKER)
        for step in (1, 2)
    ]
    assert places[1] == places[0] + 1
    assert not flow.is_moving(13.5)  # nothing came for a while
    assert MARKER not in flow.build_marks(2, 13.5).values()


def test_each_connection_shows_the_records_that_it_carried():
    chart = Chart(("a", "b", "c", "d"), (Link("a", "b"), Link("b", "d"), ERRORS))
    flow = RecordFlow(lay_out(chart, NORMAL))
    counts = {"a": StageCounts(0, 42, 7), "b": StageCounts(42, 0, 0), "c": StageCounts(7, 7, 0)}
    flow.update(counts, now=0.0)
    shown = " ".join(drawn(flow.build_marks(0, 100.0)).values())
    assert "42" in shown
    assert MARKER not in shown


async def test_the_canvas_draws_the_flow_and_stops_with_it(monkeypatch):
    app = CanvasApp(CHART)
    async with app.run_test(size=(100, 24)) as pilot:
        app.animation_level = "full"
        await pilot.pause()
        app.canvas.show_flow({"a": StageCounts(0, 3, 0)})
        await pilot.pause()
        assert MARKER in app.text()
        monkeypatch.setattr("localcdap.tui.canvas.drawing_view._MOVING_S", 0.0)
        app.canvas._move_flow()
        await pilot.pause()
        assert MARKER not in app.text()
        assert app.canvas._flow_timer is None
        app.canvas.show_flow(None)
        await pilot.pause()
        assert app.canvas._get_painter().marks == {}
