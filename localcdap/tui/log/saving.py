"""Writing a log into a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from localcdap.host.cdap import Cdap
from localcdap.runs.logs import STRETCH, LogFilter
from localcdap.runs.model import LogLine
from localcdap.tui.log.layout import plain_line
from localcdap.tui.manners.writing import replacing


def lines_of(cdap: Cdap, run: str, filter: LogFilter) -> Iterator[LogLine]:
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
    with replacing(file) as place, place.open("w", encoding="utf-8", errors="replace") as output:
        for line in lines_of(cdap, run, filter):
            output.write(plain_line(line) + "\n")
            count += 1
    return count
