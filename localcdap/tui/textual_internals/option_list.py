"""Private parts of Textual's option list."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from textual.strip import Strip
from textual.widgets import OptionList

from localcdap.tui.textual_internals.strip import mark_line


class SafeOptionList(OptionList):
    """An option list whose page keys work while it is empty, and whose enter key has a hint.

    The highlighted option has a mark besides its colour, where the colour shows too.
    """

    def set_enter_hint(self, description: str) -> None:
        """Show what enter does in the footer."""
        keys = self._bindings.key_to_bindings
        keys["enter"] = [
            replace(each, description=description, key_display="enter", show=True)
            for each in keys["enter"]
        ]

    def _update_lines(self) -> None:
        padding = self.get_component_styles("option-list--option").padding
        # Textual divides by the width that is left for text.
        if self.scrollable_content_region.width - self._get_left_gutter_width() > padding.width:
            super()._update_lines()

    def render_line(self, y: int) -> Strip:
        line, number = super().render_line(y), self.scroll_offset.y + y
        is_shown = self.has_focus or not self.can_focus or not self.has_class("plain")
        if is_shown and number < len(self._lines) and self._lines[number] == (self.highlighted, 0):
            return mark_line(line)
        return line

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        if self._lines:  # Textual divides by the number of lines
            super()._move_page(direction)
