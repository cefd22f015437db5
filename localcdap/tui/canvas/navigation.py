"""Moving from stage to stage with the arrow keys."""

from __future__ import annotations

from collections.abc import Iterable

from localcdap.tui.canvas.chart import Chart
from localcdap.tui.canvas.layout import Box, Layout

STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}

WORDS = {"left": "to the left", "right": "to the right", "up": "above", "down": "below"}


def find_first(layout: Layout) -> str | None:
    """Return the stage to start with: the leftmost stage of the top row."""
    best = min(layout.boxes.values(), key=lambda box: (box.x, box.y), default=None)
    return None if best is None else best.name


def find_neighbour(layout: Layout, chart: Chart, name: str, direction: str) -> str | None:
    """Return the next stage in a direction: along a connection, else the nearest. None at the end.

    :param direction: ``left``, ``right``, ``up`` or ``down``.
    """
    here = layout.boxes.get(name)
    if here is None:
        return find_first(layout)
    dx, dy = STEPS[direction]
    ahead = [box for box in layout.boxes.values() if _is_ahead(here, box, dx, dy)]
    if dx:
        linked = set(_list_linked(chart, name))
        ahead = [box for box in ahead if box.name in linked] or ahead
    best = min(ahead, key=lambda box: _distance(here, box, dx), default=None)
    return None if best is None else best.name


def _is_ahead(here: Box, box: Box, dx: int, dy: int) -> bool:
    if dx:
        return (box.x - here.x) * dx > 0
    return (box.y - here.y) * dy > 0


def _distance(here: Box, box: Box, dx: int) -> tuple[int, int, int]:
    across, down = abs(box.x - here.x), abs(box.enters - here.enters)
    # A cell is about twice as high as wide. A distance across the direction counts more than along it.
    far = across + 6 * down if dx else 2 * down + 3 * across
    return far, box.y, box.x


def _list_linked(chart: Chart, name: str) -> Iterable[str]:
    for link in chart.links:
        if link.source == name:
            yield link.target
        elif link.target == name:
            yield link.source
