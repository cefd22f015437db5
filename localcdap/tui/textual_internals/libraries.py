"""Private parts of libraries of widgets: textual-autocomplete's list, fastdatatable's headers."""

from __future__ import annotations

from itertools import chain
from typing import Final

from rich.style import Style
from textual.strip import Strip
from textual_autocomplete import AutoComplete, TargetState
from textual_fastdatatable import DataTable


class QuietAutoComplete(AutoComplete):
    """An auto-complete list that does nothing while it is hidden or empty.

    Each of these methods costs a layout of the whole screen, for every letter that is typed.
    """

    def action_hide(self) -> None:
        if self.display:
            super().action_hide()

    def action_show(self) -> None:
        if not self.display:
            super().action_show()

    def rebuild(self, text: str) -> None:
        """Fill the list for a text that was put into the input."""
        self._rebuild_options(self._get_target_state(), text)

    def _align_to_target(self) -> None:
        if self.is_attached and self.target.is_attached and self.option_list.option_count:
            super()._align_to_target()

    def _rebuild_options(self, target_state: TargetState, search_string: str) -> None:
        if self.option_list.option_count or self.get_candidates(target_state):
            super()._rebuild_options(target_state, search_string)


_HEADER: Final = -1
"""The index of the row of headers."""


class TallHeaderTable(DataTable):
    """Draws all lines of the headers; rows have one line, as in fastdatatable."""

    def _render_line(self, y: int, x1: int, x2: int, base_style: Style) -> Strip:
        if not self.show_header or y >= self.header_height:
            return super()._render_line(y - self.header_height + 1, x1, x2, base_style)
        width = self.size.width
        fixed, scrollable, hidden, _ = self._render_line_in_row(
            _HEADER,
            y,
            x1,
            x2,
            base_style,
            cursor_location=self.cursor_coordinate,
            hover_location=self.hover_coordinate,
            selection_anchor_location=self.selection_anchor_coordinate,
        )
        line = Strip(chain.from_iterable(scrollable)).crop(x1 - hidden, x2 - hidden)
        segments = [*chain.from_iterable(fixed), *line]
        return Strip(segments).adjust_cell_length(width, base_style).simplify()
