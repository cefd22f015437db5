"""A dialog that shows one line of a log with all its text."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static, TextArea

from localcdap.runs.model import StoredLogLine
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.log.layout import format_clock, sanitize_lines, sanitize_name


class LineDialog(DialogScreen[None]):
    """Shows a line of a log. Its text can be selected, copied, and opened in the editor of the user."""

    DEFAULT_CSS = """
    LineDialog {
        & > #dialog { width: 90%; height: 80%; }
        & TextArea { height: 1fr; border: none; padding: 0; background: $surface; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_text", "copy", id="log.copy_text"),
        Binding("e", "edit", "open in $EDITOR", id="log.edit"),
        Binding("w", "wrap", "wrap", id="log.wrap_text", show=False),
        Binding("q,enter", "dismiss_empty", "back", show=False),
    ]

    def __init__(self, line: StoredLogLine) -> None:
        super().__init__()
        self._line = line
        self._text = sanitize_lines(line.text)

    def compose_body(self) -> ComposeResult:
        line = self._line
        stage = f"  {sanitize_name(line.stage)}" if line.stage else ""
        title = (
            f"line {line.number:,}  {format_clock(line.time)}  {sanitize_name(line.level)}{stage}"
        )
        yield Static(Content(title), id="dialog-title")
        yield TextArea(self._text, read_only=True, soft_wrap=True, show_cursor=False)

    def action_copy_text(self) -> None:
        area = self.query_one(TextArea)
        self.studio.copy_text(area.selected_text or self._text, "text of the line")

    def action_wrap(self) -> None:
        area = self.query_one(TextArea)
        area.soft_wrap = not area.soft_wrap

    @work
    async def action_edit(self) -> None:
        await self.studio.edit_text(self._text, ".log")
