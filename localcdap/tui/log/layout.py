"""Lays out lines of a log on the rows of a screen, and formats them for files and the clipboard."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

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
