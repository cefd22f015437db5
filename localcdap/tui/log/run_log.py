"""The log of a run with its commands: filter, search, follow, copy, save."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.widgets import Input, Static

from localcdap.runs.logs import LEVELS, ErrorGroup, LogFilter, LogHit, LogSummary
from localcdap.runs.model import StoredLogLine
from localcdap.text import plural
from localcdap.tui.dialogs.dialog_screen import TextDialog
from localcdap.tui.labels import sanitize_lines, sanitize_name
from localcdap.tui.log.layout import format_clock, format_plain_line, save_log
from localcdap.tui.log.view import LogView
from localcdap.tui.studio import Choice, StudioNode
from localcdap.tui.widgets.lines import StateLine, StatusPart

_COUNTED_LEVELS: Final = ("WARNING", "ERROR", "CRITICAL")
_NEEDS_LINES: Final = (
    *("copy_line", "copy_visible", "whole_line", "search", "save", "follow_end", "wrap"),
)
_NEEDS_SEARCH: Final = ("find",)
_SERIOUS: Final = _COUNTED_LEVELS[1:]
_CONDITIONAL: Final = (*_NEEDS_LINES, *_NEEDS_SEARCH, "stage", "errors")


class RunLog(StudioNode, Vertical):
    """Shows the log of a run, live while the run is active.

    :param run_id: the run; None shows nothing.
    """

    DEFAULT_CSS = """
    RunLog {
        height: 1fr;
        & > #log-state { height: 1; padding: 0 1; color: $text-muted; }
        & > #log-search { height: 1; display: none; background: $boost; }
        & > #log-search.-open { display: block; }
        & #log-mark { width: 2; padding: 0 0 0 1; color: $text-accent; }
        & #log-input { width: 1fr; border: none; height: 1; padding: 0; background: $boost; }
        & #log-hits { width: auto; padding: 0 1; color: $text-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "search", id="log.search", key_display="/"),
        Binding("n", "find(False)", "next hit", id="log.next", show=False),
        Binding("N", "find(True)", "previous hit", id="log.previous", show=False),
        Binding("escape", "end_search", "end search", id="log.end_search", show=False),
        Binding("v", "level", "level", id="log.level"),
        Binding("s", "stage", "stage", id="log.stage"),
        Binding("f", "follow_end", "follow", id="log.follow"),
        Binding("w", "wrap", "wrap", id="log.wrap"),
        Binding("enter", "whole_line", "whole line", id="log.line", show=False),
        Binding("e", "errors", "errors by kind", id="log.errors", show=False),
        Binding("y", "copy_line", "copy line", id="log.copy", show=False),
        Binding("Y", "copy_visible", "copy visible lines", id="log.copy_seen", show=False),
        Binding("ctrl+s", "save", "save to file", id="log.save", show=False),
    ]

    run_id: reactive[str | None] = reactive(None, init=False)
    level: reactive[str] = reactive(LEVELS[0], init=False)
    """The lowest level that is shown."""
    stage: reactive[str | None] = reactive(None, init=False)
    """The stage whose lines are shown; an empty text for lines without a stage, None for all lines."""

    def __init__(
        self, run_id: str | None = None, *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.set_reactive(RunLog.run_id, run_id)
        self.summary = LogSummary({}, [])
        self.is_ended = False
        self._reasons: list[str | None] = []
        self._start = 0
        """The number of the line after which the search starts while its text is typed."""

    def compose(self) -> ComposeResult:
        yield LogView()
        with Horizontal(id="log-search"):
            yield Static("/", id="log-mark")
            yield Input(id="log-input", compact=True, placeholder="text in the log")
            yield Static(id="log-hits")
        yield StateLine(id="log-state")

    @property
    def view(self) -> LogView:
        """The widget with the lines."""
        return self.query_one(LogView)

    def on_mount(self) -> None:
        self._show()
        self.watch(self.view, "follows", self._update_state, init=False)
        self.watch(self.view, "wraps", self._update_state, init=False)

    def show_stage(self, stage: str | None) -> None:
        """Show the lines of one stage only; None for all."""
        self.stage = stage

    def watch_run_id(self) -> None:
        self.summary, self.is_ended = LogSummary({}, []), False
        self.set_reactive(RunLog.stage, None)
        self.view.search = ""
        self.view.follows = True
        self._show()

    def watch_level(self) -> None:
        self._show()

    def watch_stage(self) -> None:
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "end_search" and not self.query_one("#log-search").has_class("-open"):
            return False
        return super().check_action(action, parameters)

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action in (*_NEEDS_LINES, *_NEEDS_SEARCH) and not self.view.count:
            return "the log has no lines"
        if action in _NEEDS_SEARCH and not self.view.search:
            return "there is no search text"
        if action == "stage" and not self.summary.stages:
            return "no line belongs to a stage"
        if action == "errors" and not any(self.summary.levels.get(name) for name in _SERIOUS):
            return "the log has no errors"
        return None

    # -- keys ----------------------------------------------------------------------------------

    def action_search(self) -> None:
        line = self.view.line
        self._start = line.number - 1 if line else 0
        self.query_one("#log-search").add_class("-open")
        entry = self.query_one("#log-input", Input)
        entry.value = ""
        entry.focus()

    def action_end_search(self) -> None:
        self.query_one("#log-search").remove_class("-open")
        self.view.search = ""
        self.view.focus()

    def action_find(self, backwards: bool) -> None:
        self.view.find(self.view.search, backwards=backwards)

    def action_follow_end(self) -> None:
        self.view.follows = not self.view.follows

    def action_wrap(self) -> None:
        self.view.wraps = not self.view.wraps

    @work
    async def action_level(self) -> None:
        counts = self.summary.levels
        choices = [
            Choice(
                name if name == LEVELS[-1] else f"{name} and above",
                name,
                f"{counts.get(name, 0):,}",
            )
            for name in LEVELS
        ]
        title = "Lowest level to show"
        self.level = (
            await self.studio.choose(choices, title=title, current=self.level) or self.level
        )

    @work
    async def action_stage(self) -> None:
        stages: list[str | None] = [None, *self.summary.stages, ""]
        choices = [Choice(_format_stage(stage), (stage,)) for stage in stages]
        chosen = await self.studio.choose(choices, title="Stage to show", current=(self.stage,))
        if chosen is not None:
            (self.stage,) = chosen

    def action_whole_line(self) -> None:
        run, line = self.run_id, self.view.line
        if run is None or line is None:
            return
        number = line.number
        self.call(
            lambda cdap: cdap.runs.get_log_line(run, number),
            on_result=self._show_line,
            group="line",
        )

    def _show_line(self, line: StoredLogLine) -> None:
        stage = f"  {sanitize_name(line.stage)}" if line.stage else ""
        title = (
            f"line {line.number:,}  {format_clock(line.time)}  {sanitize_name(line.level)}{stage}"
        )
        text = sanitize_lines(line.text)
        self.app.push_screen(TextDialog(title, text, "text of the line", ".log"))

    def action_errors(self) -> None:
        run = self.run_id
        if run is not None:
            self.call(
                lambda cdap: cdap.runs.group_errors(run),
                on_result=self._show_errors,
                group="errors",
            )

    def _show_errors(self, groups: list[ErrorGroup]) -> None:
        text = sanitize_lines("\n\n".join(map(_format_group, groups)))
        self.app.push_screen(TextDialog("errors by kind", text, "errors", ".log"))

    def action_copy_line(self) -> None:
        line = self.view.line
        if line is not None:
            self.studio.copy_text(format_plain_line(line), "line")

    def action_copy_visible(self) -> None:
        self.studio.copy_text(
            "\n".join(map(format_plain_line, self.view.visible_lines)), "visible lines"
        )

    @work
    async def action_save(self) -> None:
        run, filter = self.run_id, self._filter
        if run is None:
            return
        file = await self.studio.pick_file(
            "Save the filtered lines",
            suffixes=(".log", ".txt"),
            for_saving=True,
            typed=f"run-{run[:8]}.log",
        )
        if file is not None:
            self.call(
                lambda cdap: save_log(cdap, run, filter, file),
                on_result=lambda count: self.studio.show_notice(
                    f"Wrote {count:,} lines.", str(file)
                ),
            )

    # -- messages ------------------------------------------------------------------------------

    @on(Input.Changed, "#log-input")
    def _search_typed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one("#log-hits", Static).update("")
        if event.value:
            self.view.find(event.value, start=self._start)
        else:
            self.view.search = ""

    @on(Input.Submitted, "#log-input")
    def _focus_view(self, event: Input.Submitted) -> None:
        event.stop()
        self.view.focus()

    def on_log_view_updated(self, event: LogView.Updated) -> None:
        event.stop()
        self.summary, self.is_ended = event.summary, event.is_ended
        self._update_state()
        self._update_keys()

    def on_log_view_search_finished(self, event: LogView.SearchFinished) -> None:
        event.stop()
        self.query_one("#log-hits", Static).update(_format_hit(event.hit))
        self._update_keys()

    # -- the shown state -------------------------------------------------------------------------

    @property
    def _filter(self) -> LogFilter:
        return LogFilter(self.level, self.stage)

    def _show(self) -> None:
        self.view.show(self.run_id, self._filter)
        self._update_state()

    def _update_keys(self) -> None:
        """Redraw the footer when other keys work than before."""
        reasons = [self.explain_disabled(action) for action in _CONDITIONAL]
        if reasons != self._reasons:
            self._reasons = reasons
            self.refresh_bindings()

    def _update_state(self) -> None:
        self.query_one("#log-state", StateLine).show_parts(self._build_state())

    def _build_state(self) -> Iterable[StatusPart]:
        """Yield the parts of the line below the log. A click on a part does what its key does."""
        view, counts = self.view, self.summary.levels
        shown, total = view.count, sum(counts.values())
        if self.run_id is None:
            yield "no run", "", ""
            return
        yield f"{shown:,} of {total:,} lines" if shown != total else f"{total:,} lines", "", ""
        for level in _COUNTED_LEVELS:
            if counts.get(level):
                colour = "$text-warning" if level == "WARNING" else "$text-error"
                yield _format_count(level, counts[level]), colour, ""
        yield "all levels" if self.level == LEVELS[0] else f"{self.level} and above", "", "level"
        yield _format_stage(self.stage), "", "stage"
        yield "wrapped" if view.wraps else "not wrapped", "", "wrap"
        if self.is_ended:
            yield "ended", "", ""
        else:
            yield "● following" if view.follows else "○ not following", "", "follow_end"


def _format_stage(stage: str | None) -> str:
    if stage is None:
        return "all stages"
    return sanitize_name(stage) or "no stage"


def _format_count(level: str, count: int) -> str:
    return f"{count:,} critical" if level == "CRITICAL" else plural(count, level.lower())


def _format_hit(hit: LogHit | None) -> str:
    return "not found" if hit is None else f"{hit.place:,} of {hit.hits:,}"


def _format_group(group: ErrorGroup) -> str:
    stage = f"[{group.stage}] " if group.stage else ""
    lines = [f"{group.count:,} × {stage}{group.kind}", *map(format_plain_line, group.first)]
    if group.count > len(group.first):
        lines.append(f"… and {plural(group.count - len(group.first), 'error')} more of this kind")
    return "\n".join(lines)
