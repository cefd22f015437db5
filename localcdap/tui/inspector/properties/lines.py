"""Lines to read, of which only the visible ones are drawn."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip


class Lines(ScrollView, can_focus=True):
    """Any number of lines."""

    DEFAULT_CSS = """
    Lines { height: 1fr; scrollbar-size: 1 1; padding: 0; }
    """

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._texts: Sequence[Text] = ()

    @property
    def texts(self) -> Sequence[Text]:
        return self._texts

    def put(self, texts: Sequence[Text]) -> None:
        """Show other lines; the place that is scrolled to stays."""
        self._texts = texts
        self.virtual_size = Size(max((each.cell_len for each in texts), default=0), len(texts))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        place = scroll_y + y
        width = self.size.width
        if place >= len(self._texts):
            return Strip.blank(width, self.rich_style)
        segments = self._texts[place].render(self.app.console, end="")
        strip = Strip(segments).apply_style(self.rich_style)
        return strip.crop_extend(scroll_x, scroll_x + width, self.rich_style)
