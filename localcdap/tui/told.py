"""Texts that change often but are mostly the same."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static


class Told(Static):
    """Some lines. They are laid out anew only when they differ: a layout costs more than a keystroke may."""

    def __init__(self, *, classes: str | None = None, content: Content | None = None) -> None:
        super().__init__(content or Content(), classes=classes)
        self._told = content or Content()

    @property
    def told(self) -> Content:
        return self._told

    def put(self, content: Content) -> None:
        before, self._told = self._told, content
        if (before.plain, before.spans) != (content.plain, content.spans):
            self.update(content, layout=_size(before) != _size(content))

    def put_lines(self, lines: Sequence[Content]) -> None:
        """Show lines; with none of them it is not there."""
        self.put(Content("\n").join(lines))
        self.display = bool(lines)


def _size(content: Content) -> tuple[int, int]:
    lines = content.plain.split("\n")
    return len(lines), max(map(len, lines))
