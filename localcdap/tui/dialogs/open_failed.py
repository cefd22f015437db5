"""The dialog that is shown when the instance cannot be opened."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError, SettingsError
from localcdap.tui.dialogs.dialog_screen import DialogScreen

Way = Literal["again", "edit", "leave"]


class OpenFailedDialog(DialogScreen[Way]):
    """Shows why the instance cannot be opened; the result is what the user wants to do."""

    DEFAULT_CSS = """
    OpenFailedDialog {
        align: center middle;
        background: $background 60%;
        & > #unopened {
            width: 84; max-width: 96%; height: auto; max-height: 90%; padding: 1 2; background: $surface;
        }
        & #unopened-title { color: $text-error; text-style: bold; padding-bottom: 1; }
        & #unopened-why { height: auto; max-height: 14; }
        & #unopened-keys { padding-top: 1; color: $foreground 70%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r,enter", "answer('again')", "try again", show=False),
        Binding("e", "answer('edit')", "edit the settings", show=False),
        Binding("q,escape", "answer('leave')", "leave", show=False),
    ]

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def compose(self) -> ComposeResult:
        error = self._error
        message = (
            error.message
            if isinstance(error, LocalcdapError)
            else f"{type(error).__name__}: {error}"
        )
        action = error.corrective_action if isinstance(error, LocalcdapError) else None
        keys = "r try again   q leave"
        if self._may_edit:
            keys = f"e edit the settings   {keys}"
        with Vertical(id="unopened"):
            yield Static("✗ The instance cannot be opened", id="unopened-title")
            with VerticalScroll(id="unopened-why"):
                yield Static(Content(f"{message}\n{action or ''}".strip()))
            yield Static(keys, id="unopened-keys")

    @property
    def _may_edit(self) -> bool:
        return isinstance(self._error, SettingsError)

    def action_answer(self, way: Way) -> None:
        if way != "edit" or self._may_edit:
            self.dismiss(way)
