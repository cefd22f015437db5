"""Texts that change often but are mostly the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.css.styles import RulesMap


class CachedStatic(Static):
    """Some lines. They are laid out anew only when they differ: a layout costs more than a keystroke may."""

    def __init__(self, *, classes: str | None = None, content: Content | None = None) -> None:
        super().__init__(content or Content(), classes=classes)
        self._told = content or Content()

    @property
    def cached_content(self) -> Content:
        return self._told

    def update_if_changed(self, content: Content) -> None:
        before, self._told = self._told, content
        if (before.plain, before.spans) != (content.plain, content.spans):
            self.update(content, layout=self._needs_layout(before, content))

    def update_lines(self, lines: Sequence[Content]) -> None:
        """Show lines; with none of them it is not there."""
        self.update_if_changed(Content("\n").join(lines))
        self.display = bool(lines)

    def _needs_layout(self, before: Content, after: Content) -> bool:
        """Whether the other text takes another room. It does not when it has as many lines in this width."""
        width, styles = self.size.width, self.styles
        if not styles.auto_dimensions:
            return False
        if not width or styles.is_auto_width:
            return True
        rules = cast("RulesMap", styles)  # as Textual does: both are asked for single rules only
        return before.get_height(rules, width) != after.get_height(rules, width)
