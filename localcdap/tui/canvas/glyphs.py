"""The characters that lines are drawn with."""

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
}
"""Level and upright."""


def get_line_glyph(sides: int, kind: PortKind) -> str:
    """The character of a line.

    :param sides: the sides of the cell that it leads to.
    """
    joint = _JOINTS.get(sides)
    if joint is not None:
        return joint
    level, upright = _STROKES[kind]
    return level if sides & LEVEL else upright


def get_arrow_head(*, is_back: bool) -> str:
    """The head of an arrow."""
    return "◀" if is_back else "▶"
