"""The progress of a run, drawn in place on a terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from localcdap.runs.model import Run


class Progress:
    """A live table of stages and counts on stderr; it disappears when it is closed."""

    def __init__(self) -> None:
        self._live = Live(console=Console(stderr=True), transient=True, refresh_per_second=8)
        self._since = time.monotonic()

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
        grid = Table(box=None, pad_edge=False)
        for name in ("stage", "in", "out", "errors"):
            grid.add_column(name, justify="left" if name == "stage" else "right")
        for name, counts in run.stages.items():
            numbers = (counts.records_in, counts.records_out, counts.errors)
            grid.add_row(name, *("" if n is None else f"{n:,}" for n in numbers))
        whole = Table.grid()
        seconds = time.monotonic() - self._since
        whole.add_row(Spinner("dots", f"{run.pipeline} {run.status.lower()} {seconds:.0f} s"))
        whole.add_row(grid)
        self._live.update(whole)
