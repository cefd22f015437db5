"""The overview of a drawing in a corner of the canvas: its stages, and the part that is in view."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import groupby
from math import ceil
from operator import itemgetter
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset, Region, Size
from textual.strip import Strip

from localcdap.tui.canvas.layout import Layout

_MOST: Final = Size(36, 8)
"""Cells of the overview without its frame, at most."""
_SHARE: Final = 3
"""An overview takes at most this part, a third, of the width and the height of the canvas."""
_LEAST: Final = Size(12, 3)
"""Cells of the smallest overview; in a smaller canvas there is none."""
_IN_VIEW: Final = "░"
_STAGE: Final = "▪"
_STAGE_IN_VIEW: Final = "█"
SELECTED: Final = "◆"
WRONG: Final = "✗"


class Minimap:
    """A layout in a few cells, each of which stands for equally many columns and rows.

    :param space: the size of the canvas.
    """

    def __init__(self, layout: Layout, space: Size) -> None:
        self.space: Final = space
        most = Size(
            min(_MOST.width, space.width // _SHARE - 2),
            min(_MOST.height, space.height // _SHARE - 2),
        )
        self.is_too_small: Final = most.width < _LEAST.width or most.height < _LEAST.height
        """Whether the canvas has no space for an overview."""
        self._across: Final = max(1, ceil(layout.width / max(most.width, 1)))
        self._down: Final = max(layout.zoom.height, ceil(layout.height / max(most.height, 1)))
        self._columns: Final = max(1, ceil(layout.width / self._across))
        self._rows: Final = max(1, ceil(layout.height / self._down))
        self.region: Final = Region(
            space.width - self._columns - 2,
            space.height - self._rows - 2,
            self._columns + 2,
            self._rows + 2,
        )
        """Where the overview with its frame is in the canvas: in the corner at the bottom right."""
        self._places: Final[dict[str, list[tuple[int, int]]]] = {
            name: [
                (x, y)
                for y in range(box.y // self._down, (box.bottom - 1) // self._down + 1)
                for x in range(box.x // self._across, (box.right - 1) // self._across + 1)
            ]
            for name, box in layout.boxes.items()
        }
        self._taken: Final = {place for places in self._places.values() for place in places}

    def render(
        self,
        view: Region,
        selected: str | None,
        wrong: Collection[str],
        styles: Mapping[str, Style],
    ) -> list[Strip]:
        """Return the rows of the overview with its frame, from top to bottom.

        :param view: the part of the drawing that is in view, in cells of the drawing.
        :param wrong: stages with failures.
        :param styles: those of the painter.
        """
        marks = {place: (WRONG, styles["wrong"]) for name in wrong for place in self._find(name)}
        marks |= dict.fromkeys(self._find(selected), (SELECTED, styles["name-selected"]))
        frame = styles["frame"]
        rows = [Strip([Segment("╭" + "─" * self._columns + "╮", frame)], self._columns + 2)]
        columns = range(view.x // self._across, (view.right - 1) // self._across + 1)
        lines = range(view.y // self._down, (view.bottom - 1) // self._down + 1)
        looks = {  # by whether a stage is there, and whether the cell is in view
            (True, True): (_STAGE_IN_VIEW, styles["name"]),
            (True, False): (_STAGE, styles["note"]),
            (False, True): (_IN_VIEW, frame),
            (False, False): (" ", frame),
        }
        for y in range(self._rows):
            is_line = y in lines
            cells = [
                marks.get((x, y)) or looks[(x, y) in self._taken, is_line and x in columns]
                for x in range(self._columns)
            ]
            runs = [
                Segment("".join(text for text, _ in run), style)
                for style, run in groupby(cells, itemgetter(1))
            ]
            edge = Segment("│", frame)
            rows.append(Strip([edge, *runs, edge], self._columns + 2))
        rows.append(Strip([Segment("╰" + "─" * self._columns + "╯", frame)], self._columns + 2))
        return rows

    def find_place(self, x: int, y: int) -> Offset | None:
        """Return the cell of the drawing for a cell of the canvas; None outside of the overview."""
        if not self.region.shrink((1, 1, 1, 1)).contains(x, y):
            return None
        column, row = x - self.region.x - 1, y - self.region.y - 1
        return Offset(column * self._across + self._across // 2, row * self._down + self._down // 2)

    def _find(self, stage: str | None) -> list[tuple[int, int]]:
        """Return the first cell of a stage, where its mark stands."""
        return self._places.get(stage or "", [])[:1]
