"""The dialog that is shown when the instance cannot be opened."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError, SettingsError
from localcdap.tui.dialogs.dialog_screen import DialogScreen

Way = Literal["again", "edit", "leave"]


class OpenFailedDialog(DialogScreen[Way]):
    """Shows why the instance cannot be opened; the result is what the user wants to do."""

    DEFAULT_CSS = """
    OpenFailedDialog {
        & > #dialog { width: 84; }
        & #dialog-title { color: $text-error; }
        & #unopened-why { height: auto; max-height: 14; margin-bottom: 1; }
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

    def compose_body(self) -> ComposeResult:
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
        yield Static("✗ The instance cannot be opened", id="dialog-title")
        with VerticalScroll(id="unopened-why"):
            yield Static(Content(f"{message}\n{action or ''}".strip()))
        yield Static(keys, id="dialog-keys")

    @property
    def _may_edit(self) -> bool:
        return isinstance(self._error, SettingsError)

    def action_answer(self, way: Way) -> None:
        if way != "edit" or self._may_edit:
            self.dismiss(way)
