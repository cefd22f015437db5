"""The filtered history of runs of a namespace, and the details of the highlighted run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.history import LONGEST_PAGE, PipelineRuns, RunFilter
from localcdap.runs.model import Run
from localcdap.text import format_duration, plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.labels import sanitize_name
from localcdap.tui.lists import watch_topics
from localcdap.tui.routes import NavigationTarget, RunHistoryTarget, RunTarget
from localcdap.tui.screens.runs.run_list import RunList, RunListHeader
from localcdap.tui.screens.runs.run_view import RunView
from localcdap.tui.screens.runs.tables import RunTableDialog
from localcdap.tui.screens.runs.timeline import (
    RECENT,
    PipelineList,
    PipelineListHeader,
    RunTimeline,
    compute_median_duration,
    format_pipeline,
)
from localcdap.tui.studio import Choice
from localcdap.tui.widgets.lines import StateLine, StatusPart

_ANY: Final = "any"
_STATES: Final[dict[str, list[RunStatus]]] = {
    _ANY: [],
    "active": [each for each in RunStatus if not each.is_end],
    "completed": [RunStatus.COMPLETED],
    "failed": [RunStatus.FAILED],
    "killed": [RunStatus.KILLED],
}


class RunHistoryScreen(AreaScreen):
    """Shows the history on the left and the highlighted run on the right; a subclass adds the actions."""

    def __init__(self) -> None:
        super().__init__()
        self._pipeline: str | None = None
        self._state = _ANY
        self._text = ""

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="runs-body"):
            with Vertical(id="history"):
                yield PipelineListHeader(id="pipelines-heading")
                yield PipelineList(id="pipelines")
                yield RunTimeline(id="runs-timeline")
                yield StateLine(id="runs-state")
                yield Static(id="runs-sparkline")
                yield Input(placeholder="pipeline, error or run id", id="runs-filter", compact=True)
                yield RunListHeader(id="runs-heading")
                yield RunList(id="runs-list")
                yield Static(id="runs-empty")
            yield RunView(id="run")

    def on_mount(self) -> None:
        self.follow(watch_topics("runs"), lambda _: self.action_refresh())

    # -- the shown state -------------------------------------------------------------------------

    @property
    def run(self) -> Run | None:
        """The run that the keys act on; None until it is read."""
        run = self._view.run
        return run if run is not None and run.run == self._view.run_id else None

    def show_namespace(self, namespace: str) -> None:
        self._pipeline, self._text = None, ""
        self._show_history()
        self._refresh_pipelines()

    def show_target(self, target: NavigationTarget) -> None:
        match target:
            case RunTarget():
                self._choose_pipeline(None)
                self._list.go_to(target.run_id)
                self._view.show(target.run_id)
                self.add_class("-run")
                if target.stage is not None:
                    self._view.show_tab("log", target.stage)
            case RunHistoryTarget():
                self._choose_pipeline(target.pipeline)
                self._list.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._update_state)

    def _refresh_pipelines(self) -> None:
        namespace = self.studio.namespace
        self.call(
            lambda cdap: cdap.runs.list_by_pipeline(namespace, RECENT),
            on_result=self._show_pipelines,
            group="pipelines",
        )

    def _show_pipelines(self, pipelines: Sequence[PipelineRuns]) -> None:
        self._pipelines.set_pipelines(pipelines)
        self._update_state()

    def _choose_pipeline(self, pipeline: str | None) -> None:
        self._pipeline = pipeline
        self._show_history()

    def _show_history(self) -> None:
        self._list.show(self.studio.namespace, self._filter)
        self._update_state()

    @property
    def _filter(self) -> RunFilter:
        return RunFilter(self._pipeline, _STATES[self._state], self._text)

    @on(RunList.Filled)
    @on(RunView.Changed)
    def _update_state(self) -> None:
        """Show what the list contains: filters, count, and the sparkline of the pipeline."""
        shown = self._list
        self.query_one("#runs-state", StateLine).show_parts(self._build_state())
        pipeline = self._pipeline or (self.run.pipeline if self.run else None)
        found = self._pipelines.find(pipeline)
        width = self.query_one("#history").size.width
        line = format_pipeline(found, max(20, width - 2)) if found else Content("")
        self.query_one("#runs-sparkline", Static).update(line)
        is_filtered = bool(self._pipeline or self._text or self._state != _ANY)
        self.set_class(not shown.lines, "-none")
        self.query_one(RunTimeline).show_runs(shown.lines)
        self.query_one("#runs-empty", Static).update(
            "No run matches. Escape shows all runs."
            if is_filtered
            else "No runs yet. r in the studio (2) runs a pipeline."
        )

    def _build_state(self) -> list[StatusPart]:
        total = self._list.total
        parts: list[StatusPart] = [
            (sanitize_name(self._pipeline or "all pipelines"), "$foreground", "pipeline"),
            (f"status: {self._state}", "$foreground", "state"),
            (plural(total, "run"), "", ""),
        ]
        if self._text:
            parts.insert(2, (f"/{self._text}", "$foreground", "filter"))
        found = self._pipelines.find(self._pipeline)
        median = compute_median_duration(found.recent) if found else None
        if median is not None:
            parts.append((f"median duration {format_duration(0, median)}", "", ""))
        return parts

    def _show_started(self, run: Run) -> None:
        """Show a run that has just started, and clear filters that would hide it."""
        self._state, self._text = _ANY, ""
        if self._pipeline not in (None, run.pipeline):
            self._pipeline = None
        self._list.go_to(run.run)
        self._show_history()
        self._view.show(run.run)

    # -- keys ----------------------------------------------------------------------------------

    @work(group="dialog")
    async def action_pipeline(self) -> None:
        names = [None, *(each.pipeline for each in self._pipelines.pipelines)]
        choices = [
            Choice(sanitize_name(each or "all pipelines"), (each,), hint=self._count_runs(each))
            for each in names
        ]
        current = (self._pipeline,)
        chosen = await self.studio.choose(choices, title="Show runs of", current=current)
        if chosen is not None:
            self._choose_pipeline(*chosen)
            self._list.focus()

    def _count_runs(self, pipeline: str | None) -> str:
        found = self._pipelines.find(pipeline)
        return plural(found.count, "run") if found else ""

    @work(group="dialog")
    async def action_state(self) -> None:
        choices = [Choice(name, name) for name in _STATES]
        title, current = "Show runs with the status", self._state
        self._state = await self.studio.choose(choices, title=title, current=current) or current
        self._show_history()

    def action_table(self) -> None:
        """Show the filtered runs as a table, and open the one that is chosen there."""
        namespace, filter = self.studio.namespace, self._filter

        def open_run(run_id: str | None) -> None:
            if run_id is not None:
                self._list.go_to(run_id)
                self.post_message(RunList.Opened(run_id))

        self.call(
            lambda cdap: cdap.runs.list_page(namespace, filter, None, LONGEST_PAGE),
            on_result=lambda page: self.app.push_screen(RunTableDialog(page), open_run),
            group="table",
        )

    def action_filter(self) -> None:
        entry = self.query_one("#runs-filter", Input)
        self.remove_class("-run")
        entry.add_class("-open")
        entry.focus()

    def action_refresh(self) -> None:
        """Read runs and pipelines again."""
        self._list.reload()
        self._refresh_pipelines()

    def action_back(self) -> None:
        """Go from the run to the history, or clear the filter of the history."""
        entry = self.query_one("#runs-filter", Input)
        if self._view.has_focus_within or self.has_class("-run"):
            self.remove_class("-run")
        elif self._text or entry.has_class("-open"):
            entry.remove_class("-open")
            entry.value = ""
        elif self._pipeline or self._state != _ANY:
            self._state = _ANY
            self._choose_pipeline(None)
        self._list.focus()

    # -- messages ------------------------------------------------------------------------------

    @on(Input.Changed, "#runs-filter")
    def _filter_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._text = event.value.strip()
        self._show_history()

    @on(Input.Submitted, "#runs-filter")
    def _finish_filter(self, event: Input.Submitted) -> None:
        event.stop()
        event.input.set_class(bool(self._text), "-open")
        self._list.focus()

    @on(PipelineList.Chosen)
    def _show_chosen_pipeline(self, event: PipelineList.Chosen) -> None:
        self._choose_pipeline(event.pipeline)
        self._list.focus()

    @on(RunList.Highlighted)
    def _show_highlighted(self, event: RunList.Highlighted) -> None:
        self._view.run_id = event.run_id

    @on(RunList.Opened)
    def _open_run(self, event: RunList.Opened) -> None:
        self._view.show(event.run_id)
        self.add_class("-run")
        self.call_after_refresh(self._view.focus_inside)

    @property
    def _list(self) -> RunList:
        return self.query_one("#runs-list", RunList)

    @property
    def _view(self) -> RunView:
        return self.query_one("#run", RunView)

    @property
    def _pipelines(self) -> PipelineList:
        return self.query_one("#pipelines", PipelineList)
