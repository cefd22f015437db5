"""The numbers of the records beside their grid; an order or a filter does not change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from localcdap.tui.records.grid import RecordGrid

_PADDING: Final = 2


class RowNumbers(Widget):
    """Follows the scrolling of a grid; the number of the record under the cursor is marked."""

    DEFAULT_CSS = """
    RowNumbers { width: auto; height: 1fr; color: $text-muted; background: $background; }
    """
    ALLOW_SELECT = False

    def __init__(self, grid: RecordGrid) -> None:
        super().__init__()
        self._grid = grid
        self.can_focus = False

    def on_mount(self) -> None:
        self.watch(self._grid, "numbers", self._resize)
        for name in ("scroll_y", "cursor_coordinate"):
            self.watch(self._grid, name, self._redraw, init=False)

    def _resize(self, numbers: Sequence[int]) -> None:
        width = len(str(max(numbers, default=0))) + _PADDING
        self.styles.width = width
        self.display = bool(numbers)
        self.refresh()

    def _redraw(self) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:
        grid, style = self._grid, self.rich_style
        width, at = self.size.width, y - grid.header_height + round(grid.scroll_y)
        is_row = y >= grid.header_height and at < len(grid.numbers)
        if not is_row or y >= grid.scrollable_content_region.height:
            return Strip([Segment(" " * width, style)], width)
        is_current = at == grid.cursor_coordinate.row
        text = f"{'›' if is_current else ' '}{grid.numbers[at]:>{width - _PADDING}} "
        return Strip([Segment(text, style)], width)
