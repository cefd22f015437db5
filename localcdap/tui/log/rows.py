"""The rows of a filtered log as far as they are at hand: a few pages of it, and where the others begin."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from localcdap.host.cdap import Cdap
from localcdap.runs.logs import STRETCH, LogFilter, LogOutline, LogSummary
from localcdap.runs.model import LogLine
from localcdap.tui.log.layout import format_plain_line
from localcdap.tui.system.atomic_files import replace_file

_MOST_PAGES: Final = 12
"""Of ``STRETCH`` rows each: what a log of any length takes of the memory."""
_PAUSE_S: Final = 0.2
"""Seconds between two looks at a log that grows."""
_WAIT_S: Final = 1.0


class LogTail(msgspec.Struct):
    """What a look at the end of a log has brought."""

    first: int
    """The page that the outline begins with; the pages before it have not changed."""
    outline: LogOutline
    lines: list[LogLine]
    """The last page."""
    summary: LogSummary
    is_ended: bool
    """Whether nothing will follow."""


class LogRows:
    """Answers what is in a row, or that its page has to be fetched."""

    def __init__(self) -> None:
        self.count = 0
        self._starts: list[int] = []
        self._pages: OrderedDict[int, list[LogLine]] = OrderedDict()

    def take(self, tail: LogTail) -> None:
        """Take over the end of the log."""
        self._starts[tail.first :] = tail.outline.starts
        self.count = tail.first * STRETCH + tail.outline.rows
        for page in [page for page in self._pages if page >= tail.first]:
            del self._pages[page]
        if tail.lines:
            self.put(len(self._starts) - 1, tail.lines)

    def put(self, page: int, lines: list[LogLine]) -> None:
        """Keep a page, and forget the one that was not looked at for the longest time."""
        self._pages[page] = lines
        self._pages.move_to_end(page)
        while len(self._pages) > _MOST_PAGES:
            self._pages.popitem(last=False)

    def line(self, row: int) -> LogLine | None:
        """The line in a row; None when its page is not at hand."""
        page, place = divmod(row, STRETCH)
        lines = self._pages.get(page)
        if lines is None:
            return None
        self._pages.move_to_end(page)
        return lines[place] if place < len(lines) else None

    def missing(self, rows: Iterable[int]) -> dict[int, int]:
        """The pages of these rows that are not at hand, with the lines that they begin with."""
        pages = {row // STRETCH for row in rows if 0 <= row < self.count}
        return {page: self._starts[page] for page in sorted(pages) if page not in self._pages}


def follow_log(cdap: Cdap, run: str, filter: LogFilter) -> Iterator[LogTail]:
    """The end of a log again and again, whenever it has grown, until the run has ended."""
    import time

    newest, first, since = -1, 0, 0
    while True:
        is_ended = cdap.runs.wait(run, -1, 0.0).status.is_end
        outline = cdap.runs.log_outline(run, filter, since)
        last = outline.starts[-1] if outline.starts else since
        lines = cdap.runs.log_page(run, filter, last, STRETCH) if outline.starts else []
        yield LogTail(first, outline, lines, cdap.runs.log_summary(run), is_ended)
        if is_ended:
            return
        first, since, newest = first + max(0, len(outline.starts) - 1), last, outline.newest
        time.sleep(_PAUSE_S)
        cdap.runs.wait_log(run, newest, _WAIT_S)


def read_lines(cdap: Cdap, run: str, filter: LogFilter) -> Iterator[LogLine]:
    """The lines that a filter lets through, with all their text, a few at a time."""
    since = 0
    while page := cdap.runs.log_page(run, filter, since, STRETCH):
        for line in page:
            yield cdap.runs.log_line(run, line.number) if line.more else line
        since = page[-1].number + 1


def save_log(cdap: Cdap, run: str, filter: LogFilter, file: Path) -> int:
    """Write the lines that a filter lets through into a file; how many they were.

    :raises BadRequestError: when it cannot be written.
    """
    count = 0
    with replace_file(file) as place, place.open("w", encoding="utf-8", errors="replace") as output:
        for line in read_lines(cdap, run, filter):
            output.write(format_plain_line(line) + "\n")
            count += 1
    return count
