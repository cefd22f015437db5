"""The list of runs, newest first. It loads more runs when the cursor comes near the end."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from localcdap.runs.history import RunFilter, RunPage, count_records_read
from localcdap.runs.model import Run, get_now
from localcdap.text import format_duration
from localcdap.tui.labels import RUN_MARKS, sanitize_name
from localcdap.tui.log.layout import fit_to_width
from localcdap.tui.studio import StudioNode
from localcdap.tui.textual_internals.strips import mark_line

PAGE: Final = 100
"""The number of runs that are loaded at once."""
_NEAR: Final = 30
"""The distance to the last loaded row, in rows, at which more runs are loaded."""
_TICK_S: Final = 1.0
"""The interval in which the durations of active runs are redrawn, in seconds."""
_STATE, _WHEN, _TOOK, _RECORDS = 13, 12, 12, 12
"""The widths of the columns, in cells."""
_NARROWEST: Final = 15
"""The least width of the names of pipelines, in cells, at which the records have a column."""
_MOST_RELOADED: Final = 1000
"""The most runs that are read again after a change. Older runs do not change any more."""


class RunRow:
    """The fields of a run that the list shows. It is all that the list of thousands of runs keeps."""

    __slots__ = ("end", "pipeline", "position", "records", "run", "starting", "status")

    def __init__(self, run: Run) -> None:
        self.run = run.run
        self.pipeline = run.pipeline
        self.status = run.status
        self.position = run.position
        self.starting = run.starting
        self.end = run.end
        self.records = count_records_read(run.stages)


class RunList(StudioNode, ScrollView, can_focus=True):
    """Shows the filtered runs of a namespace."""

    DEFAULT_CSS = """
    RunList {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        & > .run-list--quiet { color: $foreground 60%; }
        & > .run-list--cursor { background: $boost; }
        &:focus > .run-list--cursor { background: $primary 30%; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"run-list--quiet", "run-list--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "cursor(1)", "down", id="runs.down", show=False),
        Binding("up", "cursor(-1)", "up", id="runs.up", show=False),
        Binding("pagedown", "page(1)", "page down", id="runs.page_down", show=False),
        Binding("pageup", "page(-1)", "page up", id="runs.page_up", show=False),
        Binding("home", "to(0)", "newest", id="runs.first", show=False),
        Binding("end", "to(1_000_000_000)", "oldest", id="runs.last", show=False),
        Binding("enter", "open", "open the run", id="runs.open", show=False),
    ]

    class Highlighted(Message):
        """The cursor is on another run; None when the list is empty."""

        def __init__(self, run_id: str | None) -> None:
            super().__init__()
            self.run_id = run_id

    class Opened(Message):
        """A run was opened."""

        def __init__(self, run_id: str) -> None:
            super().__init__()
            self.run_id = run_id

    class Filled(Message):
        """The runs of the list were read."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: list[RunRow] = []
        self.total = 0
        """The number of filtered runs, loaded or not."""
        self.cursor = 0
        self._namespace = ""
        self._filter = RunFilter()
        self._posted: str | None = None
        """The run of the last :class:`Highlighted`."""
        self._wanted: str | None = None
        """The run that the cursor goes to as soon as the list has it."""
        self._goes_to_end = False
        """Whether the cursor goes to the oldest run, which is not loaded yet."""

    @property
    def run_id(self) -> str | None:
        """The run under the cursor."""
        return self.lines[self.cursor].run if self.cursor < len(self.lines) else None

    def on_mount(self) -> None:
        self.set_interval(_TICK_S, self._tick)

    def show(self, namespace: str, filter: RunFilter) -> None:
        """Show the filtered runs of a namespace, newest first."""
        if namespace != self._namespace:
            self.lines, self.total, self.cursor = [], 0, 0
        if filter != self._filter:
            del self.lines[PAGE:]
        self._namespace, self._filter = namespace, filter
        self.reload()

    def reload(self) -> None:
        """Read the runs again. The cursor stays on its run."""
        namespace, filter = self._namespace, self._filter
        limit = max(PAGE, min(len(self.lines), _MOST_RELOADED))
        self.call(
            lambda cdap: cdap.runs.list_page(namespace, filter, None, limit),
            on_result=self._replace_newest,
            group="page",
        )

    def go_to(self, run_id: str) -> None:
        """Move the cursor to a run, now or as soon as the list has it. Until then :class:`Highlighted` is not
        posted for another run.
        """
        self._wanted = run_id
        self._move_to_run(run_id)

    def action_cursor(self, step: int) -> None:
        self.action_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.action_to(self.cursor + step * max(1, self.size.height - 2))

    def action_to(self, row: int) -> None:
        self._wanted = None
        self._goes_to_end = row >= self.total and len(self.lines) < self.total
        self._move(row)

    def action_open(self) -> None:
        if self.run_id is not None:
            self.post_message(self.Opened(self.run_id))

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if row < len(self.lines):
            self.action_to(row)
            if event.chain == 2:
                self.action_open()

    def on_resize(self) -> None:
        self._lay_out()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value + self.size.height + _NEAR > len(self.lines):
            self._load_more()

    # -- loading -------------------------------------------------------------------------------

    def _replace_newest(self, page: RunPage) -> None:
        current = self.run_id
        self.lines = [RunRow(run) for run in page.runs] + self._find_older(page.runs)
        self.total = page.total
        self._finish_loading(self._wanted or current)

    def _find_older(self, runs: Sequence[Run]) -> list[RunRow]:
        """Return the loaded rows of runs that are older than these and do not change any more."""
        if len(runs) < _MOST_RELOADED:
            return []
        known, oldest = {run.run for run in runs}, runs[-1].starting
        return [line for line in self.lines if line.starting <= oldest and line.run not in known]

    def _load_more(self) -> None:
        if len(self.lines) >= self.total or not self.lines:
            return
        namespace, filter, last = self._namespace, self._filter, self.lines[-1].run
        limit = _MOST_RELOADED if self._goes_to_end else PAGE
        self.call(
            lambda cdap: cdap.runs.list_page(namespace, filter, last, limit),
            on_result=lambda page: self._append(last, page),
            group="page",
        )

    def _append(self, last: str, page: RunPage) -> None:
        if not self.lines or self.lines[-1].run != last:
            return
        self.lines += [RunRow(run) for run in page.runs]
        self.total = page.total if page.runs else len(self.lines)
        self._finish_loading(self._wanted or self.run_id)
        if self._goes_to_end:
            self._move(len(self.lines) - 1)

    def _finish_loading(self, wanted: str | None) -> None:
        self._lay_out()
        self._move_to_run(wanted)
        self.post_message(self.Filled())

    def _move_to_run(self, wanted: str | None) -> None:
        """Move the cursor to a run, or keep it in its row when the list does not have the run."""
        rows = (row for row, line in enumerate(self.lines) if line.run == wanted)
        row = next(rows, None)
        if row is not None and wanted == self._wanted:
            self._wanted = None
        self._move(self.cursor if row is None else row)

    def _move(self, row: int) -> None:
        self.cursor = max(0, min(row, len(self.lines) - 1))
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)
        if self.cursor + _NEAR > len(self.lines):
            self._load_more()
        self.refresh()
        if self._wanted is None and self.run_id != self._posted:
            self._posted = self.run_id
            self.post_message(self.Highlighted(self.run_id))

    def _tick(self) -> None:
        if any(line.end is None for line in self.lines[:PAGE]):
            self.refresh()

    # -- drawing -------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.virtual_size = Size(0, len(self.lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, row = self.scrollable_content_region.width, y + self.scroll_offset.y
        base = self.rich_style
        if row >= len(self.lines):
            return Strip.blank(width, base)
        if row == self.cursor:
            base += Style(bgcolor=self.get_component_rich_style("run-list--cursor").bgcolor)
        quiet = Style(color=self.get_component_rich_style("run-list--quiet").color)
        strip = Strip(self._build_segments(self.lines[row], width, quiet))
        strip = mark_line(strip) if row == self.cursor else strip
        return strip.apply_style(base).adjust_cell_length(width, base)

    def _build_segments(self, line: RunRow, width: int, quiet: Style) -> list[Segment]:
        mark, colour = RUN_MARKS[line.status]
        end = get_now() if line.end is None else line.end
        name_width, has_records = _measure_columns(width)
        state = f"queued {line.position}" if line.position else line.status.lower()
        parts = [
            Segment(f" {mark} {state:{_STATE - 3}}", self._get_colour(colour)),
            Segment(fit_to_width(sanitize_name(line.pipeline), name_width) + " "),
            Segment(f"{format_start_time(line.starting):<{_WHEN}}", quiet),
            Segment(f"{format_duration(line.starting, end):>{_TOOK}}"),
        ]
        if has_records:
            read = "" if line.records is None else f"{line.records:,}"
            parts.append(Segment(f"{read:>{_RECORDS}}", quiet))
        return parts

    def _get_colour(self, name: str) -> Style:
        variable, _, alpha = name.removeprefix("$").partition(" ")
        colour = Color.parse(self.app.theme_variables[variable])
        if alpha:
            share = float(alpha.removesuffix("%")) / 100
            colour = self.background_colors[1].blend(colour, share)
        return Style(color=colour.rich_color)


class RunListHeader(Widget):
    """The header of a list of runs of the same width."""

    DEFAULT_CSS = "RunListHeader { height: 1; color: $foreground 60%; }"

    def render(self) -> str:
        name_width, has_records = _measure_columns(max(1, self.size.width - 1))
        parts = [f" {'state':{_STATE - 1}}{'pipeline':{name_width}} {'started':<{_WHEN}}"]
        parts.append(f"{'duration':>{_TOOK}}")
        return "".join([*parts, f"{'records':>{_RECORDS}}" if has_records else ""])


def _measure_columns(width: int) -> tuple[int, bool]:
    """Return the width of the names, and whether the records have a column."""
    available = width - _STATE - _WHEN - _TOOK - 2
    has_records = available - _RECORDS >= _NARROWEST
    return max(8, available - has_records * _RECORDS), has_records


def format_start_time(milliseconds: int) -> str:
    """Return ``14:03:07`` for today, ``21 Nov 14:03`` for this year, else ``2025-11-21``."""
    moment, today = datetime.datetime.fromtimestamp(milliseconds / 1000), datetime.datetime.now()
    if moment.date() == today.date():
        return f"{moment:%H:%M:%S}"
    return f"{moment:%d %b %H:%M}" if moment.year == today.year else f"{moment:%Y-%m-%d}"
