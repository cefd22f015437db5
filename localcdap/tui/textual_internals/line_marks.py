"""The mark of the line that is chosen, for eyes and programs that do not see its colour."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from textual.strip import Strip

MARK: Final = "›"


def mark_line(line: Strip) -> Strip:
    """Return a line with the mark in its first cell, if that is blank."""
    first = next((segment for segment in line if segment.text), None)
    if first is None or not first.text.startswith(" "):
        return line
    return Strip.join([Strip([Segment(MARK, first.style)], 1), line.crop(1)])
