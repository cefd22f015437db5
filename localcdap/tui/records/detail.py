"""One value, whole: long texts, arrays and records."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Footer, Static, TextArea

from localcdap.tui.records.values import full_text, safe
from localcdap.tui.screen import DialogScreen


class Detail(DialogScreen[None]):
    """A value to read and copy from.

    :param place: where it stands, such as ``row 3, address``.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "back", id="records.back"),
        Binding("y", "copy", "copy", id="records.copy_value"),
    ]
    DEFAULT_CSS = """
    Detail { align: center middle; background: $background 60%; }
    Detail > Vertical {
        width: 80%; max-width: 110; height: auto; max-height: 80%;
        background: $surface; padding: 1 2;
    }
    Detail .place { color: $text-muted; height: 1; }
    Detail TextArea {
        height: auto; max-height: 30; min-height: 3; border: none; padding: 0; background: $surface;
    }
    """

    def __init__(self, place: str, type: str, value: Any) -> None:
        super().__init__()
        self._place = place
        self._type = type
        self._value = value

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(f"{self._place} · {self._type}", markup=False, classes="place")
            text = "null" if self._value is None else safe(full_text(self._value))
            yield TextArea(text, read_only=True, soft_wrap=True, show_cursor=False)
        yield Footer(show_command_palette=False)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(full_text(self._value))
        self.notify("Copied.", timeout=2)
