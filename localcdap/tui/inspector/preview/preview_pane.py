"""The records of a stage in the last preview."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from localcdap.host.cdap import Cdap
from localcdap.runs.preview.model import Preview, PreviewStatus
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.preview.sample_view import SampleView, read_preview_sample
from localcdap.tui.labels import format_status
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import StudioNode
from localcdap.tui.widgets.lines import CachedStatic

_POLL_S: Final = 2.0
_MOST_FAILURES: Final = 5
_GOOD: Final = PreviewStatus.COMPLETED


class PreviewPane(StudioNode, Vertical):
    """Follows a preview while it runs."""

    DEFAULT_CSS = """
    PreviewPane { height: 1fr; }
    PreviewPane > .state { height: auto; padding: 0 1; }
    """

    def __init__(self, editor: Editor) -> None:
        super().__init__()
        self._editor = editor
        self._stage: str | None = None
        self._preview: Preview | None = None
        self._following: FollowedSource | None = None
        self._is_looking = False

    def compose(self) -> ComposeResult:
        yield CachedStatic(classes="state")
        yield SampleView()

    def on_mount(self) -> None:
        self._draw()

    @property
    def preview(self) -> Preview | None:
        """The preview that is shown; None without a preview."""
        return self._preview

    def get_records(self, stage: str) -> list[object] | None:
        """Return the output records of a stage in the preview; None when the preview has none."""
        sample = self._preview.stages.get(stage) if self._preview is not None else None
        return None if sample is None or sample.ports else sample.records

    def show_stage(self, stage: str | None) -> None:
        if stage != self._stage:
            self._stage = stage
            self._draw()

    def find_newest(self) -> None:
        """Show the newest preview of the pipeline, unless the pane shows a preview already."""
        if self._preview is None and not self._is_looking:
            self._is_looking = True
            namespace, title = self._editor.namespace, self._editor.title

            def newest(cdap: Cdap) -> Preview | None:
                listed = cdap.previews.list_previews(namespace)
                return next((each for each in listed if each.pipeline == title), None)

            self.call(newest, self._follow_newest, group="newest")

    def follow_preview(self, preview: str) -> None:
        """Show a preview and its progress."""
        if self._following is not None:
            self._following.stop()
        source = partial(_follow_states, self._editor.namespace, preview)
        self._following = self.follow(source, self._take, on_error=lambda _: self._stop_following())

    def _follow_newest(self, newest: Preview | None) -> None:
        self._is_looking = False
        if newest is not None and self._preview is None:
            self.follow_preview(newest.preview)

    def _stop_following(self) -> None:
        if self._following is not None:
            self._following.stop()
            self._following = None

    def _take(self, preview: Preview) -> None:
        before, self._preview = self._preview, preview
        stage = self._stage
        same = before is not None and before.preview == preview.preview and stage is not None
        if (
            same
            and before is not None
            and before.stages.get(stage or "") is preview.stages.get(stage or "")
        ):
            self._show_state()
            return
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        view, preview, stage = self.query_one(SampleView), self._preview, self._stage
        self._show_state()
        if preview is None:
            view.show_note("No preview yet: v previews the pipeline on a few records.")
        elif stage is None or stage not in preview.stages:
            waits = (
                "has not reached this stage yet"
                if not preview.status.is_end
                else "has no records of this stage"
            )
            view.show_note(f"The preview {waits}.")
        else:
            view.show_result(read_preview_sample(preview.stages[stage]))

    def _show_state(self) -> None:
        preview = self._preview
        lines: list[Content] = []
        if preview is not None:
            status = preview.status
            glyph = "…" if not status.is_end else "✓" if status is _GOOD else "✗"
            lines.append(
                Content.styled(f"{glyph} preview {format_status(status)}", "$foreground 60%")
            )
            for each in preview.errors[:_MOST_FAILURES]:
                lines += _render_failure(each.stage, each.message, each.corrective_action)
            if len(preview.errors) > _MOST_FAILURES:
                more = f"… and {len(preview.errors) - _MOST_FAILURES} more"
                lines.append(Content.styled(more, "$foreground 60%"))
            error = preview.error
            sample = preview.stages.get(self._stage or "")
            shown = {each.message for each in sample.problems} if sample is not None else set()
            if error is not None and error.message not in shown:
                lines += _render_failure(error.stage, error.message, error.corrective_action)
        self.query_one(".state", CachedStatic).update_lines(lines)


def _render_failure(stage: str | None, message: str, action: str | None) -> Iterator[Content]:
    where = f"Stage '{stage}': " if stage else ""
    if message.startswith(where):
        where = ""
    yield Content.styled(f"✗ {where}{message}", "$text-error")
    if action:
        yield Content(f"  {action}")


def _follow_states(namespace: str, preview: str, cdap: Cdap) -> Iterator[Preview]:
    """Yield the preview after each change and after each poll, until it has ended."""
    found = cdap.previews.get(namespace, preview)
    yield found
    while not found.status.is_end:
        found = cdap.previews.wait(namespace, preview, found.version, _POLL_S)
        yield found
