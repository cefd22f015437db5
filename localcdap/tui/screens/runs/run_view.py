"""The details of a run: status, error, stages, expectations, alerts, log and arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static, TabbedContent, TabPane

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.host.cdap import Cdap
from localcdap.runs.model import (
    Run,
    count_alerts,
    describe_stand_ins,
    describe_start,
    describe_state,
    get_now,
)
from localcdap.runs.statistics.classification import find_reason
from localcdap.text import format_duration, format_size
from localcdap.tui.labels import RUN_MARKS, sanitize_lines, sanitize_name
from localcdap.tui.log.run_log import RunLog
from localcdap.tui.log.view import LogView
from localcdap.tui.screens.runs.run_list import format_start_time
from localcdap.tui.screens.runs.tables import (
    AlertTable,
    ArgumentTable,
    ExpectationTable,
    StageTable,
)
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import Debouncer, StudioNode

_WAIT_S: Final = 1.0
"""The longest wait for a change, in seconds; the thread then sees whether the widget is still there."""


class RunFollower(StudioNode, Widget):
    """Follows a run until the run has ended or the widget is removed.

    It posts :class:`RunFollower.Changed` for each change.
    """

    DEFAULT_CSS = "RunFollower { display: none; }"

    class Changed(Message):
        """The status, the counts or the error of the run have changed."""

        def __init__(self, run: Run) -> None:
            super().__init__()
            self.run: Final = run

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.run_id: Final = run_id
        self._posted: tuple[int, int] | None = None
        """The version and the position of the run that was posted last."""
        self._following: FollowedSource | None = None

    def on_mount(self) -> None:
        self._following = self.follow(
            self._wait_for_changes, self._post, on_error=self._handle_error
        )

    def on_unmount(self) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._following is not None:
            self._following.stop()

    def _wait_for_changes(self, cdap: Cdap) -> Iterator[Run]:
        run = cdap.runs.wait(self.run_id, -1, 0.0)
        yield run
        while not run.status.is_end:
            run = cdap.runs.wait(self.run_id, run.version, _WAIT_S)
            yield run

    def _post(self, run: Run) -> None:
        if (run.version, run.position) != self._posted:
            self._posted = run.version, run.position
            self.post_message(self.Changed(run))

    def _handle_error(self, error: LocalcdapError) -> None:
        # Other errors pass: the source is opened again a second later.
        if isinstance(error, NotFoundError):
            self._stop()


_DELAY_S: Final = 0.12
"""The delay before a highlighted run is read, in seconds. The cursor moves past other runs on its way."""
_TICK_S: Final = 1.0
_BAR: Final = 24
_EXPECTATIONS: Final = "expectations"
_ALERTS: Final = "alerts"
_TABS: Final = ("stages", _EXPECTATIONS, _ALERTS, "log", "arguments")


class RunView(Vertical):
    """Shows the run ``run_id``, live while it is active."""

    DEFAULT_CSS = """
    RunView {
        & > #run-head { height: auto; padding: 0 1; }
        & > #run-messages { height: auto; max-height: 40%; padding: 0 1; display: none; }
        & > #run-messages.-some { display: block; }
        & #run-error { height: auto; }
        & > TabbedContent { height: 1fr; }
        & ContentTabs { height: 2; }
        & TabPane { padding: 0; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "tab(1)", "next tab", id="runs.next_tab", show=False),
        Binding("left_square_bracket", "tab(-1)", "previous tab", id="runs.last_tab", show=False),
    ]

    run_id: reactive[str | None] = reactive(None, init=False)
    run: reactive[Run | None] = reactive(None, init=False)
    """The run as it was read last. Until the run of ``run_id`` is read it is the previous run."""

    class Changed(Message):
        """Another run is shown, or the run has changed."""

        def __init__(self, run: Run | None) -> None:
            super().__init__()
            self.run = run

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._debouncer = Debouncer(self, self._watch_run, _DELAY_S)

    def compose(self) -> ComposeResult:
        yield Static(id="run-head")
        with VerticalScroll(id="run-messages", can_focus=False):
            yield Static(id="run-error")
        with TabbedContent():
            with TabPane("Stages", id="stages"):
                yield StageTable()
            with TabPane("Expectations", id=_EXPECTATIONS):
                yield ExpectationTable()
            with TabPane("Alerts", id=_ALERTS):
                yield AlertTable()
            with TabPane("Log", id="log"):
                yield RunLog()
            with TabPane("Arguments", id="arguments"):
                yield ArgumentTable()

    def on_mount(self) -> None:
        self.set_interval(_TICK_S, self._tick)
        self._show()

    def on_unmount(self) -> None:
        self._debouncer.cancel()

    @property
    def stage(self) -> str | None:
        """The failed stage; without one, the stage under the cursor."""
        if self.run is not None and self.run.error is not None and self.run.error.stage:
            return self.run.error.stage
        return self.query_one(StageTable).stage

    def show(self, run_id: str | None) -> None:
        """Show a run without delay."""
        self.run_id = run_id
        self._debouncer.flush()

    def show_tab(self, name: str, stage: str | None = None) -> None:
        """Show a tab: ``stages``, ``expectations``, ``alerts``, ``log`` or ``arguments``.

        :param stage: the stage whose lines the log shows; None for all.
        """
        self.query_one(TabbedContent).active = name
        if name == "log":
            self.query_one(RunLog).show_stage(stage)

    def focus_inside(self) -> None:
        """Focus the content of the active tab."""
        self._get_tab_content().focus()

    def action_tab(self, step: int) -> None:
        tabs = self.query_one(TabbedContent)
        had_focus = self.has_focus_within
        names = [name for name in _TABS if name not in self._hidden_tabs]
        tabs.active = names[(names.index(tabs.active) + step) % len(names)]
        if had_focus:
            self.call_after_refresh(self.focus_inside)

    @property
    def _hidden_tabs(self) -> set[str]:
        """The tabs that would be empty."""
        run = self.run
        found = {
            _EXPECTATIONS: run is not None and bool(run.expectations),
            _ALERTS: run is not None and count_alerts(run) > 0,
        }
        return {name for name, has_content in found.items() if not has_content}

    def watch_run_id(self) -> None:
        self._debouncer.schedule()

    def watch_run(self) -> None:
        self._show()
        self.post_message(self.Changed(self.run))

    def _watch_run(self) -> None:
        self.query(RunFollower).remove()
        self.query_one(RunLog).run_id = self.run_id
        if self.run_id is None:
            self.run = None
        else:
            self.mount(RunFollower(self.run_id))

    @on(RunFollower.Changed)
    def _update_run(self, event: RunFollower.Changed) -> None:
        event.stop()
        if event.run.run == self.run_id:
            self.run = event.run

    @on(StageTable.Chosen)
    def _show_stage_log(self, event: StageTable.Chosen) -> None:
        event.stop()
        self.show_tab("log", event.stage)
        self.call_after_refresh(self.focus_inside)

    def _get_tab_content(self) -> Widget:
        match self.query_one(TabbedContent).active:
            case "log":
                return self.query_one(LogView)
            case "arguments":
                return self.query_one(ArgumentTable)
            case "expectations":
                return self.query_one(ExpectationTable)
            case "alerts":
                return self.query_one(AlertTable)
            case _:
                return self.query_one(StageTable)

    def _show_optional_tabs(self) -> None:
        """Show the tabs of expectations and of alerts for a run that has some."""
        tabs, run, hidden = self.query_one(TabbedContent), self.run, self._hidden_tabs
        for name in hidden:
            if tabs.active == name:
                tabs.active = _TABS[0]
            tabs.hide_tab(name)
        if run is not None and _EXPECTATIONS not in hidden:
            tabs.get_tab(_EXPECTATIONS).label = Content(_format_expectations(run))
            tabs.show_tab(_EXPECTATIONS)
            self.query_one(ExpectationTable).show_run(run)
        if run is not None and _ALERTS not in hidden:
            tabs.get_tab(_ALERTS).label = Content(f"Alerts {count_alerts(run):,}")
            tabs.show_tab(_ALERTS)
            self.query_one(AlertTable).show_run(run)

    def _tick(self) -> None:
        if self.run is not None and not self.run.status.is_end:
            self.query_one("#run-head", Static).update(_format_head(self.run))

    def _show(self) -> None:
        run = self.run
        self.query_one(TabbedContent).display = run is not None
        self._show_optional_tabs()
        messages = Content("\n\n").join(_format_messages(run)) if run else Content("")
        self.query_one("#run-messages").set_class(bool(messages.plain), "-some")
        self.query_one("#run-error", Static).update(messages)
        head = self.query_one("#run-head", Static)
        if run is None:
            head.update(
                Content.styled("" if self.run_id else "No run is highlighted.", "$foreground 60%")
            )
            return
        head.update(_format_head(run))
        self.query_one(StageTable).show_run(run)
        self.query_one(ArgumentTable).show_run(run)


def _format_expectations(run: Run) -> str:
    """Return the name of the tab: ``Expectations`` and how many of them are violated."""
    violated = sum(1 for each in run.expectations if each.violations)
    return f"Expectations ✗ {violated}" if violated else "Expectations ✓"


def _format_head(run: Run) -> Content:
    """Return status, name, times and progress of a run on two or three lines."""
    mark, style = RUN_MARKS[run.status]
    took = format_duration(run.starting, get_now() if run.end is None else run.end)
    if run.start is not None and run.start > run.starting:
        took += f", reading after {format_duration(run.starting, run.start)}"
    first = Content.assemble(
        (f"{mark} {describe_state(run)}", style),
        f"  {sanitize_name(run.pipeline)}",
        (f"  {took}", "$foreground 60%"),
        (f"  {describe_stand_ins(run)}", "$text-accent"),
    )
    facts = [
        f"run {run.run}",
        f"started {format_start_time(run.starting)}",
        f"profile {sanitize_name(run.profile or '')}",
        *filter(None, [sanitize_name(describe_start(run))]),
    ]
    lines = [first, Content.styled("  ".join(facts), "$foreground 60%")]
    if run.progress is not None:
        lines.append(_format_progress(run))
    return Content("\n").join(lines)


def _format_progress(run: Run) -> Content:
    progress = run.progress
    assert progress is not None
    share = progress.tasks_done / progress.tasks if progress.tasks else 0.0
    full = round(share * _BAR)
    facts = [f"{progress.tasks_done:,} of {progress.tasks:,} tasks"] if progress.tasks else []
    if progress.bytes_read:
        facts.append(f"{format_size(progress.bytes_read)} read")
    return Content.assemble(
        ("━" * full, "$primary"),
        ("━" * (_BAR - full), "$foreground 20%"),
        (f"  {', '.join(facts)}", "$foreground 60%"),
    )


def _format_messages(run: Run) -> Iterator[Content]:
    """Yield the error of a run with its stack frames, and the repairs and outputs of the run."""
    error = run.error
    if error is not None:
        where = f"Stage '{sanitize_name(error.stage)}': " if error.stage else ""
        if error.failures or error.message.startswith(where):
            where = ""
        lines = [Content.styled(f"{where}{sanitize_lines(error.message)}", "$text-error")]
        if error.corrective_action:
            lines.append(Content(f"→ {sanitize_lines(error.corrective_action)}"))
        reason = find_reason(error)
        lines.append(Content.styled(f"  {reason.category}: {reason.text}", "$foreground 60%"))
        lines += [
            Content.styled(f"  {sanitize_lines(frame).rstrip()}", "$foreground 60%")
            for frame in error.trace
        ]
        yield Content("\n").join(lines)
    notes = [f"! {sanitize_lines(str(each))}" for each in (*run.stand_ins, *run.repairs)]
    notes += [f"→ wrote {sanitize_name(each)}" for each in run.written]
    notes += [f"→ wrote table {sanitize_name(each)}" for each in run.tables]
    if notes:
        yield Content("\n".join(notes))
