"""The view of a log. Only visible lines are loaded, laid out and drawn."""

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
from localcdap.runs.model import StoredLogLine
from localcdap.tui.log.layout import PLAIN, LogRows, LogStyle, LogTail, follow_log, lay_out_line
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import StudioNode

_MOST_LAID_OUT: Final = 500
"""The most lines whose layout is cached."""
_STYLES: Final = ("time", "stage", "match", "more", *(level.lower() for level in LEVELS))


@dataclass
class _SearchPosition:
    """Where a search continues: a row of the filtered log, and the number of its line."""

    row: int
    number: int


class LogView(StudioNode, ScrollView, can_focus=True):
    """Shows the filtered lines of the log of a run, with a cursor on one of them.

    A row is the index of a line among the filtered lines. A line may take several rows of the screen. At the
    end of the log, the last line is at the bottom of the screen.
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
        Binding("pagedown", "page(1)", "page down", id="log.page_down", show=False),
        Binding("pageup", "page(-1)", "page up", id="log.page_up", show=False),
        Binding("home", "first", "beginning", id="log.first", show=False),
        Binding("end", "last", "end, and follow", id="log.last", show=False),
        Binding("left", "scroll_sideways(-8)", "left", id="log.left", show=False),
        Binding("right", "scroll_sideways(8)", "right", id="log.right", show=False),
    ]

    follows: reactive[bool] = reactive(True)
    """Whether the view stays at the last line while the log grows."""
    wraps: reactive[bool] = reactive(True)
    """Whether long lines are wrapped."""
    search: reactive[str] = reactive("")
    """The text that is highlighted."""

    class Updated(Message):
        """The log or its filter has changed."""

        def __init__(self, summary: LogSummary, rows: int, *, is_ended: bool) -> None:
            super().__init__()
            self.summary = summary
            self.rows = rows
            """The number of filtered lines."""
            self.is_ended = is_ended

    def __init__(self) -> None:
        super().__init__()
        self.cursor = 0
        """The row under the cursor."""
        self.filter = LogFilter()
        self.run_id: str | None = None
        self._rows = LogRows()
        self._tail_source: FollowedSource | None = None
        self._screen: list[tuple[int, Strip]] = []
        """For each row of the screen, the row of the log and the part of its line."""
        self._widest = 0
        self._requested_pages: set[int] = set()
        self._laid_out: dict[int, list[Strip]] = {}
        self._laid_out_style: LogStyle | None = None
        self._is_showing = False
        self._search_position = _SearchPosition(-1, 0)
        self._wanted_line: int | None = None
        """The number of the line that the cursor goes to once the rows are known."""

    @property
    def count(self) -> int:
        """The number of filtered lines."""
        return self._rows.count

    @property
    def line(self) -> StoredLogLine | None:
        """The line under the cursor; None while it is not loaded."""
        return self._rows.get_line(self.cursor) if self.cursor < self.count else None

    @property
    def visible_lines(self) -> list[StoredLogLine]:
        """The lines on the screen."""
        rows = dict.fromkeys(row for row, _ in self._screen)
        return [line for row in rows if (line := self._rows.get_line(row)) is not None]

    def show(self, run_id: str | None, filter: LogFilter) -> None:
        """Show the log of a run through a filter. In the same run the cursor stays on its line if it can."""
        stays = self.line if run_id == self.run_id and not self.follows else None
        self._stop()
        self.run_id, self.filter = run_id, filter
        self._rows, self._widest, self._laid_out = LogRows(), 0, {}
        self._requested_pages.clear()
        self._search_position = _SearchPosition(-1, 0)
        self.cursor, self._wanted_line = 0, stays.number if stays else None
        self._show_rows()
        if run_id is not None:
            self._tail_source = self.follow(
                lambda cdap: follow_log(cdap, run_id, filter), self._show_tail
            )

    def find(self, text: str, *, backwards: bool = False, start: int | None = None) -> None:
        """Go to the next line that contains a text, and post :class:`SearchFinished`.

        While a search for the same text is running, this search continues from its result. So a key that is
        pressed twice finds the second match.

        :param start: the number of the line after which the search starts; by default the line of the cursor.
        """
        run, filter = self.run_id, self.filter
        is_next = start is None and text == self.search
        self.search = text
        if run is None or not text:
            return
        if not is_next or self._search_position.row != self.cursor:
            number = start if start is not None else self.line.number if self.line else 0
            self._search_position = _SearchPosition(self.cursor, number)
        position = self._search_position

        def search(cdap: Cdap) -> LogHit | None:
            hit = cdap.runs.find_in_log(run, filter, text, position.number, backwards=backwards)
            position.number = hit.number if hit is not None else position.number
            return hit

        self.call(
            search,
            on_result=lambda hit: self._show_hit(position, hit),
            group="find",
            ordered=is_next,
        )

    class SearchFinished(Message):
        """A search has ended."""

        def __init__(self, hit: LogHit | None) -> None:
            super().__init__()
            self.hit = hit
            """The match; None when there is none."""

    def go_to(self, row: int) -> None:
        """Move the cursor to a row, and scroll it into view."""
        self.cursor = max(0, min(row, self.count - 1))
        if self.cursor < self.count - 1:
            self.follows = False
        self._reveal()

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action in ("cursor", "page", "first", "last", "scroll_sideways") and not self.count:
            return "the log has no lines"
        if action == "scroll_sideways" and not self.max_scroll_x:
            return "all of each line is in view"
        return None

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

    def action_scroll_sideways(self, step: int) -> None:
        self.scroll_to(x=self.scroll_offset.x + step, animate=False, force=True)

    # -- events --------------------------------------------------------------------------------

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
        # A higher view scrolls by itself, to the end of what there is.
        if new_value < old_value and new_value < self.max_scroll_y and not self._is_showing:
            self.follows = False
        self._show_rows()

    def on_click(self, event: events.Click) -> None:
        if event.y < len(self._screen):
            self.go_to(self._screen[event.y][0])
            self._show_rows()

    def _stop(self) -> None:
        if self._tail_source is not None:
            self._tail_source.stop()
            self._tail_source = None

    def _show_tail(self, tail: LogTail) -> None:
        self._rows.set_tail(tail)
        self.post_message(self.Updated(tail.summary, self.count, is_ended=tail.is_ended))
        if self._wanted_line is not None:
            self._go_to_line(self._wanted_line)
        elif self.follows:
            self.cursor = max(0, self.count - 1)
        self._show_rows()

    def _go_to_line(self, number: int) -> None:
        """Move the cursor to a line, or to the next line that matches the filter."""
        self._wanted_line = None
        run, filter = self.run_id, self.filter
        assert run is not None
        self.call(
            lambda cdap: cdap.runs.find_log_row(run, filter, number),
            on_result=self.go_to,
            group="find",
        )

    def _show_hit(self, position: _SearchPosition, hit: LogHit | None) -> None:
        if hit is not None:
            self.go_to(hit.row)
            position.row = self.cursor
        self.post_message(self.SearchFinished(hit))

    def _add_page(self, rows: LogRows, page: int, lines: list[StoredLogLine]) -> None:
        if rows is self._rows:
            self._requested_pages.discard(page)
            rows.add_page(page, lines)
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
        """Lay out the visible lines, and load the pages that are missing."""
        if self._is_showing or not self.is_mounted:
            return
        self._is_showing = True
        try:
            height = self.scrollable_content_region.height
            last_top = self._find_last_top()
            width = 0 if self.wraps else self._widest
            self.virtual_size = Size(width, last_top + height if self.count else 0)
            top = last_top if self.follows else min(self.scroll_offset.y, last_top)
            if self.follows:
                self.scroll_to(y=top, animate=False, force=True)
            self._screen = list(
                self._lay_out_from_end(height) if top == last_top else self._lay_out_from(top)
            )
            self._screen = self._screen[:height]
            self._widest = max(self._widest, *(strip.cell_length for _, strip in self._screen), 0)
        finally:
            self._is_showing = False
        self._fetch()
        self.refresh()

    def _lay_out_from(self, top: int) -> Iterator[tuple[int, Strip]]:
        """Yield the rows of the screen that begin with a row of the log."""
        height, style = self.scrollable_content_region.height, self._build_style()
        for row in range(top, min(self.count, top + height)):
            for strip in self._lay_out_row(row, style):
                yield row, strip

    def _lay_out_from_end(self, height: int) -> list[tuple[int, Strip]]:
        """Return the rows of the screen that end with the last row of the log."""
        found: list[tuple[int, Strip]] = []
        style = self._build_style()
        for row in range(self.count - 1, -1, -1):
            found[:0] = [(row, strip) for strip in self._lay_out_row(row, style)]
            if len(found) >= height:
                break
        return found[max(0, len(found) - height) :]

    def _find_last_top(self) -> int:
        """Return the row at the top of the screen when the end of the log is shown."""
        height, style, used = self.scrollable_content_region.height, self._build_style(), 0
        for row in range(self.count - 1, -1, -1):
            used += len(self._lay_out_row(row, style))
            if used > height:
                return min(row + 1, self.count - 1)
        return 0

    def _lay_out_row(self, row: int, style: LogStyle) -> list[Strip]:
        if style != self._laid_out_style or len(self._laid_out) > _MOST_LAID_OUT:
            self._laid_out, self._laid_out_style = {}, style
        strips = self._laid_out.get(row)
        if strips is None:
            line = self._rows.get_line(row)
            if line is None:
                return [Strip.blank(1, PLAIN)]
            self._laid_out[row] = strips = lay_out_line(line, style)
        return strips

    def _build_style(self) -> LogStyle:
        region = self.scrollable_content_region
        return LogStyle(
            max(1, region.width),
            max(1, region.height),
            self.wraps,
            self.filter.stage is None,
            self.search,
            {name: self._get_part_style(name) for name in _STYLES},
        )

    def _get_part_style(self, name: str) -> Style:
        """Return the style of a part of a line. Only matches have another background than the line."""
        style = self.get_component_rich_style(f"log--{name}")
        if name == "match":
            return style
        return Style(color=style.color, bold=style.bold, italic=style.italic)

    def _fetch(self) -> None:
        """Load the missing pages of the rows on the screen."""
        run, filter, rows = self.run_id, self.filter, self._rows
        if run is None or not self._screen:
            return
        first, last = self._screen[0][0], self._screen[-1][0]
        for page, start in rows.find_missing_pages((first, last, self.cursor)).items():
            if page in self._requested_pages:
                continue
            self._requested_pages.add(page)
            self.call(
                lambda cdap, start=start: cdap.runs.read_log_page(run, filter, start, STRETCH),  # type: ignore[misc]
                on_result=lambda lines, page=page: self._add_page(rows, page, lines),  # type: ignore[misc]
                on_error=lambda _, page=page: self._requested_pages.discard(page),  # type: ignore[misc]
            )

    def _scroll_to_row(self, row: int) -> None:
        self._is_showing = True  # the scroll event does not come from the user
        try:
            self.scroll_to(y=row, animate=False, force=True)
        finally:
            self._is_showing = False

    def _reveal(self) -> None:
        """Scroll as little as needed to show the whole line under the cursor."""
        height, style = self.scrollable_content_region.height, self._build_style()
        top = self.scroll_offset.y
        if self.cursor >= self.count - 1:
            top = self._find_last_top()
        elif self.cursor < top:
            top = self.cursor if top - self.cursor < height else self.cursor - height // 2
        else:
            used, row = 0, self.cursor
            while row >= 0 and used + len(self._lay_out_row(row, style)) <= height:
                used += len(self._lay_out_row(row, style))
                row -= 1
            lowest = min(row + 1, self.cursor)
            if lowest > top:
                top = lowest if lowest - top < height else self.cursor - height // 2
        self._scroll_to_row(max(0, top))
        self._show_rows()
