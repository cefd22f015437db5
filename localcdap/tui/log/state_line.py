"""A line that shows a state in parts; a click on a part can change it."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

StatusPart = tuple[str, str, str]
"""Text, style, and the action of a click; style and action may be empty."""


class StateLine(Static):
    """Shows several parts next to each other, and posts :class:`ActionRequested` for a click."""

    class ActionRequested(Message):
        """A click requests an action of the widget that contains the line."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def show_parts(self, parts: Iterable[StatusPart]) -> None:
        """Show these parts."""
        contents: list[Content] = []
        for text, style, action in parts:
            part = Content(text).stylize(style) if style else Content(text)
            contents.append(part.stylize(f"@click=request('{action}')") if action else part)
        self.update(Content("  ").join(contents))

    def action_request(self, action: str) -> None:
        self.post_message(self.ActionRequested(action))
