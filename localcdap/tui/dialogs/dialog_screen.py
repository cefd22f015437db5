"""The base of all dialogs: their frame, and the parts that most of them have."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget
from textual.widgets import Button, Footer, Static
from textual.widgets.button import ButtonVariant

from localcdap.api.errors import LocalcdapError
from localcdap.text import sanitize_for_terminal
from localcdap.tui.studio import StudioNode


class DialogScreen(StudioNode, ModalScreen[ScreenResultType]):
    """A dialog over a screen; ``escape`` and the button Cancel close it without an answer.

    A subclass implements :meth:`compose_body` and sets the width of the frame ``#dialog``. The ids
    ``dialog-title``, ``dialog-problem`` and ``dialog-keys`` give a text its style, as the class ``row`` does
    with a field of a form; see :func:`create_row`.
    """

    DEFAULT_CSS = """
    DialogScreen {
        align: center middle;
        background: $background 60%;
        & > #dialog {
            max-width: 96%; height: auto; max-height: 90%; padding: 1 2; background: $surface;
        }
        & #dialog-title { height: auto; text-style: bold; margin-bottom: 1; }
        & #dialog-problem { height: auto; color: $text-error; }
        & #dialog-keys { height: 1; color: $foreground 60%; }
        & #dialog-buttons { height: auto; margin-top: 1; align-horizontal: right; }
        & #dialog-buttons > Button { margin-left: 2; min-width: 12; }
        & .row { height: auto; }
        & .row > .label { width: 20; color: $text-muted; }
        & .row > Input { width: 1fr; border: none; height: 1; padding: 0 1; background: $panel; }
        & .row > TextArea { width: 1fr; border: none; padding: 0 1; background: $panel; }
    }
    """
    BINDINGS = [("escape", "dismiss_empty", "back")]
    HAS_FOOTER: ClassVar[bool] = False
    """Whether the last line of the screen shows the keys of the dialog."""
    _is_answered = False

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield from self.compose_body()
        if self.HAS_FOOTER:
            yield Footer(show_command_palette=False)

    def compose_body(self) -> ComposeResult:
        """Yield the widgets of the frame."""
        yield from ()

    def compose_buttons(self, verb: str, variant: ButtonVariant = "primary") -> ComposeResult:
        """Yield the buttons: Cancel, and one with a label for :meth:`action_accept`."""
        with Horizontal(id="dialog-buttons"):
            yield Button("Cancel", id="cancel", compact=True)
            yield Button(verb, id="accept", variant=variant, compact=True)

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with an answer. Later answers, such as that of a second click, are ignored."""
        if self._is_answered or self.app.screen is not self:
            return AwaitComplete()
        self._is_answered = True
        return super().dismiss(result)

    def action_dismiss_empty(self) -> None:
        self.dismiss(None)

    def action_accept(self) -> None:
        """Close with the answer of the dialog, or show why that is impossible."""

    def show_problem(self, text: str) -> None:
        """Show in ``#dialog-problem`` what is wrong; an empty text clears it."""
        self.query_one("#dialog-problem", Static).update(Content(sanitize_for_terminal(text)))

    def show_error(self, error: LocalcdapError) -> None:
        """Show an error of a service in ``#dialog-problem``."""
        self.show_problem(error.full_message)

    @on(Button.Pressed, "#cancel")
    def _press_cancel(self) -> None:
        self.action_dismiss_empty()

    @on(Button.Pressed, "#accept")
    def _press_accept(self) -> None:
        self.action_accept()


def create_row(label: str, *fields: Widget) -> Horizontal:
    """Return a row of a form: a label, and what stands right of it."""
    return Horizontal(Static(Content(label), classes="label"), *fields, classes="row")


def create_title(title: str, note: str) -> Static:
    """Return a title with a muted note behind it."""
    muted = "$foreground 60% not bold"
    return Static(Content.assemble(title, (f"  {note}", muted)), id="dialog-title")
