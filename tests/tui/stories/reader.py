"""A screen reader at the studio: reads what stands on the screen, line by line, and finds what it misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import OptionList, Static

from localcdap.tui.routes import AREAS
from tests.tui.studio_driver import Driver

_ABOVE = 3
"""The lines above a field that may name it: a question, a hint, a blank one."""


class Reader:
    """Reads a screen as text, without colours."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    @property
    def screen(self) -> Screen[object]:
        return self._driver.app.screen

    def read(self) -> list[str]:
        """The lines of the screen."""
        strips = self.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    def find_faults(self) -> Iterator[str]:
        """What a user who hears the screen, or has a small one, would stumble over."""
        lines, chain = self.read(), self.screen.focus_chain
        for widget in chain:
            if not self._is_named(widget, lines):
                yield f"{widget} has no name on the screen"
        for before, after in pairwise(chain):
            if after.region.bottom <= before.region.y and after.region.x <= before.region.x:
                yield f"the focus goes back up from {before} to {after}"
        for listed in self.screen.query(OptionList):
            yield from _find_wrapped(listed)
        for widget in self.screen.query("*"):
            covers = widget.show_horizontal_scrollbar and widget.scrollbar_size_horizontal
            if covers and not widget.scrollable_content_region.height:
                yield f"a bar covers the only line of {widget}"
        yield from self._find_cut()
        if not self.screen.is_modal:
            yield from _find_missing_keys(lines)

    def _find_cut(self) -> Iterator[str]:
        """Yield the texts that have more lines or cells than their places, and no "…"."""
        for text in self.screen.query(Static):
            room, visual, styles = text.content_region, text.visual, text.styles
            if not room.area or not self.screen.find_widget(text).visible_region.area:
                continue
            if styles.text_wrap == "nowrap":
                is_wide = visual.get_optimal_width(styles, text.app.size) > room.width
                is_cut = is_wide and styles.text_overflow != "ellipsis"
            else:
                is_cut = visual.get_height(styles, room.width) > room.height
            if is_cut:
                yield f"{text} is cut: {str(text.content)!r}"

    def _is_named(self, widget: Widget, lines: list[str]) -> bool:
        """Whether there are letters in a widget, left of it, or in the lines above it."""
        region = self.screen.find_widget(widget).visible_region
        if not region:
            return True  # it is scrolled into view with the focus
        rows = lines[region.y : region.bottom]
        near = [row[: region.right] for row in rows]
        near += lines[max(0, region.y - _ABOVE) : region.y]
        return any(letter.isalnum() for text in near for letter in text)

    async def find_unreachable(self) -> list[str]:
        """Go through all that takes the focus; returns what cannot be seen then."""
        missed = []
        for widget in self.screen.focus_chain:
            widget.focus(scroll_visible=True)
            if not await self._is_shown(widget):
                missed.append(str(widget))
        return missed

    async def _is_shown(self, widget: Widget) -> bool:
        """Whether it is in view within two seconds: what holds it scrolls with one of its next frames."""
        for seconds in (0, *[0.05] * 40):
            await self._driver.pilot.pause(seconds)
            if self.screen.find_widget(widget).visible_region.area:
                return True
        return False


def _find_wrapped(listed: OptionList) -> Iterator[str]:
    """Yield the options of one line that take more of them, as their width was taken for another one."""
    if not listed.region.area or not listed.has_class("plain"):
        return
    listed._update_lines()
    heights = Counter(index for index, _ in listed._lines)
    for index, option in enumerate(listed.options):
        if heights[index] > str(option.prompt).rstrip().count("\n") + 1:
            yield f"{listed} breaks the line {str(option.prompt).rstrip()!r}"


def _find_missing_keys(lines: list[str]) -> Iterator[str]:
    """Yield the areas whose keys are not in the first line, and the hints that are cut in the last one."""
    words = lines[0].split()
    shown = {"semicolon": ";", "comma": ",", "apostrophe": "'", "quotation_mark": '"'}
    for area in AREAS:
        if shown.get(area.key, area.key) not in words:
            yield f"the key of {area.title} is not shown"
    if not lines[-1].rstrip().endswith(": commands"):
        yield f"the last line is cut: {lines[-1]!r}"
