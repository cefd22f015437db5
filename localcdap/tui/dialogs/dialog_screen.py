"""The base of all dialogs, and the plain ones: questions, texts, notices, an instance that is refused.

A question is yes or no, the name of a thing typed once more, or one line of text. Texts are shown to be
read and copied. The notices of the studio are kept so that users can read them later.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from textual import on, work
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen, ScreenResultType
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Button, Footer, Input, Static, TextArea
from textual.widgets.button import ButtonVariant

from localcdap.api.errors import LocalcdapError, SettingsError
from localcdap.text import sanitize_for_terminal
from localcdap.tui.studio import StudioNode
from localcdap.tui.textual_internals.app import RefreshedScreen


class DialogScreen(StudioNode, RefreshedScreen[ScreenResultType], ModalScreen[ScreenResultType]):
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


class BlocksDialog(DialogScreen[bool]):
    """Shows blocks, each with an empty line below it.

    :param verb: the action that enter confirms, such as ``Deploy``; the answer is then True. Without a verb,
        enter does nothing.
    :param hints: those of the keys of a subclass.
    """

    DEFAULT_CSS = """
    BlocksDialog {
        & > #dialog { width: 100; }
        & #dialog-blocks { height: auto; max-height: 28; margin-bottom: 1; scrollbar-size-vertical: 1; }
        & #dialog-blocks > Static { height: auto; margin-bottom: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "copy", id="lines.copy"),
        Binding("enter", "accept", "confirm", id="lines.accept", show=False),
        Binding("j,down", "scroll(1)", "down", show=False),
        Binding("k,up", "scroll(-1)", "up", show=False),
        Binding("q", "dismiss_empty", "back", show=False),
    ]

    def __init__(
        self, title: Content, blocks: Sequence[Content], *, verb: str = "", hints: str = ""
    ) -> None:
        super().__init__()
        self._title = title
        self._blocks = blocks
        self._verb = verb
        self._hints = hints

    def compose_body(self) -> ComposeResult:
        yield Static(id="dialog-title")
        yield VerticalScroll(id="dialog-blocks")
        keys = f"enter {self._verb.lower()}  " if self._verb else ""
        yield Static(Content(f"{keys}{self._hints}y copy  escape back"), id="dialog-keys")

    def on_mount(self) -> None:
        self.show(self._title, self._blocks)

    def show(self, title: Content, blocks: Sequence[Content]) -> None:
        """Show another title and other blocks."""
        self._title, self._blocks = title, blocks
        self.query_one("#dialog-title", Static).update(title)
        scroll = self.query_one(VerticalScroll)
        scroll.remove_children()
        scroll.mount_all(Static(block) for block in blocks)
        scroll.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "accept" or bool(self._verb)

    def action_accept(self) -> None:
        self.dismiss(True)

    def action_copy(self) -> None:
        self.studio.copy_text("\n\n".join(map(str, (self._title, *self._blocks))), "lines")

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)


class LinesDialog(BlocksDialog):
    """Shows lines under titles.

    :param title: of the whole.
    :param parts: titles with their lines.
    :param warning: a line below the title; empty for none.
    :param verb: as that of :class:`BlocksDialog`.
    """

    def __init__(
        self,
        title: str,
        parts: Sequence[tuple[str, Sequence[str]]],
        *,
        warning: str = "",
        verb: str = "",
    ) -> None:
        heading = Content(sanitize_for_terminal(title))
        if warning:
            text = sanitize_for_terminal(warning)
            heading += Content.styled(f"\n{text}", "$text-warning not bold")
        super().__init__(heading, [_build_block(*part) for part in parts], verb=verb)


def _build_block(title: str, lines: Sequence[str]) -> Content:
    texts = [Content(f"  {sanitize_for_terminal(line)}") for line in lines]
    return Content("\n").join(
        [Content.styled(sanitize_for_terminal(title), "$text-accent"), *texts]
    )


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


_KEPT: Final = 200
MARKS: Final = {"information": "·", "warning": "!", "error": "✗"}
"""The glyph of each severity, which its colour repeats."""
_STYLES: Final = {"information": "$foreground 60%", "warning": "$warning", "error": "$error"}


@dataclass(frozen=True)
class Notice:
    """:param at: seconds since the epoch."""

    at: float
    severity: SeverityLevel
    title: str
    detail: str = ""


class Notices:
    """The last notices, oldest first."""

    def __init__(self) -> None:
        self._kept: deque[Notice] = deque(maxlen=_KEPT)

    def add(self, severity: SeverityLevel, title: str, detail: str = "") -> None:
        self._kept.append(Notice(time.time(), severity, title, detail))

    def __iter__(self) -> object:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def newest_first(self) -> list[Notice]:
        return list(reversed(self._kept))


class NoticesDialog(BlocksDialog):
    """The notices, newest first."""

    DEFAULT_CSS = "NoticesDialog #dialog-blocks { max-height: 100%; }"

    def __init__(self, notices: Notices) -> None:
        blocks = [_render_notice(notice) for notice in notices.newest_first]
        super().__init__(Content("Notices, newest first"), blocks or [Content("Nothing yet.")])


def _render_notice(notice: Notice) -> Content:
    when = time.strftime("%H:%M:%S", time.localtime(notice.at))
    first = Content.assemble(
        (f"{when} {MARKS[notice.severity]} ", _STYLES[notice.severity]), (notice.title, "bold")
    )
    if not notice.detail:
        return first
    indented = "\n".join(f"           {line}" for line in notice.detail.splitlines())
    return Content.assemble(first, "\n", indented)


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
