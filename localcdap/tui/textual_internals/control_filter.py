"""The filter at the edge of the studio: nothing that a widget paints can do anything to the terminal."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from localcdap.text import sanitize_for_terminal

_REPLACEMENT: Final = "\ufffd"


class ControlFilter(LineFilter):
    """Replaces control and direction characters in the lines of all widgets; the lines keep their widths.

    Widgets that can make such characters readable do that themselves, see
    :func:`localcdap.text.sanitize_for_terminal`. This filter is for all others.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without such characters."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [
            segment
            if segment.control or segment.text.isprintable()
            else Segment(_replace_controls(segment.text), segment.style)
            for segment in segments
        ]


@lru_cache(1024)
def _replace_controls(text: str) -> str:
    return "".join(
        each
        if sanitize_for_terminal(each, single_line=True) == each
        else _REPLACEMENT * cell_len(each)
        for each in text
    )
