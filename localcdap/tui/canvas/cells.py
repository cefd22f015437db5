"""The connections of a layout as characters in cells, and the glyphs where lines meet."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from localcdap.tui.canvas.chart import PortKind
from localcdap.tui.canvas.layout import Layout, Wire

UP: Final = 1
RIGHT: Final = 2
DOWN: Final = 4
LEFT: Final = 8
UPRIGHT: Final = UP | DOWN
LEVEL: Final = LEFT | RIGHT

_JOINTS: Final = {
    UP | RIGHT: "╰",
    RIGHT | DOWN: "╭",
    DOWN | LEFT: "╮",
    UP | LEFT: "╯",
    UPRIGHT | RIGHT: "├",
    UPRIGHT | LEFT: "┤",
    LEVEL | DOWN: "┬",
    LEVEL | UP: "┴",
    UPRIGHT | LEVEL: "┼",
}
_STROKES: Final = {
    PortKind.RECORDS: ("─", "│"),
    PortKind.PORT: ("─", "│"),
    PortKind.TRUE: ("─", "│"),
    PortKind.FALSE: ("╌", "╎"),
    PortKind.ERRORS: ("┄", "┆"),
    PortKind.ALERTS: ("┈", "┊"),
    PortKind.BACK: ("═", "║"),
    PortKind.INDIRECT: ("╌", "╎"),
}
"""The horizontal and the vertical character of each kind."""


def get_line_glyph(sides: int, kind: PortKind) -> str:
    """Return the character of a connection in a cell.

    :param sides: the sides of the cell that the connection reaches.
    """
    joint = _JOINTS.get(sides)
    if joint is not None:
        return joint
    level, upright = _STROKES[kind]
    return level if sides & LEVEL else upright


def get_arrow_head(*, is_back: bool) -> str:
    """Return the head of an arrow."""
    return "◀" if is_back else "▶"


@dataclass(slots=True)
class Cell:
    """A character of one or more wires."""

    x: int
    text: str
    wires: tuple[int, ...]
    """Numbers of the wires in the cell; the character belongs to the last one."""
    is_label: bool = False


_X = attrgetter("x")


class Cells:
    """The cells of all wires, by row. Boxes are drawn over them."""

    def __init__(self, layout: Layout) -> None:
        self._rows: dict[int, list[Cell]] = {}
        sides: dict[tuple[int, int], dict[int, int]] = {}
        for number, wire in enumerate(layout.wires):
            for place, mask in _find_sides(wire).items():
                sides.setdefault(place, {})[number] = mask
        texts: dict[tuple[int, int], Cell] = {}
        for (x, y), masks in sides.items():
            texts[x, y] = _build_cell(x, masks, layout)
        for number, wire in enumerate(layout.wires):
            for x, y in wire.heads:
                here = sides[x, y]
                texts[x, y] = Cell(x, get_arrow_head(is_back=wire.is_back), (*here, number))
            if wire.label is not None:
                left, y, text = wire.label
                for x, character in enumerate(text, left):
                    texts[x, y] = Cell(x, character, (number,), is_label=True)
        for (_, y), cell in texts.items():
            self._rows.setdefault(y, []).append(cell)
        for row in self._rows.values():
            row.sort(key=_X)

    def list_row(self, y: int, first: int, last: int) -> Iterator[Cell]:
        """Yield the cells of a row from a column to before another, left to right."""
        row = self._rows.get(y, ())
        for place in range(bisect_left(row, first, key=_X), len(row)):
            cell = row[place]
            if cell.x >= last:
                return
            yield cell


def list_wire_cells(wire: Wire) -> set[tuple[int, int]]:
    """Return the columns and rows of the cells of a wire."""
    return set(_find_sides(wire))


def _find_sides(wire: Wire) -> dict[tuple[int, int], int]:
    """Return the sides that a wire reaches in each of its cells."""
    found: dict[tuple[int, int], int] = {}
    for x1, y1, x2, y2 in wire.segments:
        if y1 == y2:
            for x in range(x1, x2 + 1):
                mask = (LEFT if x > x1 else 0) | (RIGHT if x < x2 else 0)
                found[x, y1] = found.get((x, y1), 0) | mask
        else:
            for y in range(y1, y2 + 1):
                mask = (UP if y > y1 else 0) | (DOWN if y < y2 else 0)
                found[x1, y] = found.get((x1, y), 0) | mask
    return found


def _build_cell(x: int, masks: dict[int, int], layout: Layout) -> Cell:
    """Build a cell of wires: a vertical wire crosses in front of others; wires that meet are joined."""
    top = next((n for n, mask in masks.items() if mask == UPRIGHT), None)
    if top is not None and len(masks) > 1:
        others = [n for n in masks if n != top]
        if all(masks[n] == LEVEL for n in others):
            return Cell(x, get_line_glyph(UPRIGHT, layout.wires[top].port.kind), (*others, top))
    joined = 0
    for mask in masks.values():
        joined |= mask
    numbers = tuple(masks)
    return Cell(x, get_line_glyph(joined, layout.wires[numbers[-1]].port.kind), numbers)
