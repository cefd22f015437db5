"""The line in which directives are written: completion of names, and what is wrong, below it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from localcdap.tui.labels import sanitize_name
from localcdap.tui.screens.prep.menu import CURSOR
from localcdap.tui.studio import Debouncer

_PAUSE_S: Final = 0.15
_WORD: Final = re.compile(r"(?:^|(?<=[\s:,{(+*/=<>!&|-]))[\w-]+$")


class _DirectiveSuggester(Suggester):
    """Completes the word before the cursor: a directive at the beginning, else a column or a function."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.directives: Sequence[str] = ()
        self.columns: Sequence[str] = ()

    async def get_suggestion(self, value: str) -> str | None:
        word = _WORD.search(value)
        if word is None:
            if value.endswith(":") and self.columns:
                return value + self.columns[0]
            return None
        typed = word[0]
        names = self.directives if word.start() == 0 else self.columns
        found = next((each for each in names if each.startswith(typed) and each != typed), None)
        return None if found is None else value[: word.start()] + found


class DirectiveLine(Vertical):
    """An input for one directive, with a line for what is wrong."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back to the rows", id="prep.cancel"),
        Binding("tab", "complete", "complete", id="prep.complete", priority=True),
    ]
    DEFAULT_CSS = """
    DirectiveLine { height: 2; }
    DirectiveLine Input { border: none; height: 1; padding: 0 1; background: $surface; }
    DirectiveLine .problem { height: 1; padding: 0 1; color: $text-muted; }
    DirectiveLine .problem.-error { color: $text-error; }
    """

    class Changed(Message):
        """The text has changed, and its typist pauses."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Accepted(Message):
        """The text is to become a step."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The text is not wanted."""

    def compose(self) -> ComposeResult:
        self._suggester = _DirectiveSuggester()
        yield Input(
            placeholder="i writes a directive, m shows those that fit",
            suggester=self._suggester,
            compact=True,
            select_on_focus=False,
        )
        yield Static("", markup=False, classes="problem")

    def on_mount(self) -> None:
        self._pause = Debouncer(self, self._announce, _PAUSE_S)

    def on_unmount(self) -> None:
        self._pause.cancel()

    @property
    def input(self) -> Input:
        return self.query_one(Input)

    def write(self, directive: str) -> None:
        """Show a directive to be completed, with the cursor where a text is missing."""
        before, _, after = directive.partition(CURSOR)
        self.input.value = before + after
        self.input.cursor_position = len(before)
        self.input.focus()

    def clear(self) -> None:
        """Show no directive."""
        self._pause.cancel()
        with self.prevent(Input.Changed):
            self.input.value = ""
        self.show_problem("")

    def show_problem(self, text: str, *, is_error: bool = False) -> None:
        """Show what is wrong with the directive."""
        line = self.query_one(".problem", Static)
        line.update(sanitize_name(text))
        line.set_class(is_error, "-error")

    def know(self, columns: Sequence[str], directives: Sequence[str]) -> None:
        """Take the names that can be completed."""
        self._suggester.columns = columns
        self._suggester.directives = directives

    def action_complete(self) -> None:
        """Take the suggestion; without one, go to the next part of the screen."""
        before = self.input.value
        self.input.action_cursor_right()
        if self.input.value == before:
            self.screen.focus_next()

    def action_leave(self) -> None:
        self.clear()
        self.post_message(self.Left())

    def _announce(self) -> None:
        self.post_message(self.Changed(self.input.value.strip()))

    @on(Input.Changed)
    def _schedule(self, event: Input.Changed) -> None:
        event.stop()
        self._pause.schedule()

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        event.stop()
        self._pause.cancel()
        self.post_message(self.Accepted(event.value.strip()))
