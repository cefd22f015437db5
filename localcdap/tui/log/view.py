"""The lines of a log on the screen: only those that are seen are fetched, laid out and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from localcdap.host.cdap import Cdap
from localcdap.runs.logs import LEVELS, STRETCH, LogFilter, LogHit, LogSummary
from localcdap.runs.model import LogLine
from localcdap.tui.log.layout import PLAIN, LogStyle, lay_out_line
from localcdap.tui.log.rows import LogRows, LogTail, follow_log
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import StudioNode

_MOST_LAID: Final = 500
"""Lines whose layout is remembered."""
_STYLES: Final = ("time", "stage", "match", "more", *(level.lower() for level in LEVELS))


@dataclass
class _SearchPosition:
    """From where a search goes on: a row of the filtered log, and the number of its line."""

    row: int
    number: int


class LogView(StudioNode, ScrollView, can_focus=True):
    """The lines of one run's log that a filter lets through, one of them under the cursor.

    A position is a row, the place of a line among them; a line may take several rows of the screen. Seen
    from the end, the last line is at the bottom.
    """

    DEFAULT_CSS = """
    LogView {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        padding-left: 1;
        & > .log--time { color: $text-muted; }
        & > .log--stage { color: $text-accent; }
        & > .log--match { color: $background; background: $warning; }
        & > .log--more { color: $text-muted; text-style: italic; }
        & > .log--debug { color: $text-muted; }
        & > .log--warning { color: $text-warning; }
        & > .log--error { color: $text-error; }
        & > .log--critical { color: $text-error; text-style: bold; }
        & > .log--cursor { background: $boost; }
        &:focus > .log--cursor { background: $primary 25%; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log--cursor",
        "log--time",
        "log--stage",
        "log--match",
        "log--more",
        *(f"log--{level.lower()}" for level in LEVELS),
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "cursor(1)", "down", id="log.down", show=False),
        Binding("up", "cursor(-1)", "up", id="log.up", show=False),
        Binding("pagedown", "page(1)", "a screen down", id="log.page_down", show=False),
        Binding("pageup", "page(-1)", "a screen up", id="log.page_up", show=False),
        Binding("home", "first", "to the beginning", id="log.first", show=False),
        Binding("end", "last", "to the end, and follow", id="log.last", show=False),
        Binding("left", "aside(-8)", "left", id="log.left", show=False),
        Binding("right", "aside(8)", "right", id="log.right", show=False),
    ]

    follows: reactive[bool] = reactive(True)
    """Whether the last line stays in sight when the log grows."""
    wraps: reactive[bool] = reactive(True)
    """Whether long lines go on in the next row of the screen."""
    search: reactive[str] = reactive("")
    """What is marked."""

    class Updated(Message):
        """The log, or what is seen of it, has changed."""

        def __init__(self, summary: LogSummary, rows: int, *, is_ended: bool) -> None:
            super().__init__()
            self.summary = summary
            self.rows = rows
            """That the filter lets through."""
            self.is_ended = is_ended

    def __init__(self) -> None:
        super().__init__()
        self.cursor = 0
        """The row under the cursor."""
        self.filter = LogFilter()
        self.run_id: str | None = None
        self._rows = LogRows()
        self._following: FollowedSource | None = None
        self._screen: list[tuple[int, Strip]] = []
        """What is drawn: a row of the log and a part of its line, for each row of the screen."""
        self._widest = 0
        self._wanted: set[int] = set()
        self._laid: dict[int, list[Strip]] = {}
        self._laid_for: LogStyle | None = None
        self._is_showing = False
        self._place = _SearchPosition(-1, 0)
        self._sought: int | None = None
        """A line that the cursor is to go to when the rows are known."""

    @property
    def count(self) -> int:
        """Lines that the filter lets through."""
        return self._rows.count

    @property
    def line(self) -> LogLine | None:
        """The line under the cursor; None while it is not at hand."""
        return self._rows.line(self.cursor) if self.cursor < self.count else None

    @property
    def seen(self) -> list[LogLine]:
        """The lines on the screen, from the first to the last."""
        rows = dict.fromkeys(row for row, _ in self._screen)
        return [line for row in rows if (line := self._rows.line(row)) is not None]

    def show(self, run_id: str | None, filter: LogFilter) -> None:
        """Show the log of a run, or another part of it; where possible the cursor stays on its line."""
        stays = self.line if run_id == self.run_id and not self.follows else None
        self._stop()
        self.run_id, self.filter = run_id, filter
        self._rows, self._widest, self._laid = LogRows(), 0, {}
        self._wanted.clear()
        self._place = _SearchPosition(-1, 0)
        self.cursor, self._sought = 0, stays.number if stays else None
        self._show_rows()
        if run_id is not None:
            self._following = self.follow(lambda cdap: follow_log(cdap, run_id, filter), self._take)

    def find(self, text: str, *, backwards: bool = False, start: int | None = None) -> None:
        """Go to the next line that holds a text. Posts :class:`SearchFinished`.

        Where a search for the same text is under way, this one goes on from what it finds: nobody who presses
        a key twice has to wait in between.

        :param start: number of the line behind which to look; by default that under the cursor.
        """
        run, filter = self.run_id, self.filter
        is_next = start is None and text == self.search
        self.search = text
        if run is None or not text:
            return
        if not is_next or self._place.row != self.cursor:
            number = start if start is not None else self.line.number if self.line else 0
            self._place = _SearchPosition(self.cursor, number)
        place = self._place

        def sought(cdap: Cdap) -> LogHit | None:
            hit = cdap.runs.find_in_log(run, filter, text, place.number, backwards=backwards)
            place.number = hit.number if hit is not None else place.number
            return hit

        self.call(
            sought, on_result=lambda hit: self._found(place, hit), group="find", ordered=is_next
        )

    class SearchFinished(Message):
        """A search has ended."""

        def __init__(self, hit: LogHit | None) -> None:
            super().__init__()
            self.hit = hit
            """None where nothing was found."""

    def go_to(self, row: int) -> None:
        """Put the cursor on a row, and show it."""
        self.cursor = max(0, min(row, self.count - 1))
        if self.cursor < self.count - 1:
            self.follows = False
        self._reveal()

    def action_cursor(self, step: int) -> None:
        self.go_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        shown = len({row for row, _ in self._screen})
        self.go_to(self.cursor + step * max(1, shown - 1))

    def action_first(self) -> None:
        self.go_to(0)

    def action_last(self) -> None:
        self.go_to(self.count - 1)
        self.follows = True

    def action_aside(self, step: int) -> None:
        self.scroll_to(x=self.scroll_offset.x + step, animate=False, force=True)

    # -- what changes what is shown ------------------------------------------------------------

    def on_unmount(self) -> None:
        self._stop()

    def on_resize(self) -> None:
        self._show_rows()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._show_rows()

    def watch_follows(self, follows: bool) -> None:
        if follows and self.count:
            self.cursor = self.count - 1
            self._show_rows()

    def watch_wraps(self) -> None:
        self._widest = 0
        self.scroll_to(x=0, animate=False, force=True)
        self._show_rows()
        self._reveal()

    def watch_search(self) -> None:
        self._show_rows()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and not self._is_showing:
            self.follows = False
        self._show_rows()

    def on_click(self, event: events.Click) -> None:
        if event.y < len(self._screen):
            self.go_to(self._screen[event.y][0])
            self._show_rows()

    def _stop(self) -> None:
        if self._following is not None:
            self._following.stop()
            self._following = None

    def _take(self, tail: LogTail) -> None:
        self._rows.take(tail)
        self.post_message(self.Updated(tail.summary, self.count, is_ended=tail.is_ended))
        if self._sought is not None:
            self._seek(self._sought)
        elif self.follows:
            self.cursor = max(0, self.count - 1)
        self._show_rows()

    def _seek(self, number: int) -> None:
        """Put the cursor on a line, or on the next one that the filter lets through."""
        self._sought = None
        run, filter = self.run_id, self.filter
        assert run is not None
        self.call(
            lambda cdap: cdap.runs.log_row(run, filter, number), on_result=self.go_to, group="find"
        )

    def _found(self, place: _SearchPosition, hit: LogHit | None) -> None:
        if hit is not None:
            self.go_to(hit.row)
            place.row = self.cursor
        self.post_message(self.SearchFinished(hit))

    def _put(self, rows: LogRows, page: int, lines: list[LogLine]) -> None:
        if rows is self._rows:
            self._wanted.discard(page)
            rows.put(page, lines)
            self._show_rows()

    # -- drawing -------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        width = self.scrollable_content_region.width
        if y >= len(self._screen):
            return Strip.blank(width, base)
        row, strip = self._screen[y]
        if row == self.cursor:
            base += Style(bgcolor=self.get_component_rich_style("log--cursor").bgcolor)
        strip = strip.apply_style(base)
        return strip.crop_extend(self.scroll_offset.x, self.scroll_offset.x + width, base)

    def _show_rows(self) -> None:
        """Lay out what is to be seen, and have fetched what is not at hand."""
        if self._is_showing or not self.is_mounted:
            return
        self._is_showing = True
        try:
            height = self.scrollable_content_region.height
            last_top = self._last_top()
            width = 0 if self.wraps else self._widest
            self.virtual_size = Size(width, last_top + height if self.count else 0)
            top = last_top if self.follows else min(self.scroll_offset.y, last_top)
            if self.follows:
                self.scroll_to(y=top, animate=False, force=True)
            self._screen = list(self._from_end(height) if top == last_top else self._from(top))
            self._screen = self._screen[:height]
            self._widest = max(self._widest, *(strip.cell_length for _, strip in self._screen), 0)
        finally:
            self._is_showing = False
        self._fetch()
        self.refresh()

    def _from(self, top: int) -> Iterator[tuple[int, Strip]]:
        """The rows of the screen from a row of the log on."""
        height, look = self.scrollable_content_region.height, self._look()
        for row in range(top, min(self.count, top + height)):
            for strip in self._strips(row, look):
                yield row, strip

    def _from_end(self, height: int) -> list[tuple[int, Strip]]:
        """The rows of the screen that end with the last one of the log."""
        found: list[tuple[int, Strip]] = []
        look = self._look()
        for row in range(self.count - 1, -1, -1):
            found[:0] = [(row, strip) for strip in self._strips(row, look)]
            if len(found) >= height:
                break
        return found[max(0, len(found) - height) :]

    def _last_top(self) -> int:
        """The row at the top of the screen when its end is shown."""
        height, look, used = self.scrollable_content_region.height, self._look(), 0
        for row in range(self.count - 1, -1, -1):
            used += len(self._strips(row, look))
            if used > height:
                return min(row + 1, self.count - 1)
        return 0

    def _strips(self, row: int, look: LogStyle) -> list[Strip]:
        if look != self._laid_for or len(self._laid) > _MOST_LAID:
            self._laid, self._laid_for = {}, look
        strips = self._laid.get(row)
        if strips is None:
            line = self._rows.line(row)
            if line is None:
                return [Strip.blank(1, PLAIN)]
            self._laid[row] = strips = lay_out_line(line, look)
        return strips

    def _look(self) -> LogStyle:
        region = self.scrollable_content_region
        return LogStyle(
            max(1, region.width),
            max(1, region.height),
            self.wraps,
            self.filter.stage is None,
            self.search,
            {name: self._style(name) for name in _STYLES},
        )

    def _style(self, name: str) -> Style:
        """A style for parts of lines; the background comes from the line, but for what is marked."""
        style = self.get_component_rich_style(f"log--{name}")
        if name == "match":
            return style
        return Style(color=style.color, bold=style.bold, italic=style.italic)

    def _fetch(self) -> None:
        """Ask for the pages around what is on the screen that are not at hand."""
        run, filter, rows = self.run_id, self.filter, self._rows
        if run is None or not self._screen:
            return
        first, last = self._screen[0][0], self._screen[-1][0]
        for page, start in rows.missing((first, last, self.cursor)).items():
            if page in self._wanted:
                continue
            self._wanted.add(page)
            self.call(
                lambda cdap, start=start: cdap.runs.log_page(run, filter, start, STRETCH),  # type: ignore[misc]
                on_result=lambda lines, page=page: self._put(rows, page, lines),  # type: ignore[misc]
                on_error=lambda _, page=page: self._wanted.discard(page),  # type: ignore[misc]
            )

    def _scroll_to_row(self, row: int) -> None:
        self._is_showing = True  # what follows of it is no scrolling of the user
        try:
            self.scroll_to(y=row, animate=False, force=True)
        finally:
            self._is_showing = False

    def _reveal(self) -> None:
        """Scroll as little as shows the whole line under the cursor."""
        height, look = self.scrollable_content_region.height, self._look()
        top = self.scroll_offset.y
        if self.cursor >= self.count - 1:
            top = self._last_top()
        elif self.cursor < top:
            top = self.cursor if top - self.cursor < height else self.cursor - height // 2
        else:
            used, row = 0, self.cursor
            while row >= 0 and used + len(self._strips(row, look)) <= height:
                used += len(self._strips(row, look))
                row -= 1
            lowest = min(row + 1, self.cursor)
            if lowest > top:
                top = lowest if lowest - top < height else self.cursor - height // 2
        self._scroll_to_row(max(0, top))
        self._show_rows()
