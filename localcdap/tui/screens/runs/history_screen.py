"""The history of the runs of a namespace, narrowed by its user, and the run that is highlighted in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.history import PipelineRuns, RunFilter
from localcdap.runs.model import Run
from localcdap.text import format_duration, plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.lists.changes import watch_topics
from localcdap.tui.log.layout import sanitize_name
from localcdap.tui.log.state_line import StateLine, StatusPart
from localcdap.tui.routes import NavigationTarget, RunHistoryTarget, RunTarget
from localcdap.tui.screens.runs.pipeline_list import (
    RECENT,
    PipelineList,
    PipelineListHeader,
    compute_median_duration,
    pipeline_line,
)
from localcdap.tui.screens.runs.run_list import RunList, RunListHeader
from localcdap.tui.screens.runs.run_view import RunView
from localcdap.tui.studio import Choice

_STATES: Final[dict[str, list[RunStatus]]] = {
    "any state": [],
    "active": [each for each in RunStatus if not each.is_end],
    "completed": [RunStatus.COMPLETED],
    "failed": [RunStatus.FAILED],
    "killed": [RunStatus.KILLED],
}


class RunHistoryScreen(AreaScreen):
    """History on the left, the highlighted run on the right; a subclass says what can be done with it."""

    def __init__(self) -> None:
        super().__init__()
        self._pipeline: str | None = None
        self._state = "any state"
        self._text = ""

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="runs-body"):
            with Vertical(id="history"):
                yield PipelineListHeader(id="pipelines-heading")
                yield PipelineList(id="pipelines")
                yield StateLine(id="runs-state")
                yield Static(id="runs-curve")
                yield Input(
                    placeholder="pipeline, error or id of a run", id="runs-filter", compact=True
                )
                yield RunListHeader(id="runs-heading")
                yield RunList(id="runs-list")
                yield Static(id="runs-empty")
            yield RunView(id="run")

    def on_mount(self) -> None:
        self.follow(watch_topics("runs"), self._heard)

    # -- what is shown -------------------------------------------------------------------------

    @property
    def run(self) -> Run | None:
        """The run that keys are about; None until it is known."""
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
        self.call_after_refresh(self._tell)

    def _heard(self, is_new: bool) -> None:
        if is_new:
            self._list.reload()
            self._refresh_pipelines()

    def _refresh_pipelines(self) -> None:
        namespace = self.studio.namespace
        self.call(
            lambda cdap: cdap.runs.by_pipeline(namespace, RECENT),
            on_result=self._put_pipelines,
            group="pipelines",
        )

    def _put_pipelines(self, pipelines: Sequence[PipelineRuns]) -> None:
        self._pipelines.put(pipelines)
        self._tell()

    def _choose_pipeline(self, pipeline: str | None) -> None:
        self._pipeline = pipeline
        self._show_history()

    def _show_history(self) -> None:
        filter = RunFilter(self._pipeline, _STATES[self._state], self._text)
        self._list.show(self.studio.namespace, filter)
        self._tell()

    def _tell(self) -> None:
        """Say what the list holds."""
        shown = self._list
        self.query_one("#runs-state", StateLine).tell(self._told())
        pipeline = self._pipeline or (self.run.pipeline if self.run else None)
        found = self._pipelines.find(pipeline)
        width = self.query_one("#history").size.width
        line = pipeline_line(found, max(20, width - 2)) if found else Content("")
        self.query_one("#runs-curve", Static).update(line)
        is_filtered = bool(self._pipeline or self._text or self._state != "any state")
        self.set_class(not shown.lines, "-none")
        self.query_one("#runs-empty", Static).update(
            "No run is like that. Escape shows all again."
            if is_filtered
            else "Nothing has run here yet. A pipeline is run with r in the studio (2)."
        )

    def _told(self) -> list[StatusPart]:
        total = self._list.total
        told: list[StatusPart] = [
            (sanitize_name(self._pipeline or "all pipelines"), "$foreground", "pipeline"),
            (self._state, "$foreground", "state"),
            (plural(total, "run"), "", ""),
        ]
        if self._text:
            told.insert(2, (f"/{self._text}", "$foreground", "filter"))
        found = self._pipelines.find(self._pipeline)
        usual = compute_median_duration(found.recent) if found else None
        if usual is not None:
            told.append((f"usually {format_duration(0, usual)}", "", ""))
        return told

    def _show_started(self, run: Run) -> None:
        """Go to a run that has just begun, whatever the history was narrowed to."""
        self._state, self._text = "any state", ""
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
            Choice(sanitize_name(each or "all pipelines"), (each,), hint=self._counted(each))
            for each in names
        ]
        start = names.index(self._pipeline) if self._pipeline in names else 0
        chosen = await self.studio.choose(choices, title="Runs of which pipeline", start=start)
        if chosen is not None:
            self._choose_pipeline(*chosen)
            self._list.focus()

    def _counted(self, pipeline: str | None) -> str:
        found = self._pipelines.find(pipeline)
        return plural(found.count, "run") if found else ""

    @work(group="dialog")
    async def action_state(self) -> None:
        names = list(_STATES)
        choices = [Choice(name, name) for name in names]
        start = names.index(self._state)
        self._state = (
            await self.studio.choose(choices, title="Runs in which state", start=start)
            or self._state
        )
        self._show_history()

    def action_filter(self) -> None:
        entry = self.query_one("#runs-filter", Input)
        self.remove_class("-run")
        entry.add_class("-open")
        entry.focus()

    def action_refresh(self) -> None:
        self._heard(True)

    def action_back(self) -> None:
        """From the run to the history, from a part of the history to all of it."""
        entry = self.query_one("#runs-filter", Input)
        if self._view.has_focus_within or self.has_class("-run"):
            self.remove_class("-run")
        elif self._text or entry.has_class("-open"):
            entry.remove_class("-open")
            entry.value = ""
        elif self._pipeline or self._state != "any state":
            self._state = "any state"
            self._choose_pipeline(None)
        self._list.focus()

    # -- messages ------------------------------------------------------------------------------

    @on(StateLine.ActionRequested)
    async def _asked(self, event: StateLine.ActionRequested) -> None:
        event.stop()
        await self.run_action(event.action)

    @on(Input.Changed, "#runs-filter")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._text = event.value.strip()
        self._show_history()

    @on(Input.Submitted, "#runs-filter")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        event.input.set_class(bool(self._text), "-open")
        self._list.focus()

    @on(PipelineList.Chosen)
    def _pipeline_chosen(self, event: PipelineList.Chosen) -> None:
        self._choose_pipeline(event.pipeline)
        self._list.focus()

    @on(RunList.Highlighted)
    def _highlighted(self, event: RunList.Highlighted) -> None:
        self._view.run_id = event.run_id

    @on(RunList.Opened)
    def _opened(self, event: RunList.Opened) -> None:
        self._view.show(event.run_id)
        self.add_class("-run")
        self.call_after_refresh(self._view.focus_inside)

    @on(RunList.Filled)
    def _filled(self) -> None:
        self._tell()

    @on(RunView.Changed)
    def _run_changed(self) -> None:
        self._tell()

    @property
    def _list(self) -> RunList:
        return self.query_one("#runs-list", RunList)

    @property
    def _view(self) -> RunView:
        return self.query_one("#run", RunView)

    @property
    def _pipelines(self) -> PipelineList:
        return self.query_one("#pipelines", PipelineList)
