"""The dialog that shows a whole value."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static, TextArea

from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.records.values import escape_unprintable, format_full


class ValueDialog(DialogScreen[None]):
    """Shows a whole value to read and to copy from.

    :param position: the row and the column of the value, such as ``row 3, address``.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "back", id="records.back"),
        Binding("y", "copy", "copy", id="records.copy_value"),
    ]
    DEFAULT_CSS = """
    ValueDialog > #dialog { width: 80%; max-width: 110; max-height: 80%; }
    ValueDialog TextArea {
        height: auto; max-height: 30; min-height: 3; border: none; padding: 0; background: $surface;
    }
    """
    HAS_FOOTER = True

    def __init__(self, position: str, type: str, value: Any) -> None:
        super().__init__()
        self._position = position
        self._type = type
        self._value = value

    def compose_body(self) -> ComposeResult:
        yield Static(f"{self._position} · {self._type}", markup=False, id="dialog-title")
        text = "null" if self._value is None else escape_unprintable(format_full(self._value))
        yield TextArea(text, read_only=True, soft_wrap=True, show_cursor=False)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(format_full(self._value))
        self.notify("Copied.", timeout=2)
