"""The zoom levels of the canvas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Zoom:
    """Sizes in cells.

    :param level: its index in :data:`ZOOMS`.
    :param width: minimum width of a stage.
    :param most: maximum width of a stage.
    :param height: height of a stage with few ports.
    :param first: row of the input and of the first port, counted from the top.
    :param below: rows below the last port.
    :param gap: rows between stages of a column.
    :param lead: columns between a stage and the first column where connections may turn.
    :param track: columns from one turn to the next.
    :param tail: columns for the arrow heads.
    """

    level: int
    width: int
    most: int
    height: int
    first: int
    below: int
    gap: int
    lead: int
    track: int
    tail: int
    has_labels: bool

    def get_height(self, ports: int) -> int:
        """Return the height of a stage with a number of ports."""
        return max(self.height, self.first + ports + self.below)

    def with_width(self, width: int) -> Zoom:
        """Return this zoom with another width of stages, within its limits."""
        width = max(self.width, min(width, self.most))
        return self if width == self.width else replace(self, width=width)


NORMAL: Final = Zoom(0, 26, 40, 4, 1, 1, 1, 1, 2, 2, has_labels=True)
SNUG: Final = Zoom(1, 15, 22, 3, 1, 1, 0, 1, 1, 2, has_labels=True)
COMPACT: Final = Zoom(2, 15, 22, 1, 0, 0, 0, 1, 1, 2, has_labels=True)
DOTS: Final = Zoom(3, 3, 3, 1, 0, 0, 0, 0, 1, 1, has_labels=False)

ZOOMS: Final = (NORMAL, SNUG, COMPACT, DOTS)
"""From near to far."""
