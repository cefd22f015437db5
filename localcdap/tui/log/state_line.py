"""A line that says how things are, with words that can be clicked to change them."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

StatusPart = tuple[str, str, str]
"""Text, style, and the action that a click on it asks for; both may be empty."""


class StateLine(Static):
    """Says several things beside each other. Posts :class:`ActionRequested` for its parent to act on."""

    class ActionRequested(Message):
        """A click asks for an action of the widget that the line belongs to."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def tell(self, parts: Iterable[StatusPart]) -> None:
        """Say these things, instead of what was said before."""
        told: list[Content] = []
        for text, style, action in parts:
            part = Content(text).stylize(style) if style else Content(text)
            told.append(part.stylize(f"@click=ask('{action}')") if action else part)
        self.update(Content("  ").join(told))

    def action_ask(self, action: str) -> None:
        self.post_message(self.ActionRequested(action))
