"""Private parts of Textual around drawing: caches of strips, marks of whole lines, option lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, Literal

from rich.segment import Segment
from textual.cache import FIFOCache
from textual.strip import Strip
from textual.widgets import OptionList

_CACHE_SIZES: Final = {
    "_divide_cache": 4,
    "_crop_cache": 16,
    "_style_cache": 16,
    "_filter_cache": 4,
    "_line_length_cache": 4,
    "_crop_extend_cache": 4,
    "_offsets_cache": 4,
}
"""The caches of a :class:`~textual.strip.Strip`, and how many results each one keeps."""


def install_lazy_caches() -> None:
    """Let each Strip of this process make a cache when that cache is first used.

    Textual makes seven caches for each strip, most of which no call ever uses. That took 12 % of the time
    of a repaint (2.0 µs for a strip against 0.45 µs) and 1 kB of memory for each strip. Python calls
    ``__getattr__`` for a slot that has no value, once.
    """
    Strip.__init__ = _initialize_strip  # type: ignore[method-assign, assignment]
    Strip.__getattr__ = _create_cache  # type: ignore[attr-defined]


def _initialize_strip(
    strip: Strip, segments: Iterable[Segment], cell_length: int | None = None
) -> None:
    strip._segments = list(segments)
    strip._cell_length = cell_length
    strip._render_cache = None
    strip._link_ids = None
    strip._cell_count = None


def _create_cache(strip: Strip, name: str) -> FIFOCache[Any, Any]:
    if name not in _CACHE_SIZES:
        raise AttributeError(f"{type(strip).__name__!r} object has no attribute {name!r}")
    cache: FIFOCache[Any, Any] = FIFOCache(_CACHE_SIZES[name])
    setattr(strip, name, cache)
    return cache


MARK: Final = "›"


def mark_line(line: Strip) -> Strip:
    """Return a line with the mark in its first cell, if that is blank."""
    first = next((segment for segment in line if segment.text), None)
    if first is None or not first.text.startswith(" "):
        return line
    return Strip.join([Strip([Segment(MARK, first.style)], 1), line.crop(1)])


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
