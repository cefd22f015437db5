"""Dialogs with blocks of text under a title, to read and to copy."""

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
