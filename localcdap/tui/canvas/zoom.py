"""How large a pipeline is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Zoom:
    """Sizes in cells.

    :param level: its place in :data:`ZOOMS`.
    :param width: of a stage, at least.
    :param most: of a stage, where there is room.
    :param height: of a stage with few ports.
    :param first: the row of its input and of its first port, below its top.
    :param below: rows below its last port.
    :param gap: rows between stages of a column.
    :param lead: columns between a stage and where its lines may turn.
    :param track: columns from one turn to the next.
    :param tail: columns for the heads of lines.
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

    def height_of(self, ports: int) -> int:
        """Of a stage with some ports."""
        return max(self.height, self.first + ports + self.below)

    def widened(self, width: int) -> Zoom:
        """With stages of another width, as far as there are such."""
        width = max(self.width, min(width, self.most))
        return self if width == self.width else replace(self, width=width)


NORMAL: Final = Zoom(0, 26, 40, 4, 1, 1, 1, 1, 2, 2, has_labels=True)
SNUG: Final = Zoom(1, 15, 26, 4, 1, 1, 0, 1, 1, 2, has_labels=True)
COMPACT: Final = Zoom(2, 15, 34, 1, 0, 0, 0, 1, 1, 2, has_labels=True)
DOTS: Final = Zoom(3, 3, 3, 1, 0, 0, 0, 0, 1, 1, has_labels=False)

ZOOMS: Final = (NORMAL, SNUG, COMPACT, DOTS)
"""From near to far."""
