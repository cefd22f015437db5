"""A dialog that lists lines under titles, to read and to copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.text import sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen


class LinesDialog(DialogScreen[bool]):
    """Shows lines under titles.

    :param title: of the whole.
    :param parts: titles with their lines.
    :param warning: a line below the title; empty for none.

    :param verb: the action that enter confirms, such as ``Deploy``; the answer is then True. Without a verb,
        enter does nothing.
    """

    DEFAULT_CSS = """
    LinesDialog {
        & > #dialog { width: 100; }
        & #lines-blocks { height: auto; max-height: 28; margin-bottom: 1; scrollbar-size-vertical: 1; }
        & #lines-blocks > Static { height: auto; margin-bottom: 1; }
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
        self,
        title: str,
        parts: Sequence[tuple[str, Sequence[str]]],
        *,
        warning: str = "",
        verb: str = "",
    ) -> None:
        super().__init__()
        self._title = title
        self._parts = parts
        self._warning = warning
        self._verb = verb

    def compose_body(self) -> ComposeResult:
        title = Content(sanitize_for_terminal(self._title))
        if self._warning:
            warning = sanitize_for_terminal(self._warning)
            title += Content.styled(f"\n{warning}", "$text-warning not bold")
        yield Static(title, id="dialog-title")
        with VerticalScroll(id="lines-blocks"):
            for block in self._list_blocks():
                yield Static(block)
        keys = f"enter {self._verb.lower()}  " if self._verb else ""
        yield Static(Content(f"{keys}y copy  escape back"), id="dialog-keys")

    def _list_blocks(self) -> list[Content]:
        return [
            Content("\n").join(
                [
                    Content.styled(sanitize_for_terminal(title), "$text-accent"),
                    *(Content(f"  {sanitize_for_terminal(line)}") for line in lines),
                ]
            )
            for title, lines in self._parts
        ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "accept" or bool(self._verb)

    def action_accept(self) -> None:
        self.dismiss(True)

    def action_copy(self) -> None:
        text = "\n\n".join(str(block) for block in self._list_blocks())
        self.studio.copy_text(f"{self._title}\n\n{text}", "lines")

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)
