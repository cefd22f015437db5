"""Runs as bars over time."""

from __future__ import annotations

from dataclasses import dataclass

from localcdap.engine.messages.spool import RunStatus
from localcdap.tui.screens.runs.timeline import draw_timeline


@dataclass(frozen=True)
class Drawn:
    pipeline: str
    status: RunStatus
    starting: int
    end: int | None


RUNS = [
    Drawn("sales", RunStatus.RUNNING, 90_000, None),
    Drawn("stock", RunStatus.KILLED, 60_000, 70_000),
    Drawn("sales", RunStatus.FAILED, 40_000, 50_000),
    Drawn("sales", RunStatus.COMPLETED, 0, 20_000),
]


def test_each_run_is_a_bar_whose_character_says_its_state():
    sales, stock, axis = (each.plain for each in draw_timeline(RUNS, 120, 4, 100_000))
    assert sales.startswith("sales ")
    assert stock.startswith("stock ")
    bars = sales[6:].split("10.0 s")[0]
    assert [bars.count(mark) > 0 for mark in "━✗▶■"] == [True, True, True, False]
    assert bars.index("━") < bars.index("✗") < bars.index("▶")
    # 20 s, 10 s and 10 s of 100 s
    assert abs(bars.count("━") - 2 * bars.count("✗")) <= 2
    assert "■" in stock
    assert stock.endswith("10.0 s")
    assert len(axis) <= 120


def test_pipelines_without_a_row_are_counted_and_nothing_is_drawn_without_room():
    assert "1 more" in draw_timeline(RUNS, 80, 1, 100_000)[-1].plain
    assert draw_timeline(RUNS, 20, 4, 100_000) == []
