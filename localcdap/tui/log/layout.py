"""How a line of a log is laid out on the rows of a screen."""

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

from localcdap.runs.model import LogLine
from localcdap.tui.log.harmless import harmless

WORDS: Final = {"WARNING": "WARN", "CRITICAL": "CRIT"}
_LEVEL_WIDTH: Final = 5
_STAGE_WIDTH: Final = 16
_WIDE: Final = 100
"""Columns from which on there is room for the stages in a column of their own."""
_NARROW_INDENT: Final = 9
"""Of the rows that a line goes on in, where the screen is narrow: behind the time."""
PLAIN: Final = Style.null()


@dataclass(frozen=True)
class LogStyle:
    """How lines are laid out."""

    width: int
    height: int
    """Of the screen; no line takes more rows than that."""
    wrap: bool
    stages: bool
    """Whether there may be lines of several stages."""
    search: str = ""
    styles: Mapping[str, Style] = field(default_factory=dict)
    """``time``, ``stage``, ``match``, ``more`` and the levels in lower case."""

    def style(self, name: str) -> Style:
        return self.styles.get(name, PLAIN)


def format_clock(milliseconds: int) -> str:
    """The time of day as ``14:03:07.250``."""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000)
    return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}"


def format_plain_line(line: LogLine) -> str:
    """A line as it is copied and written into files."""
    stage = f" [{harmless(line.stage)}]" if line.stage else ""
    text = harmless(line.text)
    return f"{format_clock(line.time)} {harmless(line.level):7}{stage} {text}"


def lay_out_line(line: LogLine, look: LogStyle) -> list[Strip]:
    """A line on one or more rows; those that are too many are told of in the last one."""
    prefix = _prefix(line, look)
    begins = sum(segment.cell_length for segment in prefix)
    indent = begins if look.width >= _WIDE else min(begins, _NARROW_INDENT)
    pieces = list(_pieces(harmless(line.text), look, begins, indent))
    most = max(1, look.height)
    more = f" … {line.more:,} more characters" if line.more else ""
    if len(pieces) > most:
        more = f" … {len(pieces) - most + 1:,} more rows"
        del pieces[most - 1 :]
        pieces.append("")
    text_style = look.style(line.level.lower())
    rows = []
    for number, piece in enumerate(pieces):
        begin = prefix if number == 0 else [Segment(" " * indent)]
        rows.append(Strip([*begin, *_marked(piece, look, text_style)]))
    if more:
        rows[-1] = Strip([*rows[-1], Segment(more, look.style("more"))])
    return rows


def _prefix(line: LogLine, look: LogStyle) -> list[Segment]:
    """Time, level and stage."""
    word = harmless(WORDS.get(line.level, line.level))[:_LEVEL_WIDTH]
    moment = format_clock(line.time) if look.width >= _WIDE else format_clock(line.time)[:8]
    parts = [
        Segment(f"{moment} ", look.style("time")),
        Segment(f"{word:{_LEVEL_WIDTH}} ", look.style(line.level.lower())),
    ]
    if look.stages:
        stage = fit_to_width(harmless(line.stage or "").replace("\n", "␊"), _STAGE_WIDTH)
        if look.width < _WIDE:
            stage = f"{stage.rstrip()} " if stage.strip() else ""
        else:
            stage += " "
        parts.append(Segment(stage, look.style("stage")))
    return parts


def fit_to_width(text: str, width: int) -> str:
    """The text in exactly so many cells."""
    if cell_len(text) > width:
        text = chop_cells(text, width - 1)[0] + "…"
    return text + " " * (width - cell_len(text))


def _pieces(text: str, look: LogStyle, begins: int, indent: int) -> Iterator[str]:
    """The text on rows of its own; the first one begins behind what stands before the text."""
    taken = begins
    for physical in text.split("\n"):
        rest = physical
        while look.wrap and cell_len(rest) > (width := max(8, look.width - taken)):
            piece = _broken(chop_cells(rest, width)[0])
            yield piece
            rest = rest[len(piece) :]
            taken = indent
        yield rest
        taken = indent


def _broken(piece: str) -> str:
    """As much of what fits as ends between words; all of it when that would leave too much of it empty."""
    at = piece.rfind(" ") + 1
    return piece[:at] if at > len(piece) // 2 else piece


def _marked(piece: str, look: LogStyle, style: Style) -> Iterator[Segment]:
    """The piece with what is searched for marked."""
    if not look.search:
        yield Segment(piece, style)
        return
    flags = re.IGNORECASE if look.search == look.search.lower() else 0
    end = 0
    for match in re.finditer(re.escape(look.search), piece, flags):
        yield Segment(piece[end : match.start()], style)
        yield Segment(match.group(), style + look.style("match"))
        end = match.end()
    yield Segment(piece[end:], style)
