"""A table whose headers have several lines: fastdatatable reserves their space, but draws one of them."""

from __future__ import annotations

from itertools import chain
from typing import Final

from rich.style import Style
from textual.strip import Strip
from textual_fastdatatable import DataTable

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
