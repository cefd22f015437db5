"""A line that shows a state in parts; a click on a part can change it."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widgets import Static

from localcdap.tui.studio import run_explained

StatusPart = tuple[str, str, str]
"""Text, style, and the action of a click; style and action may be empty."""


class StateLine(Static):
    """Shows several parts; a click runs the action of a part, which the widget around the line has."""

    def show_parts(self, parts: Iterable[StatusPart]) -> None:
        """Show these parts."""
        contents: list[Content] = []
        for text, style, action in parts:
            part = Content(text).stylize(style) if style else Content(text)
            contents.append(part.stylize(f"@click=request('{action}')") if action else part)
        self.update(Content("  ").join(contents))

    async def action_request(self, action: str) -> None:
        await run_explained(self, action)
