"""The line above an open pipeline: its name, its validation, its run."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from textual.content import Content

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import Run, describe_state, get_now
from localcdap.runs.preview.model import Preview, PreviewStatus
from localcdap.text import plural
from localcdap.tui.document.editor import Editor
from localcdap.tui.labels import format_status
from localcdap.tui.widgets.lines import CachedStatic

_GOOD: Final = (RunStatus.COMPLETED, PreviewStatus.COMPLETED)
_PHASES: Final[dict[RunStatus | PreviewStatus, str]] = {
    RunStatus.PENDING: "starting Spark",
    RunStatus.STARTING: "preparing",
    PreviewStatus.WAITING: "waiting for other previews",
    PreviewStatus.INIT: "starting Spark",
}
"""What happens before records are read, by status."""
_BAD: Final = (
    RunStatus.FAILED,
    RunStatus.KILLED,
    PreviewStatus.DEPLOY_FAILED,
    PreviewStatus.RUN_FAILED,
    PreviewStatus.KILLED,
    PreviewStatus.KILLED_BY_TIMER,
)


class TitleBar(CachedStatic):
    """Shows the name and validation of a pipeline, and its run or preview."""

    DEFAULT_CSS = """
    TitleBar { height: 1; padding: 0 1; background: $surface; color: $text; }
    """

    def __init__(self, editor: Editor) -> None:
        super().__init__()
        self._editor = editor
        self._activity: Run | Preview | None = None

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)
        self._editor.document_changed.subscribe(self, lambda _: self._show())
        self._editor.validation_changed.subscribe(self, lambda _: self._show())
        self._show()

    def on_resize(self) -> None:
        self._show()

    def show_activity(self, activity: Run | Preview | None) -> None:
        """Show a run or a preview; None for neither."""
        self._activity = activity
        self._show()

    def _tick(self) -> None:
        """Show the time of the phase before records are read."""
        if self._activity is not None and self._activity.status in _PHASES:
            self._show()

    def _show(self) -> None:
        editor = self._editor
        mark = " ● changed" if editor.is_changed else ""
        outside = " ! file changed outside: f5" if editor.is_file_changed else ""
        left = Content.assemble(
            (editor.title, "bold"),
            (f"  {editor.source.kind}", "$foreground 60%"),
            (mark, "$text-accent"),
            (outside, "$text-warning"),
        )
        activity = self._activity
        shown = _format_activity(activity) if activity is not None else ""
        right = Content.assemble(shown, format_validation(editor))
        space = self.size.width - 2 - cell_len(left.plain) - cell_len(right.plain)
        if space < 1:
            left = left.truncate(max(self.size.width - 4 - cell_len(right.plain), 8), ellipsis=True)
            space = 1
        self.update_if_changed(Content.assemble(left, " " * space, right))


def format_validation(editor: Editor) -> Content:
    """Return the failures and warnings of a pipeline in a few words."""
    failures, warnings = editor.failures, editor.warnings
    if not editor.is_known:
        return Content.styled("… opening", "$foreground 60%")
    parts: list[tuple[str, str]] = []
    if failures:
        stages = {failure.stage for failure in failures if failure.stage}
        where = f" in {plural(len(stages), 'stage')}" if stages else ""
        parts.append((f"✗ {plural(len(failures), 'failure')}{where}", "$text-error bold"))
    if editor.checking:
        parts.append((f"… checking {len(editor.checking)}", "$text-primary"))
    elif not failures:
        parts.append(("✓ valid", "$text-success"))
    if warnings:
        parts.append((f"! {plural(len(warnings), 'warning')}", "$text-warning"))
    shown: list[str | tuple[str, str]] = []
    for part in parts:
        shown += ["  ", part] if shown else [part]
    return Content.assemble(*shown)


def _format_activity(activity: Run | Preview) -> Content:
    status = activity.status
    what = "run" if isinstance(activity, Run) else "preview"
    word = format_status(status)
    if status in _GOOD:
        return Content.styled(f"✓ {what} {word}   ", "$text-success")
    if status in _BAD:
        return Content.styled(f"✗ {what} {word}   ", "$text-error")
    if status in _PHASES:
        began = activity.starting if isinstance(activity, Run) else activity.submit_time
        seconds = max(0, get_now() - began) // 1000
        phase = _PHASES[status]
        if isinstance(activity, Run) and activity.position:
            phase = describe_state(activity)
        return Content.styled(f"◌ {what}: {phase}, {seconds} s   ", "$text-accent")
    progress = ""
    if isinstance(activity, Run) and activity.progress is not None and activity.progress.tasks:
        done = activity.progress.tasks_done * 100 // activity.progress.tasks
        progress = f" {_format_bar(done)} {done} %"
    return Content.styled(f"▶ {what} {word}{progress}   ", "$text-accent")


def _format_bar(percent: int) -> str:
    full = round(percent / 10)
    return "━" * full + "─" * (10 - full)
