"""Texts that are updated often but seldom differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.css.styles import RulesMap


class CachedStatic(Static):
    """A text that is drawn only when it differs: a layout takes longer than a keystroke should."""

    def __init__(self, *, classes: str | None = None, content: Content | None = None) -> None:
        super().__init__(content or Content(), classes=classes)
        self._content = content or Content()

    @property
    def cached_content(self) -> Content:
        return self._content

    def update_if_changed(self, content: Content) -> None:
        before, self._content = self._content, content
        if (before.plain, before.spans) != (content.plain, content.spans):
            self.update(content, layout=self._needs_layout(before, content))

    def update_lines(self, lines: Sequence[Content]) -> None:
        """Show lines; hide the widget when there are none."""
        self.update_if_changed(Content("\n").join(lines))
        self.display = bool(lines)

    def _needs_layout(self, before: Content, after: Content) -> bool:
        """Return whether another text needs another height in the same width."""
        width, styles = self.size.width, self.styles
        if not styles.auto_dimensions:
            return False
        if not width or styles.is_auto_width:
            return True
        rules = cast("RulesMap", styles)  # as Textual does: both are asked for single rules only
        return before.get_height(rules, width) != after.get_height(rules, width)
