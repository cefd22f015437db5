"""The progress of a run, updated in place on a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final, Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import Run, describe_state
from localcdap.text import format_size, sanitize_for_terminal

_REFRESHES: Final = 8
"""Frames of the spinner per second. The counts change at most four times a second."""


class ProgressDisplay:
    """A live table of stages and counts on stderr. It disappears when it is closed.

    :param earlier_s: the seconds that an earlier run of the pipeline took; None when there is none.
    """

    def __init__(self, earlier_s: float | None = None) -> None:
        self._earlier_s = earlier_s
        self._live = Live(
            console=Console(stderr=True), transient=True, refresh_per_second=_REFRESHES
        )
        self._since = time.monotonic()
        self._queued_s = 0.0
        self._spinner: Final = Spinner("dots")

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._live.__exit__(*error)

    def show(self, run: Run) -> None:
        """Draw the current state of the run."""
        grid = Table.grid()
        # The spinner is reused: a new one would start again at its first frame.
        seconds = time.monotonic() - self._since
        if run.position:
            self._queued_s = seconds
        headline = format_headline(run, seconds, self._earlier_s, self._queued_s)
        self._spinner.update(
            text=Text(
                sanitize_for_terminal(headline),
                no_wrap=True,
                overflow="ellipsis",
            )
        )
        grid.add_row(self._spinner)
        grid.add_row(build_stage_table(run))
        self._live.update(grid)


def format_headline(
    run: Run, seconds: float, earlier_s: float | None = None, queued_s: float = 0.0
) -> str:
    """Return a line such as ``sales running 12 s, about 8 s left, 3 of 12 tasks, 45 MB read, 900 records/s``.

    :param seconds: the time since the run was asked for.
    :param earlier_s: the seconds that an earlier run of the pipeline took.
    :param queued_s: the seconds for which the run has waited in the queue.
    """
    if run.position:
        return f"{run.pipeline} {describe_state(run)}, {seconds:.0f} s"
    parts = [f"{run.pipeline} {run.status.lower()} {seconds:.0f} s"]
    if earlier_s is not None:
        left = earlier_s - (seconds - queued_s)
        parts.append(f"about {left:.0f} s left" if left >= 1 else f"{earlier_s:.0f} s last time")
    if run.progress is not None:
        if run.progress.tasks:
            parts.append(f"{run.progress.tasks_done:,} of {run.progress.tasks:,} tasks")
        if run.progress.bytes_read:
            parts.append(f"{format_size(run.progress.bytes_read)} read")
        rate = _measure_rate(run, seconds)
        if rate:
            parts.append(f"{rate:,} records/s")
    return ", ".join(parts)


def _measure_rate(run: Run, seconds: float) -> int:
    """Return the records a second of the stage that has had most records so far; 0 when it is not known."""
    counts = [run.get_latest_counts(stage) for stage in run.stages]
    most = max((max(each.records_in or 0, each.records_out or 0) for each in counts), default=0)
    running = seconds - ((run.start or run.starting) - run.starting) / 1000
    return round(most / running) if running >= 1 else 0


def get_earlier_seconds(runs: Sequence[Run]) -> float | None:
    """Return the seconds that the newest completed run took; None without one.

    :param runs: newest first.
    """
    done = (each for each in runs if each.status is RunStatus.COMPLETED and each.end is not None)
    newest = next(done, None)
    return None if newest is None else ((newest.end or 0) - newest.starting) / 1000


def build_stage_table(run: Run) -> Table:
    """Return the table of the counts of all stages, at most as wide as the terminal."""
    grid = Table(box=None, pad_edge=False)
    # Rich narrows the columns that it may wrap first: the names get shorter, not the numbers.
    grid.add_column("stage")
    for name in ("in", "out", "errors"):
        grid.add_column(name, justify="right", no_wrap=True)
    for name in run.stages:
        counts = run.get_latest_counts(name)
        numbers = (counts.records_in, counts.records_out, counts.errors)
        # A Text, because rich would interpret markup in a name.
        grid.add_row(
            Text(sanitize_for_terminal(name, single_line=True), no_wrap=True, overflow="ellipsis"),
            *("" if n is None else f"{n:,}" for n in numbers),
        )
    return grid
