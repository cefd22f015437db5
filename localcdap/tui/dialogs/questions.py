"""Questions to the user: yes or no, the name of a thing typed once more, one line of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ScreenResultType
from textual.suggester import SuggestFromList
from textual.widgets import Button, Input, Static
from textual.widgets.button import ButtonVariant

from localcdap.tui.dialogs.dialog_screen import DialogScreen

_STYLES = """
{name} {{
    align: center middle;
    background: $background 60%;
    & > #dialog {{ width: 64; max-width: 96%; height: auto; padding: 1 2; background: $surface; }}
    & #dialog-question {{ text-style: bold; height: auto; }}
    & #dialog-detail {{ color: $text-muted; height: auto; padding: 1 0 0 0; }}
    & #dialog-input {{ margin: 1 0 0 0; border: none; height: 1; padding: 0 1; background: $boost; }}
    & #dialog-problem {{ color: $text-error; height: auto; }}
    & #dialog-buttons {{ height: auto; margin-top: 1; align-horizontal: right; }}
    & Button {{ margin-left: 2; min-width: 12; }}
}}
"""


class _Question(DialogScreen[ScreenResultType]):
    def __init__(self, question: str, detail: str, verb: str) -> None:
        super().__init__()
        self._question = question
        self._detail = detail
        self._verb = verb

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(Content(self._question), id="dialog-question")
            if self._detail:
                yield Static(Content(self._detail), id="dialog-detail")
            yield from self.compose_answer()
            with Horizontal(id="dialog-buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button(self._verb, id="do", variant=self.variant, compact=True)

    variant: ClassVar[ButtonVariant] = "primary"

    def compose_answer(self) -> ComposeResult:
        yield from ()

    @on(Button.Pressed, "#cancel")
    def action_dismiss_empty(self) -> None:
        self.dismiss(None)


class ConfirmDialog(_Question[bool]):
    """Asks before what cannot be undone. ``y`` and ``n`` answer too; the safe answer has the focus."""

    DEFAULT_CSS = _STYLES.format(name="ConfirmDialog")
    AUTO_FOCUS = "#cancel"
    variant = "error"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", show=False),
        Binding("n", "answer(False)", "no", show=False),
        Binding("left,h,right,l", "app.focus_next", "other answer", show=False),
    ]

    @on(Button.Pressed, "#do")
    def _do(self) -> None:
        self.dismiss(True)

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class InputDialog(_Question[str]):
    """Asks for one line.

    :param check: what is wrong with an answer, or None.
    :param suggestions: what the line may be completed to.
    """

    DEFAULT_CSS = _STYLES.format(name="InputDialog")
    AUTO_FOCUS = "#dialog-input"

    def __init__(
        self,
        question: str,
        value: str = "",
        *,
        detail: str = "",
        verb: str = "OK",
        check: Callable[[str], str | None] | None = None,
        suggestions: Sequence[str] = (),
        password: bool = False,
    ) -> None:
        super().__init__(question, detail, verb)
        self._value = value
        self._check = check
        self._suggestions = suggestions
        self._password = password

    def compose_answer(self) -> ComposeResult:
        suggester = SuggestFromList(self._suggestions, case_sensitive=False)
        yield Input(
            self._value,
            id="dialog-input",
            compact=True,
            password=self._password,
            suggester=suggester if self._suggestions else None,
        )
        yield Static(id="dialog-problem")

    @on(Input.Changed)
    def _clear_problem(self) -> None:
        self.query_one("#dialog-problem", Static).update("")

    @on(Input.Submitted)
    @on(Button.Pressed, "#do")
    def _do(self) -> None:
        value = self.query_one(Input).value
        problem = self._check(value) if self._check is not None else None
        if problem is None:
            self.dismiss(value)
        else:
            self.query_one("#dialog-problem", Static).update(Content(problem))


class TypedConfirmDialog(InputDialog):
    """Asks for the name of what will be gone for good."""

    DEFAULT_CSS = _STYLES.format(name="TypedConfirmDialog")
    variant = "error"

    def __init__(self, name: str, question: str, detail: str = "", verb: str = "Delete") -> None:
        super().__init__(
            question,
            detail=f"{detail}\nType '{name}' to go on. This cannot be undone.".strip(),
            verb=verb,
            check=lambda typed: None if typed.strip() == name else f"That is not '{name}'.",
        )
