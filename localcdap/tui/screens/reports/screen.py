"""The reports screen: timeline, calendar, pipelines, failures and slow stages of a window of time."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import ClassVar, Final

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from localcdap.host.cdap import Cdap
from localcdap.runs.model import get_now
from localcdap.runs.statistics.documents import (
    ENDINGS,
    draw_bars,
    format_document,
    format_rate,
    format_stage_time,
)
from localcdap.runs.statistics.model import (
    AlertingStage,
    DayTotals,
    FailureReason,
    OverviewRequest,
    PipelineOverview,
    RunOverview,
    SlowStage,
)
from localcdap.schedules.model import PlannedTime
from localcdap.text import format_duration, plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.labels import MUTED, RUN_MARKS, sanitize_lines, sanitize_name
from localcdap.tui.lists import StudioOptionList, ValueOption, watch_topics
from localcdap.tui.log.layout import fit_to_width
from localcdap.tui.routes import RunHistoryTarget, RunTarget
from localcdap.tui.screens.runs.timeline import RunTimeline
from localcdap.tui.studio import Choice

POINTS: Final = 20
"""The parts of the window in each chart of a pipeline, one cell each."""
_RUNS: Final = 6
_RATE: Final = 8
_MEDIAN: Final = 12
_RECORDS: Final = 8
_LEAST_NAME: Final = 12
_GOOD: Final = 0.95


class PipelineColumns:
    """The widths of the columns of pipelines; charts that have no space are left out.

    :param width: that of the list, in cells.
    """

    def __init__(self, width: int) -> None:
        rest = width - 3 - _RUNS - _RATE - _MEDIAN
        self.has_durations: Final = rest - POINTS - 1 >= _LEAST_NAME
        rest -= POINTS + 1 if self.has_durations else 0
        self.has_records: Final = rest - POINTS - _RECORDS - 2 >= _LEAST_NAME
        rest -= POINTS + _RECORDS + 2 if self.has_records else 0
        self.name: Final = max(_LEAST_NAME, rest)

    def format_header(self) -> str:
        """Return the names of the columns."""
        parts = [
            f"   {'pipeline':{self.name}}{'runs':>{_RUNS}}{'success':>{_RATE}}{'median':>{_MEDIAN}}"
        ]
        if self.has_durations:
            parts.append(f" {'durations':{POINTS}}")
        if self.has_records:
            parts.append(f"{'records':>{_RECORDS}}  {'over time':{POINTS}}")
        return "".join(parts)

    def format_line(self, each: PipelineOverview) -> Content:
        """Return the line of a pipeline."""
        mark, style = RUN_MARKS[each.status]
        median = "" if each.median_ms is None else format_duration(0, each.median_ms)
        parts: list[str | tuple[str, str]] = [
            (f" {mark} ", style),
            fit_to_width(sanitize_name(each.pipeline), self.name),
            (f"{each.runs:>{_RUNS},}", MUTED),
            (f"{format_rate(each.success_rate):>{_RATE}}", get_rate_style(each.success_rate)),
            f"{median:>{_MEDIAN}}",
        ]
        if self.has_durations:
            values = [point.median_ms if point is not None else None for point in each.points]
            parts += [" ", (draw_bars(values), "$primary")]
        if self.has_records:
            values = [point.records if point is not None else None for point in each.points]
            records = "" if each.records is None else _shorten(each.records)
            parts += [(f"{records:>{_RECORDS}}  ", MUTED), (draw_bars(values), "$secondary")]
        return Content.assemble(*parts)


def get_rate_style(rate: float | None) -> str:
    """Return the style of a success rate."""
    if rate is None:
        return MUTED
    return "$success" if rate == 1 else "$warning" if rate >= _GOOD else "$error"


def format_title(overview: RunOverview | None, window: str, namespace: str) -> Content:
    """Return the line above everything: the window and its totals."""
    parts: list[str | tuple[str, str]] = [
        (f"{window}", "bold"),
        (f"  namespace {sanitize_name(namespace)}", MUTED),
    ]
    if overview is not None:
        totals = overview.totals
        parts.append(f"  {plural(totals.runs, 'run')}")
        if totals.failed:
            parts.append((f"  ✗ {totals.failed:,} failed", "$error"))
        if totals.active:
            parts.append((f"  ▶ {totals.active:,} active", "$primary"))
        rate = totals.success_rate
        if rate is not None:
            parts.append((f"  success {format_rate(rate)}", get_rate_style(rate)))
    return Content.assemble(*parts)


def format_failure(each: FailureReason, width: int) -> Content:
    """Return the two lines of a reason: what and how often, and where it happened last."""
    count = f"{each.runs:,}"
    where = sanitize_name(f"{each.pipeline} › {each.stage}" if each.stage else each.pipeline)
    message = (each.message or "").removeprefix(f"Stage '{each.stage}': ")
    message = sanitize_lines(message).partition("\n")[0]
    first = fit_to_width(f"✗ {each.reason}", max(8, width - len(count) - 1))
    return Content.assemble(
        (first, "$error"),
        (f" {count}", "bold"),
        ("\n" + fit_to_width(f"  {where}: {message}", width), MUTED),
    )


def format_stage(each: SlowStage, width: int) -> Content:
    """Return the line of a slow stage."""
    took = format_stage_time(each.average_ms)
    name = sanitize_name(f"{each.pipeline} › {each.stage}")
    return Content.assemble(
        fit_to_width(f"  {name}", max(8, width - len(took) - 1)), (f" {took}", "bold")
    )


def format_planned(each: PlannedTime, width: int) -> Content:
    """Return the line of a run that a schedule will start, with the time in the zone of this machine."""
    when = f"{datetime.datetime.fromtimestamp(each.time / 1000).astimezone():%a %Y-%m-%d %H:%M}"
    name = sanitize_name(f"{each.application} › {each.schedule}")
    return Content.assemble(
        fit_to_width(f"  {name}", max(8, width - len(when) - 1)), (f" {when}", MUTED)
    )


def format_alerts(each: AlertingStage, width: int) -> Content:
    """Return the line of a stage that has emitted alerts."""
    count = f"{each.alerts:,}"
    name = sanitize_name(f"{each.pipeline} › {each.stage}")
    return Content.assemble(
        fit_to_width(f"! {name}", max(8, width - len(count) - 1)), (f" {count}", "bold")
    )


def _shorten(number: int) -> str:
    """Return a number in at most five characters: 950, 12 k, 3.4 M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            amount = number / size
            return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
    return str(number)


_WEEKDAYS: Final = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_LABEL: Final = 7
_CELL: Final = 5
_MOST_WEEKS: Final = 9
"""The most weeks that are shown, the last ones: with more, the failures below would leave the screen."""


def draw_calendar(days: Sequence[DayTotals]) -> Content:
    """Return a line for each week, with the number of runs of each day.

    A day with failures is red and has a ``✗``, which shows it without colour; a future or earlier day is
    blank, and one without runs is a dot.
    """
    by_day = {each.day: each for each in days}
    dates = [datetime.date.fromisoformat(each.day) for each in days]
    first = dates[0] - datetime.timedelta(days=dates[0].weekday())
    weeks = (dates[-1] - first).days // 7 + 1
    lines = [
        Content.styled(" " * _LABEL + "".join(f"{each:>{_CELL}}" for each in _WEEKDAYS), MUTED)
    ]
    for week in range(max(0, weeks - _MOST_WEEKS), weeks):
        begin = first + datetime.timedelta(weeks=week)
        cells = [
            _draw_day(by_day.get((begin + datetime.timedelta(days=each)).isoformat()))
            for each in range(7)
        ]
        label = Content.styled(f"{begin:%d %b} ".ljust(_LABEL), MUTED)
        lines.append(Content("").join([label, *cells]))
    return Content("\n").join(lines)


def _draw_day(day: DayTotals | None) -> Content:
    if day is None:
        return Content(" " * _CELL)
    if not day.runs:
        return Content.styled("·".rjust(_CELL), "$foreground 20%")
    count = f"{day.runs}" if day.runs < 1000 else f"{day.runs // 1000}k"
    if day.failed:
        return Content.styled(f"✗{count}".rjust(_CELL), "$error")
    return Content.styled(count.rjust(_CELL), "$success" if day.completed else "$foreground")


_HOUR_MS: Final = 3_600_000
_WEEK_MS: Final = 7 * 24 * _HOUR_MS
_PLANNED: Final = 5
"""The planned runs that are shown."""
_WINDOWS: Final = {
    "last 24 hours": 24,
    "last 7 days": 7 * 24,
    "last 30 days": 30 * 24,
    "last 90 days": 90 * 24,
    "last year": 365 * 24,
}
_USUAL: Final = "last 7 days"
_PANEL: Final = 46
"""The width of the texts of the panel."""
_NEEDS_RUNS: Final = ("export", "open_run", "history")
_FORMATS: Final = {
    "Web page, which prints well": ".html",
    "Markdown": ".md",
    "CSV, a line for each pipeline": ".csv",
}


class ReportsScreen(AreaScreen):
    """Shows what ran in a window of time, how long it took, and why it failed."""

    AREA = "reports"
    CSS_PATH = "reports.tcss"
    AUTO_FOCUS = "#reports-pipelines"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "window", "other days", id="reports.window"),
        Binding("o", "open_run", "open the run", id="reports.open"),
        Binding("p", "history", "runs of the pipeline", id="reports.history"),
        Binding("x", "export", "export", id="reports.export"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.overview: RunOverview | None = None
        """What is shown; None before it was read."""
        self._window = _USUAL

    def compose_body(self) -> ComposeResult:
        yield Static(id="reports-title")
        with Horizontal(id="reports-body"):
            with Vertical(id="reports-left"):
                yield RunTimeline(most_rows=6, id="reports-timeline")
                yield Static(id="reports-heading")
                yield StudioOptionList(
                    id="reports-pipelines", classes="plain", verb="open the newest run"
                )
            with VerticalScroll(id="reports-panel", can_focus=False):
                yield Static(id="reports-calendar")
                yield Static(id="reports-planned")
                yield Static("failures by reason", id="reports-why")
                yield StudioOptionList(
                    id="reports-failures", classes="plain", verb="open the newest run"
                )
                yield Static(id="reports-stages")
        yield Static(id="reports-empty")

    def on_mount(self) -> None:
        self.follow(watch_topics("runs"), lambda _: self._load())

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._show)

    def show_namespace(self, namespace: str) -> None:
        self._load()

    def _load(self) -> None:
        namespace, hours = self.studio.namespace, _WINDOWS[self._window]

        def read(cdap: Cdap) -> RunOverview:
            end = get_now() + 1
            window = OverviewRequest([namespace], end - hours * _HOUR_MS, end, points=POINTS)
            return cdap.statistics.read_overview(window)

        self.call(read, on_result=self._take, group="overview")
        self.call(
            lambda cdap: cdap.schedules.list_planned(
                namespace, get_now() + _WEEK_MS, limit=_PLANNED
            ),
            on_result=self._show_planned,
            group="planned",
        )

    def _show_planned(self, planned: Sequence[PlannedTime]) -> None:
        """Show the runs that schedules will start next, under the calendar of those that were."""
        shown = self.query_one("#reports-planned", Static)
        shown.display = bool(planned)
        lines = [format_planned(each, _PANEL) for each in planned]
        heading = Content.styled("planned in the next 7 days", MUTED)
        shown.update(Content("\n").join([heading, *lines]))

    def _take(self, overview: RunOverview) -> None:
        self.overview = overview
        self._show()
        self.refresh_bindings()

    def _show(self) -> None:
        found = self.overview
        title = format_title(found, self._window, self.studio.namespace)
        self.query_one("#reports-title", Static).update(title)
        if found is None:
            return
        self.set_class(not found.totals.runs, "-none")
        self.query_one("#reports-empty", Static).update(
            "No run began in this time. d shows other days, and r in the studio (2) runs a pipeline."
        )
        self.query_one(RunTimeline).show_runs(found.newest)
        self._show_pipelines(found)
        self.query_one("#reports-calendar", Static).update(draw_calendar(found.days))
        self._show_failures(found)
        stages = [format_stage(each, _PANEL) for each in found.slow_stages[:8]]
        if stages:
            stages.insert(0, Content.styled("slowest stages, code in Python workers", MUTED))
        alerts = [format_alerts(each, _PANEL) for each in found.alerting_stages[:4]]
        if alerts:
            alerts.insert(0, Content.styled("stages with alerts", MUTED))
        if alerts and stages:
            alerts.append(Content())
        self.query_one("#reports-stages", Static).update(Content("\n").join([*alerts, *stages]))

    def _show_pipelines(self, found: RunOverview) -> None:
        pipelines = self._pipelines
        columns = PipelineColumns(max(40, pipelines.size.width - 2))
        self.query_one("#reports-heading", Static).update(
            Content.styled(columns.format_header(), MUTED)
        )
        options = [ValueOption(columns.format_line(each), each) for each in found.pipelines]
        _replace_options(pipelines, options)

    def _show_failures(self, found: RunOverview) -> None:
        self.query_one("#reports-why").display = bool(found.failures)
        failures = self._failures
        failures.display = bool(found.failures)
        options = [ValueOption(format_failure(e, _PANEL), e) for e in found.failures]
        _replace_options(failures, options)

    # -- keys -----------------------------------------------------------------------------------

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action in _NEEDS_RUNS and (self.overview is None or not self.overview.totals.runs):
            return "no run began in this time"
        return None

    @work(group="dialog")
    async def action_window(self) -> None:
        choices = [Choice(window, window) for window in _WINDOWS]
        title = "Show the runs of the"
        chosen = await self.studio.choose(choices, title=title, current=self._window)
        if chosen is not None:
            self._window = chosen
            self._load()

    def action_open_run(self) -> None:
        """Open the newest run of what is highlighted in the list with the focus."""
        focused = self._failures if self._failures.has_focus else self._pipelines
        highlighted = focused.highlighted_option
        if isinstance(highlighted, ValueOption):
            self._open(highlighted.value)

    def action_history(self) -> None:
        highlighted = self._pipelines.highlighted_option
        if isinstance(highlighted, ValueOption):
            self.studio.navigate(RunHistoryTarget(highlighted.value.pipeline))

    @work(group="dialog")
    async def action_export(self) -> None:
        """Write what is shown into a file."""
        found = self.overview
        if found is None:
            return
        choices = [Choice(label, ending) for label, ending in _FORMATS.items()]
        ending = await self.studio.choose(choices, title="Export the report as")
        if ending is None:
            return
        namespace = self.studio.namespace
        path = await self.studio.pick_file(
            "Save the report",
            suffixes=(ending,),
            for_saving=True,
            typed=f"runs-of-{namespace}{ending}",
        )
        if path is not None:
            text = format_document(found, ENDINGS[ending], f"Runs of {namespace}, {self._window}")
            self.save_text(path, lambda _: text)

    @on(OptionList.OptionSelected)
    def _open_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option, ValueOption):
            self._open(event.option.value)

    def _open(self, value: PipelineOverview | FailureReason) -> None:
        stage = value.stage if isinstance(value, FailureReason) else None
        self.studio.navigate(RunTarget(value.newest, stage))

    @property
    def _pipelines(self) -> StudioOptionList:
        return self.query_one("#reports-pipelines", StudioOptionList)

    @property
    def _failures(self) -> StudioOptionList:
        return self.query_one("#reports-failures", StudioOptionList)


def _replace_options(
    shown: StudioOptionList,
    options: list[ValueOption[PipelineOverview]] | list[ValueOption[FailureReason]],
) -> None:
    """Replace the options of a list; the highlight stays in its row."""
    row = shown.highlighted
    with shown.prevent(OptionList.OptionHighlighted):
        shown.clear_options()
        shown.add_options(options)
        if options:
            shown.highlighted = min(row or 0, len(options) - 1)
