"""The rows of a filtered log: the pages that are loaded, the end that is followed, and the saved file.

Only some pages of a log of any length are in memory; of the others, the number of their first line is known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from localcdap.files.atomic import replace_file
from localcdap.host.cdap import Cdap
from localcdap.runs.logs import STRETCH, LogFilter, LogOutline, LogSummary
from localcdap.runs.model import StoredLogLine
from localcdap.tui.log.layout import format_plain_line

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
