"""A dialog with a text to read, such as a whole value or a whole line of a log."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static, TextArea

from localcdap.tui.dialogs.dialog_screen import DialogScreen


class TextDialog(DialogScreen[None]):
    """Shows a text, which can be selected, copied, and opened in the editor of the user.

    :param what: what the text is, such as ``value``.
    :param suffix: the suffix of the file that the editor opens.
    """

    DEFAULT_CSS = """
    TextDialog {
        & > #dialog { width: 90%; max-height: 80%; }
        & TextArea {
            height: auto; max-height: 70vh; min-height: 3; border: none; padding: 0; background: $surface;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "copy", id="text.copy"),
        Binding("e", "edit", "open in $EDITOR", id="text.edit"),
        Binding("w", "wrap", "wrap", id="text.wrap"),
        Binding("q,enter", "dismiss_empty", "back", show=False),
    ]
    HAS_FOOTER = True

    def __init__(self, title: str, text: str, what: str, suffix: str = ".txt") -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._what = what
        self._suffix = suffix

    def compose_body(self) -> ComposeResult:
        yield Static(Content(self._title), id="dialog-title")
        yield TextArea(self._text, read_only=True, soft_wrap=True, show_cursor=False)

    def action_copy(self) -> None:
        """Copy what is selected, else the whole text."""
        area = self.query_one(TextArea)
        self.studio.copy_text(area.selected_text or self._text, self._what)

    def action_wrap(self) -> None:
        area = self.query_one(TextArea)
        area.soft_wrap = not area.soft_wrap

    @work
    async def action_edit(self) -> None:
        await self.studio.edit_text(self._text, self._suffix)
