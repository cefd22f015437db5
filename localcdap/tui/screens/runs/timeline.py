"""The recent runs of each pipeline as bars over a time axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from textual.content import Content
from textual.css.scalar import Unit
from textual.widgets import Static

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import get_now
from localcdap.text import format_duration
from localcdap.tui.labels import RUN_MARKS, sanitize_name
from localcdap.tui.log.layout import fit_to_width
from localcdap.tui.screens.runs.run_list import format_start_time

_RUNS: Final = 40
"""The most runs that are drawn: with more, a long time would leave no width for any of them."""
_TOOK: Final = 12
"""The width of the duration of the newest run, in cells, with a space before it."""
_LEAST_AXIS: Final = 12
"""The least width of the axis, in cells, at which anything is drawn."""
_BARS: Final = {RunStatus.COMPLETED: "━"}
"""The characters of bars; those of other statuses are their marks, so that they differ without colour."""


class DrawnRun(Protocol):
    """What is drawn of a run."""

    @property
    def pipeline(self) -> str: ...

    @property
    def status(self) -> RunStatus: ...

    @property
    def starting(self) -> int:
        """Milliseconds since 1970."""

    @property
    def end(self) -> int | None: ...


class RunTimeline(Static):
    """Shows runs as bars, one line for each pipeline. It is hidden while there are no runs."""

    DEFAULT_CSS = "RunTimeline { height: auto; display: none; padding: 0 1; }"

    def __init__(self, *, most_rows: int = 4, id: str | None = None) -> None:
        super().__init__(id=id)
        self._most_rows = most_rows
        self._runs: Sequence[DrawnRun] = ()

    def on_resize(self) -> None:
        self._draw()

    def show_runs(self, runs: Iterable[DrawnRun]) -> None:
        """Show runs, newest first; those beyond the newest :data:`_RUNS` are left out."""
        self._runs = list(runs)[:_RUNS]
        self.display = bool(self._runs)
        self._draw()

    def _draw(self) -> None:
        if self._runs and self.size.width:
            lines = draw_timeline(self._runs, self.size.width, self._count_rows(), get_now())
            self.update(Content("\n").join(lines))

    def _count_rows(self) -> int:
        """Return the most lines of pipelines that leave one for the axis, which counts the others."""
        limit = self.styles.max_height
        if limit is None or limit.unit is not Unit.CELLS:
            return self._most_rows
        return max(1, min(self._most_rows, int(limit.value) - 1))


def draw_timeline(runs: Sequence[DrawnRun], width: int, most_rows: int, now: int) -> list[Content]:
    """Return a line for each pipeline and one for the axis; empty when the width does not suffice.

    :param runs: newest first, at least one.
    :param width: in cells.
    :param most_rows: the most lines of pipelines.
    :param now: milliseconds since 1970.
    """
    names = list(dict.fromkeys(run.pipeline for run in runs))
    shown = names[:most_rows]
    name_width = min(max(len(sanitize_name(name)) for name in shown), max(8, width // 4)) + 1
    axis = width - name_width - _TOOK
    if axis < _LEAST_AXIS:
        return []
    begin = min(run.starting for run in runs)
    end = max(now if run.end is None else run.end for run in runs)
    span = max(end - begin, 1)
    lines = []
    for name in shown:
        own = [run for run in runs if run.pipeline == name]
        cells: list[tuple[str, str]] = [("·", "$foreground 20%")] * axis
        for run in reversed(own):
            first, last = (
                (moment - begin) * (axis - 1) // span
                for moment in (run.starting, now if run.end is None else run.end)
            )
            mark, style = RUN_MARKS[run.status]
            for x in range(first, max(first, last) + 1):
                cells[x] = (_BARS.get(run.status, mark), style)
        newest = own[0]
        took = format_duration(newest.starting, now if newest.end is None else newest.end)
        title = fit_to_width(sanitize_name(name), name_width - 1) + " "
        lines.append(Content.assemble(title, *cells, f"{took:>{_TOOK}}"))
    hidden = len(names) - len(shown)
    lines.append(_draw_axis(begin, end, name_width, axis, f"{hidden} more" if hidden else ""))
    return lines


def _draw_axis(begin: int, end: int, left: int, width: int, note: str) -> Content:
    first, last = format_start_time(begin), format_start_time(end)
    space = " " * max(1, width - len(first) - len(last))
    return Content.styled(f"{note:<{left}}{first}{space}{last}", "$foreground 60%")
