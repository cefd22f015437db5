"""A filtered log as rows: lines laid out for a screen, and formatted for files and the clipboard.

Only some pages of a log of any length are in memory; of the others, the number of their first line is
known. The end can be followed, and the log saved to a file.
"""

from __future__ import annotations

import datetime
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from localcdap.files.atomic import replace_file
from localcdap.host.cdap import Cdap
from localcdap.runs.logs import STRETCH, LogFilter, LogOutline, LogSummary
from localcdap.runs.model import StoredLogLine
from localcdap.text import sanitize_for_terminal
from localcdap.tui.labels import sanitize_lines, sanitize_name

WORDS: Final = {"WARNING": "WARN", "CRITICAL": "CRIT"}
_LEVEL_WIDTH: Final = 5
_STAGE_WIDTH: Final = 16
_WIDE: Final = 100
"""The least width, in cells, at which milliseconds and a column of stages are shown."""
_NARROW_INDENT: Final = 9
"""The indent of continuation rows on a narrow screen: the width of the time."""
PLAIN: Final = Style.null()


@dataclass(frozen=True)
class LogStyle:
    """The layout and the colours of log lines."""

    width: int
    height: int
    """The height of the screen, which is the most rows of one line."""
    wrap: bool
    stages: bool
    """Whether to show the stage of each line."""
    search: str = ""
    styles: Mapping[str, Style] = field(default_factory=dict)
    """The styles of ``time``, ``stage``, ``match``, ``more`` and of the levels in lower case."""

    def get_style(self, name: str) -> Style:
        return self.styles.get(name, PLAIN)


def format_clock(milliseconds: int) -> str:
    """Return the time of day as ``14:03:07.250``."""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000)
    return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}"


def format_plain_line(line: StoredLogLine) -> str:
    """Return a line as it is copied and written to files."""
    stage = f" [{sanitize_name(line.stage)}]" if line.stage else ""
    text = sanitize_for_terminal(line.text)
    return f"{format_clock(line.time)} {sanitize_name(line.level):7}{stage} {text}"


def lay_out_line(line: StoredLogLine, layout: LogStyle) -> list[Strip]:
    """Return the rows of a line. Where rows are left out, the last row says how many."""
    prefix = _build_prefix(line, layout)
    begins = sum(segment.cell_length for segment in prefix)
    indent = begins if layout.width >= _WIDE else min(begins, _NARROW_INDENT)
    pieces = list(_split_rows(sanitize_lines(line.text), layout, begins, indent))
    most = max(1, layout.height)
    more = f" … {line.more:,} more characters" if line.more else ""
    if len(pieces) > most:
        more = f" … {len(pieces) - most + 1:,} more rows"
        del pieces[most - 1 :]
        pieces.append("")
    text_style = layout.get_style(line.level.lower())
    rows = []
    for number, piece in enumerate(pieces):
        begin = prefix if number == 0 else [Segment(" " * indent)]
        rows.append(Strip([*begin, *_mark_matches(piece, layout, text_style)]))
    if more:
        rows[-1] = Strip([*rows[-1], Segment(more, layout.get_style("more"))])
    return rows


def _build_prefix(line: StoredLogLine, layout: LogStyle) -> list[Segment]:
    """Return the segments of time, level and stage."""
    word = sanitize_name(WORDS.get(line.level, line.level))[:_LEVEL_WIDTH]
    moment = format_clock(line.time) if layout.width >= _WIDE else format_clock(line.time)[:8]
    parts = [
        Segment(f"{moment} ", layout.get_style("time")),
        Segment(f"{word:{_LEVEL_WIDTH}} ", layout.get_style(line.level.lower())),
    ]
    if layout.stages:
        stage = fit_to_width(sanitize_name(line.stage or ""), _STAGE_WIDTH)
        if layout.width < _WIDE:
            stage = f"{stage.rstrip()} " if stage.strip() else ""
        else:
            stage += " "
        parts.append(Segment(stage, layout.get_style("stage")))
    return parts


def fit_to_width(text: str, width: int) -> str:
    """Return a text in exactly ``width`` cells: cut with ``…``, or padded with blanks."""
    if cell_len(text) > width:
        text = chop_cells(text, width - 1)[0] + "…"
    return text + " " * (width - cell_len(text))


def _split_rows(text: str, layout: LogStyle, begins: int, indent: int) -> Iterator[str]:
    """Split a text into rows.

    :param begins: the cells that the prefix takes in the first row.
    :param indent: the indent of the rows that follow.
    """
    taken = begins
    for physical in text.split("\n"):
        rest = physical
        while layout.wrap and cell_len(rest) > (width := max(8, layout.width - taken)):
            piece = _break_at_word(chop_cells(rest, width)[0])
            yield piece
            rest = rest[len(piece) :]
            taken = indent
        yield rest
        taken = indent


def _break_at_word(piece: str) -> str:
    """Cut a full row after its last blank, unless that would leave half of the row empty."""
    at = piece.rfind(" ") + 1
    return piece[:at] if at > len(piece) // 2 else piece


def _mark_matches(piece: str, layout: LogStyle, style: Style) -> Iterator[Segment]:
    """Yield the segments of a row, with the search text highlighted.

    Case counts only when the search text has upper-case letters.
    """
    if not layout.search:
        yield Segment(piece, style)
        return
    flags = re.IGNORECASE if layout.search == layout.search.lower() else 0
    end = 0
    for match in re.finditer(re.escape(layout.search), piece, flags):
        yield Segment(piece[end : match.start()], style)
        yield Segment(match.group(), style + layout.get_style("match"))
        end = match.end()
    yield Segment(piece[end:], style)


_MOST_PAGES: Final = 12
"""The most loaded pages, of ``STRETCH`` rows each. It limits the memory for a log of any length."""
_PAUSE_S: Final = 0.2
"""The pause between two reads of a growing log, in seconds."""
_WAIT_S: Final = 1.0
"""The longest wait for new lines, in seconds."""


class LogTail(msgspec.Struct):
    """The end of a log as it was read."""

    first: int
    """The page that the outline begins with. The pages before it have not changed."""
    outline: LogOutline
    lines: list[StoredLogLine]
    """The lines of the last page."""
    summary: LogSummary
    is_ended: bool
    """Whether the run has ended, so that no lines will follow."""


class LogRows:
    """The loaded pages of a filtered log."""

    def __init__(self) -> None:
        self.count = 0
        self._starts: list[int] = []
        """The number of the first line of each page."""
        self._pages: OrderedDict[int, list[StoredLogLine]] = OrderedDict()

    def set_tail(self, tail: LogTail) -> None:
        """Replace the end of the log."""
        self._starts[tail.first :] = tail.outline.starts
        self.count = tail.first * STRETCH + tail.outline.rows
        for page in [page for page in self._pages if page >= tail.first]:
            del self._pages[page]
        if tail.lines:
            self.add_page(len(self._starts) - 1, tail.lines)

    def add_page(self, page: int, lines: list[StoredLogLine]) -> None:
        """Add a page, and drop the least recently used one when there are too many."""
        self._pages[page] = lines
        self._pages.move_to_end(page)
        while len(self._pages) > _MOST_PAGES:
            self._pages.popitem(last=False)

    def get_line(self, row: int) -> StoredLogLine | None:
        """Return the line of a row; None when its page is not loaded."""
        page, index = divmod(row, STRETCH)
        lines = self._pages.get(page)
        if lines is None:
            return None
        self._pages.move_to_end(page)
        return lines[index] if index < len(lines) else None

    def find_missing_pages(self, rows: Iterable[int]) -> dict[int, int]:
        """Return the pages of these rows that are not loaded, with the numbers of their first lines."""
        pages = {row // STRETCH for row in rows if 0 <= row < self.count}
        return {page: self._starts[page] for page in sorted(pages) if page not in self._pages}


def follow_log(cdap: Cdap, run: str, filter: LogFilter) -> Iterator[LogTail]:
    """Yield the end of a log each time it has grown, until the run has ended."""
    import time

    newest, first, since = -1, 0, 0
    while True:
        is_ended = cdap.runs.wait(run, -1, 0.0).status.is_end
        outline = cdap.runs.read_log_outline(run, filter, since)
        last = outline.starts[-1] if outline.starts else since
        lines = cdap.runs.read_log_page(run, filter, last, STRETCH) if outline.starts else []
        yield LogTail(first, outline, lines, cdap.runs.summarize_log(run), is_ended)
        if is_ended:
            return
        first, since, newest = first + max(0, len(outline.starts) - 1), last, outline.newest
        time.sleep(_PAUSE_S)
        cdap.runs.wait_for_log(run, newest, _WAIT_S)


def read_lines(cdap: Cdap, run: str, filter: LogFilter) -> Iterator[StoredLogLine]:
    """Yield the lines of a filtered log with their whole text. Pages are read one after the other."""
    since = 0
    while page := cdap.runs.read_log_page(run, filter, since, STRETCH):
        for line in page:
            yield cdap.runs.get_log_line(run, line.number) if line.more else line
        since = page[-1].number + 1


def save_log(cdap: Cdap, run: str, filter: LogFilter, file: Path) -> int:
    """Write the lines of a filtered log to a file; return their number.

    :raises BadRequestError: when the file cannot be written.
    """
    count = 0
    with (
        replace_file(file) as temporary,
        temporary.open("w", encoding="utf-8", errors="replace") as output,
    ):
        for line in read_lines(cdap, run, filter):
            output.write(format_plain_line(line) + "\n")
            count += 1
    return count
