"""Curves of one row: the last runs of a pipeline, one column for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.history import PipelineRuns, RunPoint
from localcdap.text import format_duration
from localcdap.tui.labels import RUN_MARKS
from localcdap.tui.lists.options import StudioOptionList, ValueOption
from localcdap.tui.log.layout import fit_to_width, sanitize_name

_BARS: Final = "▁▂▃▄▅▆▇█"
_NO_VALUE: Final = "·"

Value = Callable[[RunPoint], int | None]


def get_duration(point: RunPoint) -> int | None:
    """Milliseconds."""
    return point.took_ms


def get_records(point: RunPoint) -> int | None:
    """Records that were read."""
    return point.records


def draw_sparkline(points: Sequence[RunPoint], value: Value, width: int) -> Content:
    """The last values as bars from 0 on; a run that did not complete shows the sign of its state instead."""
    shown = points[-width:] if width > 0 else []
    known = [value(each) for each in shown if each.status is RunStatus.COMPLETED]
    highest = max((each for each in known if each is not None), default=0)
    parts: list[Content] = []
    for each in shown:
        if each.status is not RunStatus.COMPLETED:
            mark, style = RUN_MARKS[each.status]
            parts.append(Content.styled(mark, style))
        else:
            parts.append(Content.styled(_bar(value(each), highest), "$primary"))
    return Content("").join([Content(" " * (width - len(shown))), *parts])


def _bar(value: int | None, highest: int) -> str:
    if value is None:
        return _NO_VALUE
    step = round(value / highest * (len(_BARS) - 1)) if highest else 0
    return _BARS[step]


def compute_median_duration(points: Sequence[RunPoint]) -> int | None:
    """The median duration of the completed runs in milliseconds; None where there are none."""
    known = sorted(
        each.took_ms
        for each in points
        if each.status is RunStatus.COMPLETED and each.took_ms is not None
    )
    return known[len(known) // 2] if known else None


RECENT: Final = 60
"""Runs that a curve is made of at most."""
_ALL: Final = "all pipelines"
_NAME_SHARE: Final = 0.28
_COUNT: Final = 6
_MEDIAN: Final = 13
_BOTH: Final = 28
"""Columns from which on there is room for two curves."""
_SHORTEST: Final = 5
"""Columns of a curve that still says something."""


class PipelineList(StudioOptionList):
    """Posts :class:`PipelineList.Chosen` for the pipeline whose runs are wanted."""

    class Chosen(Message):
        """The runs of one pipeline are wanted; None for those of all."""

        def __init__(self, pipeline: str | None) -> None:
            super().__init__()
            self.pipeline = pipeline

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="plain")
        self.pipelines: Sequence[PipelineRuns] = ()
        self._width = 0

    def put(self, pipelines: Sequence[PipelineRuns]) -> None:
        """Show these; the highlight stays on its pipeline."""
        name = self._highlighted_name
        self.pipelines = pipelines
        self._fill(name)

    def find(self, pipeline: str | None) -> PipelineRuns | None:
        """What is known of the runs of a pipeline."""
        return next((each for each in self.pipelines if each.pipeline == pipeline), None)

    def on_resize(self) -> None:
        if self.size.width != self._width:
            self._fill(self._highlighted_name)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option, ValueOption):
            self.post_message(self.Chosen(event.option.value))

    def _fill(self, name: str | None) -> None:
        """:param name: of the pipeline that the highlight shall be on; None to leave it in its row."""
        self._width = self.size.width
        present = self.highlighted
        total = sum(each.count for each in self.pipelines)
        width = max(20, self._width - 2)
        columns = _Columns(width)
        all_of_them = Content.assemble(
            "   ", fit_to_width(_ALL, columns.name), (f"{total:>{_COUNT},}", "$foreground 60%")
        )
        items: list[ValueOption[str | None]] = [ValueOption(all_of_them, None)]
        items += [ValueOption(pipeline_line(each, width), each.pipeline) for each in self.pipelines]
        with self.prevent(OptionList.OptionHighlighted):
            self.clear_options()
            self.add_options(items)
            self.highlighted = self._row(name) if name else present or 0

    @property
    def _highlighted_name(self) -> str | None:
        """The pipeline that the highlight is on; None on the row of all."""
        row = self.highlighted
        return self.pipelines[row - 1].pipeline if row else None

    def _row(self, pipeline: str) -> int:
        names = [each.pipeline for each in self.pipelines]
        return names.index(pipeline) + 1 if pipeline in names else 0


class PipelineListHeader(Widget):
    """The names of the columns above the list."""

    DEFAULT_CSS = "PipelineListHeader { height: 1; color: $foreground 60%; }"

    def render(self) -> str:
        columns = _Columns(max(20, self.size.width - 2))
        parts = [f"   {'pipeline':{columns.name}}{'runs':>{_COUNT}} "]
        if columns.sparkline:
            parts.append(f"{'took':>{columns.sparkline}}{'usually':>{_MEDIAN}}")
        if columns.has_records:
            parts.append(f"  {'records':>{columns.sparkline}}")
        return "".join(parts)


class _Columns:
    """How wide the columns are.

    :param width: of all.
    """

    def __init__(self, width: int) -> None:
        self.name: Final = max(10, int(width * _NAME_SHARE))
        room = width - self.name - 3 - _COUNT - 1 - _MEDIAN
        self.has_records: Final = room >= _BOTH
        sparkline = (room - 2) // 2 if self.has_records else room
        self.sparkline: Final = sparkline if sparkline >= _SHORTEST else 0
        """0 where there is no room for one."""


def pipeline_line(runs: PipelineRuns, width: int) -> Content:
    """Its last state, its name, how many runs, the curve of their durations, the usual one, and, where there
    is room, the curve of the records.
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
            draw_sparkline(runs.recent, get_duration, columns.sparkline),
            f"{median:>{_MEDIAN}}",
        ]
    if columns.has_records:
        parts += ["  ", draw_sparkline(runs.recent, get_records, columns.sparkline)]
    return Content.assemble(*parts)
