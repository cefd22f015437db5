"""How large a pipeline is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Zoom:
    """Sizes in cells.

    :param width: of a stage.
    :param height: of a stage with few ports.
    :param first: the row of its input and of its first port, below its top.
    :param below: rows below its last port.
    :param gap: rows between stages of a column.
    :param lead: columns between a stage and where its lines may turn.
    :param track: columns from one turn to the next.
    :param tail: columns for the heads of lines.
    """

    name: str
    width: int
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


NORMAL: Final = Zoom("normal", 26, 4, 1, 1, 1, 1, 2, 2, has_labels=True)
COMPACT: Final = Zoom("compact", 20, 1, 0, 0, 0, 1, 1, 2, has_labels=True)
DOTS: Final = Zoom("dots", 3, 1, 0, 0, 0, 0, 1, 1, has_labels=False)

ZOOMS: Final = (NORMAL, COMPACT, DOTS)
"""From near to far."""
