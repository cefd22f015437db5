"""The reports screen: timeline, calendar, pipelines, failures and slow stages of a window of time."""

from __future__ import annotations

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
from localcdap.runs.statistics.documents import ENDINGS, format_document
from localcdap.runs.statistics.model import (
    FailureReason,
    OverviewRequest,
    PipelineOverview,
    RunOverview,
)
from localcdap.schedules.model import PlannedTime
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.labels import MUTED
from localcdap.tui.lists.filtered_list import StudioOptionList, ValueOption, watch_topics
from localcdap.tui.routes import RunHistoryTarget, RunTarget
from localcdap.tui.screens.reports.lines import (
    POINTS,
    PipelineColumns,
    draw_calendar,
    format_alerts,
    format_failure,
    format_planned,
    format_stage,
    format_title,
)
from localcdap.tui.screens.runs.timeline import RunTimeline
from localcdap.tui.studio import Choice

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
