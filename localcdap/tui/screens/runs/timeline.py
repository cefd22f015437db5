"""The recent runs of each pipeline: bars over a time axis, and a list of pipelines with sparklines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from textual.content import Content
from textual.css.scalar import Unit
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.history import PipelineRuns, RunPoint
from localcdap.runs.model import get_now
from localcdap.runs.statistics.documents import draw_bar
from localcdap.text import format_duration
from localcdap.tui.labels import RUN_MARKS, sanitize_name
from localcdap.tui.lists import StudioOptionList, ValueOption
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


_NO_VALUE: Final = "·"


def draw_sparkline(
    points: Sequence[RunPoint], get_value: Callable[[RunPoint], int | None], width: int
) -> Content:
    """Draw the values of the last runs as bars, one cell for each run.

    A run that did not complete shows the mark of its status instead of a bar.
    """
    shown = points[-width:] if width > 0 else []
    known = [get_value(each) for each in shown if each.status is RunStatus.COMPLETED]
    highest = max((each for each in known if each is not None), default=0)
    parts: list[Content] = []
    for each in shown:
        if each.status is not RunStatus.COMPLETED:
            mark, style = RUN_MARKS[each.status]
            parts.append(Content.styled(mark, style))
        else:
            value = get_value(each)
            bar = _NO_VALUE if value is None else draw_bar(value, highest)
            parts.append(Content.styled(bar, "$primary"))
    return Content("").join([Content(" " * (width - len(shown))), *parts])


def compute_median_duration(points: Sequence[RunPoint]) -> int | None:
    """Return the median duration of the completed runs in milliseconds; None when there are none."""
    known = sorted(
        each.took_ms
        for each in points
        if each.status is RunStatus.COMPLETED and each.took_ms is not None
    )
    return known[len(known) // 2] if known else None


RECENT: Final = 60
"""The most runs of a sparkline."""
_ALL: Final = "all pipelines"
_NAME_SHARE: Final = 0.28
"""The share of the width that the names get."""
_COUNT: Final = 6
_MEDIAN: Final = 13
_BOTH: Final = 28
"""The least width, in cells, that is divided into two sparklines."""
_SHORTEST: Final = 5
"""The least width of a sparkline, in cells."""


class PipelineList(StudioOptionList):
    """Lists the pipelines, and posts :class:`PipelineList.Chosen` to show the runs of one of them."""

    class Chosen(Message):
        """A pipeline was chosen; None stands for all pipelines."""

        def __init__(self, pipeline: str | None) -> None:
            super().__init__()
            self.pipeline = pipeline

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="plain")
        self.pipelines: Sequence[PipelineRuns] = ()
        self._width = 0

    def set_pipelines(self, pipelines: Sequence[PipelineRuns]) -> None:
        """Replace the pipelines. The highlight stays on its pipeline."""
        name = self._highlighted_name
        self.pipelines = pipelines
        self._fill(name)

    def find(self, pipeline: str | None) -> PipelineRuns | None:
        """Return the recent runs of a pipeline; None when it has no runs."""
        return next((each for each in self.pipelines if each.pipeline == pipeline), None)

    def on_resize(self) -> None:
        if self.size.width != self._width:
            self._fill(self._highlighted_name)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option, ValueOption):
            self.post_message(self.Chosen(event.option.value))

    def _fill(self, name: str | None) -> None:
        """:param name: the pipeline to highlight; None keeps the highlight in its row."""
        self._width = self.size.width
        present = self.highlighted
        total = sum(each.count for each in self.pipelines)
        width = max(20, self._width - 2)
        columns = _Columns(width)
        all_of_them = Content.assemble(
            "   ", fit_to_width(_ALL, columns.name), (f"{total:>{_COUNT},}", "$foreground 60%")
        )
        items: list[ValueOption[str | None]] = [ValueOption(all_of_them, None)]
        items += [
            ValueOption(format_pipeline(each, width), each.pipeline) for each in self.pipelines
        ]
        with self.prevent(OptionList.OptionHighlighted):
            self.clear_options()
            self.add_options(items)
            self.highlighted = self._find_row(name) if name else present or 0

    @property
    def _highlighted_name(self) -> str | None:
        """The highlighted pipeline; None for the row of all pipelines."""
        row = self.highlighted
        return self.pipelines[row - 1].pipeline if row else None

    def _find_row(self, pipeline: str) -> int:
        names = [each.pipeline for each in self.pipelines]
        return names.index(pipeline) + 1 if pipeline in names else 0


class PipelineListHeader(Widget):
    """The header with the names of the columns."""

    DEFAULT_CSS = "PipelineListHeader { height: 1; color: $foreground 60%; }"

    def render(self) -> str:
        columns = _Columns(max(20, self.size.width - 2))
        parts = [f"   {'pipeline':{columns.name}}{'runs':>{_COUNT}} "]
        if columns.sparkline:
            parts.append(f"{'durations and median':>{columns.sparkline + _MEDIAN}}")
        if columns.has_records:
            parts.append(f"  {'records':>{columns.sparkline}}")
        return "".join(parts)


class _Columns:
    """The widths of the columns.

    :param width: the width of the list.
    """

    def __init__(self, width: int) -> None:
        self.name: Final = max(10, int(width * _NAME_SHARE))
        available = width - self.name - 3 - _COUNT - 1 - _MEDIAN
        self.has_records: Final = available >= _BOTH
        sparkline = (available - 2) // 2 if self.has_records else available
        self.sparkline: Final = sparkline if sparkline >= _SHORTEST else 0
        """0 when there is no space for one."""


def format_pipeline(runs: PipelineRuns, width: int) -> Content:
    """Return the line of a pipeline.

    It shows the last status, the name, the number of runs, a sparkline and the median of the durations, and
    where there is space a sparkline of the records.
    """
    columns = _Columns(width)
    mark, style = RUN_MARKS[runs.recent[-1].status] if runs.recent else (" ", "")
    usual = compute_median_duration(runs.recent)
    parts: list[Content | str | tuple[str, str]] = [
        (f" {mark} ", style),
        fit_to_width(sanitize_name(runs.pipeline), columns.name),
        (f"{runs.count:>{_COUNT},} ", "$foreground 60%"),
    ]
    if columns.sparkline:
        median = "" if usual is None else format_duration(0, usual)
        parts += [
            draw_sparkline(runs.recent, lambda point: point.took_ms, columns.sparkline),
            f"{median:>{_MEDIAN}}",
        ]
    if columns.has_records:
        parts += ["  ", draw_sparkline(runs.recent, lambda point: point.records, columns.sparkline)]
    return Content.assemble(*parts)
