"""The progress of a run, drawn in place on a terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from localcdap.cli.output import size
from localcdap.runs.model import Run, StageCounts

_REFRESHES: Final = 8
"""Per second, of the spinner; the numbers change four times a second at the most."""


class ProgressDisplay:
    """A live table of stages and counts on stderr; it disappears when it is closed."""

    def __init__(self) -> None:
        self._live = Live(
            console=Console(stderr=True), transient=True, refresh_per_second=_REFRESHES
        )
        self._since = time.monotonic()
        self._spinner: Final = Spinner("dots")

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, run: Run) -> None:
        """Draw the run as it stands."""
        whole = Table.grid()
        # One spinner all the time: a new one would begin with its first picture again.
        seconds = time.monotonic() - self._since
        self._spinner.update(
            text=Text(format_headline(run, seconds), no_wrap=True, overflow="ellipsis")
        )
        whole.add_row(self._spinner)
        whole.add_row(build_stage_table(run))
        self._live.update(whole)


def format_headline(run: Run, seconds: float) -> str:
    """``sales running 12 s, 3 of 12 tasks, 45 MB read``."""
    parts = [f"{run.pipeline} {run.status.lower()} {seconds:.0f} s"]
    if run.progress is not None:
        if run.progress.tasks:
            parts.append(f"{run.progress.tasks_done:,} of {run.progress.tasks:,} tasks")
        if run.progress.bytes_read:
            parts.append(f"{size(run.progress.bytes_read)} read")
    return ", ".join(parts)


def get_latest_counts(run: Run, stage: str) -> StageCounts:
    """The counts of a stage: exact ones where there are, else those so far."""
    exact = run.stages[stage]
    if exact.records_out is None and run.progress is not None:
        return run.progress.stages.get(stage, exact)
    return exact


def build_stage_table(run: Run) -> Table:
    """The counts of all stages, as wide as the terminal at the most."""
    grid = Table(box=None, pad_edge=False)
    # Rich first narrows the columns that it may wrap: the names shall give way, not the numbers.
    grid.add_column("stage")
    for name in ("in", "out", "errors"):
        grid.add_column(name, justify="right", no_wrap=True)
    for name in run.stages:
        counts = get_latest_counts(run, name)
        numbers = (counts.records_in, counts.records_out, counts.errors)
        # As text: a name may hold what rich takes for markup.
        grid.add_row(
            Text(name, no_wrap=True, overflow="ellipsis"),
            *("" if n is None else f"{n:,}" for n in numbers),
        )
    return grid
