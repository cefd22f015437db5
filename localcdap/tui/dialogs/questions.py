"""Questions to the user: yes or no, the name of a thing typed once more, one line of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ScreenResultType
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static
from textual.widgets.button import ButtonVariant

from localcdap.tui.dialogs.dialog_screen import DialogScreen


class Question(DialogScreen[ScreenResultType]):
    """A question with a detail below it, a way to answer and buttons."""

    DEFAULT_CSS = """
    Question {
        & > #dialog { width: 64; }
        & #dialog-detail { color: $text-muted; height: auto; }
        & #dialog-input { margin: 1 0 0 0; border: none; height: 1; padding: 0 1; background: $boost; }
    }
    """
    variant: ClassVar[ButtonVariant] = "primary"

    def __init__(self, question: str, detail: str, verb: str) -> None:
        super().__init__()
        self._question = question
        self._detail = detail
        self._verb = verb

    def compose_body(self) -> ComposeResult:
        yield Static(Content(self._question), id="dialog-title")
        if self._detail:
            yield Static(Content(self._detail), id="dialog-detail")
        yield from self.compose_answer()
        yield from self.compose_buttons(self._verb, self.variant)

    def compose_answer(self) -> ComposeResult:
        """Yield the field of the answer, if there is one."""
        yield from ()


class ConfirmDialog(Question[bool]):
    """Asks before what cannot be undone. ``y`` and ``n`` answer too; the safe answer has the focus."""

    AUTO_FOCUS = "#cancel"
    variant = "error"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", show=False),
        Binding("n", "answer(False)", "no", show=False),
        Binding("left,h,right,l", "app.focus_next", "other answer", show=False),
    ]

    def action_accept(self) -> None:
        self.dismiss(True)

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class InputDialog(Question[str]):
    """Asks for one line.

    :param check: what is wrong with an answer, or None.
    :param suggestions: what the line may be completed to.
    """

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
        self.show_problem("")

    @on(Input.Submitted)
    def action_accept(self) -> None:
        value = self.query_one(Input).value
        problem = self._check(value) if self._check is not None else None
        if problem is None:
            self.dismiss(value)
        else:
            self.show_problem(problem)


class TypedConfirmDialog(InputDialog):
    """Asks for the name of what will be gone for good."""

    variant = "error"

    def __init__(self, name: str, question: str, detail: str = "", verb: str = "Delete") -> None:
        super().__init__(
            question,
            detail=f"{detail}\nType '{name}' to go on. This cannot be undone.".strip(),
            verb=verb,
            check=lambda typed: None if typed.strip() == name else f"That is not '{name}'.",
        )
