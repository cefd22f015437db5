"""What is drawn of a run while it goes on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from localcdap.cli.output import is_terminal
from localcdap.cli.runs.progress import (
    build_stage_table,
    format_headline,
    get_earlier_seconds,
)
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import Run, RunProgress, StageCounts


def run(stages, so_far=None, tasks: tuple[int, int, int] = (0, 0, 0)):
    going = None if so_far is None else RunProgress(*tasks, so_far)
    return Run(
        run="r",
        namespace="default",
        pipeline="sales",
        status=RunStatus.RUNNING,
        arguments={},
        profile="native",
        starting=0,
        start=0,
        end=None,
        stages=stages,
        error=None,
        version=1,
        progress=going,
    )


def test_exact_counts_win_over_those_so_far():
    so_far = {"a": StageCounts(1, 2, 3)}
    exact = StageCounts(10, 20, 30)

    assert run({"a": StageCounts()}, so_far).get_latest_counts("a") == so_far["a"]
    assert run({"a": exact}, so_far).get_latest_counts("a") == exact
    assert run({"a": StageCounts()}).get_latest_counts("a") == StageCounts()
    assert run({"b": StageCounts()}, so_far).get_latest_counts("b") == StageCounts()


def test_the_headline_shows_what_is_known():
    assert format_headline(run({}), 3.6) == "sales running 4 s"
    assert format_headline(run({}, {}, (3, 12, 0)), 0) == "sales running 0 s, 3 of 12 tasks"
    assert format_headline(run({}, {}, (3, 12, 45_000_000)), 0).endswith(", 45 MB read")


def test_the_headline_estimates_what_is_left_and_measures_the_rate():
    assert format_headline(run({}), 12, 20.4) == "sales running 12 s, about 8 s left"
    assert format_headline(run({}), 21, 20.4) == "sales running 21 s, 20 s last time"
    going = run({"a": StageCounts(), "b": StageCounts(0, 30_000, 0)}, {"a": StageCounts(9, 8, 0)})
    going.start = 2000  # after 2 s
    assert format_headline(going, 12) == "sales running 12 s, 3,000 records/s"
    assert format_headline(going, 2.5) == "sales running 2 s"


def test_the_headline_of_a_run_that_waits_has_its_position():
    waits = run({})
    waits.status, waits.position = RunStatus.PENDING, 3
    assert format_headline(waits, 12, 20.4) == "sales queued, position 3, 12 s"
    assert format_headline(run({}), 22, 20.4, 10) == "sales running 22 s, about 8 s left"


def test_the_newest_completed_run_is_the_estimate():
    failed, done, older = run({}), run({}), run({})
    failed.status, failed.end = RunStatus.FAILED, 1000
    done.status, done.end = RunStatus.COMPLETED, 7500
    older.status, older.end = RunStatus.COMPLETED, 9000
    assert get_earlier_seconds([run({}), failed, done, older]) == 7.5
    assert get_earlier_seconds([run({}), failed]) is None


@pytest.mark.parametrize("width", [40, 80])
def test_long_names_are_cut_to_the_terminal(width):
    screen = io.StringIO()
    name = "[bold]a name[/] " * 10

    drawn = build_stage_table(run({name: StageCounts()}, {name: StageCounts(1_000_000, 2, 0)}))
    Console(file=screen, width=width).print(drawn)

    lines = screen.getvalue().splitlines()
    assert len(lines) == 2
    assert all(len(line) <= width for line in lines)
    assert lines[1].startswith("[bold]")
    assert "1,000,000" in lines[1]


@pytest.mark.parametrize(("term", "drawn"), [("xterm", True), ("dumb", False), ("", False)])
def test_nothing_is_drawn_on_a_typewriter(monkeypatch, term, drawn):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stderr", type("Terminal", (), {"isatty": lambda self: True})())
    assert is_terminal() is drawn
