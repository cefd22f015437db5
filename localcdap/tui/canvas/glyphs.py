"""The characters that connections are drawn with."""

from __future__ import annotations

from typing import Final

from localcdap.tui.canvas.chart import PortKind

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
