"""The records of a run on the connections: their counts, and markers that move while records arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final

from localcdap.runs.model import StageCounts
from localcdap.tui.canvas.cells import list_wire_cells
from localcdap.tui.canvas.chart import PortKind
from localcdap.tui.canvas.layout import Layout, Wire
from localcdap.tui.canvas.stage_card import format_count

MARKER: Final = "●"
_PERIOD: Final = 4
"""Cells from one marker to the next."""
_MOVING_S: Final = 2.0
"""Seconds for which markers move after a count has grown: a run reports its counts once a second."""

Place = tuple[int, int]
"""Column and row of a cell."""


class RecordFlow:
    """What is drawn over the wires of a layout while the counts of a run are shown.

    :param former: the flow of the same run in another layout.
    """

    def __init__(self, layout: Layout, former: RecordFlow | None = None) -> None:
        self._layout: Final = layout
        self._distances: Final[dict[int, dict[Place, int]]] = {}
        """By wire, the number of cells from its start to each of its cells."""
        self._counts: Mapping[str, StageCounts] = former._counts if former is not None else {}
        self._grown: dict[str, float] = dict(former._grown) if former is not None else {}
        """By stage, when its counts have grown last."""

    def update(self, counts: Mapping[str, StageCounts], now: float) -> None:
        """Take the counts of a run.

        :param now: ``time.monotonic``.
        """
        for stage, new in counts.items():
            old = self._counts.get(stage)
            if _add_up(new) > (_add_up(old) if old is not None else 0):
                self._grown[stage] = now
        self._counts = dict(counts)

    def is_moving(self, now: float) -> bool:
        """Whether any count has grown lately."""
        return any(now - at < _MOVING_S for at in self._grown.values())

    def build_marks(self, step: int, now: float) -> dict[Place, str]:
        """Return the characters that replace those of wires.

        :param step: the number of cells by which the markers have moved.
        """
        marks: dict[Place, str] = {}
        for number, wire in enumerate(self._layout.wires):
            distances = self._measure(number, wire)
            moves = any(
                now - self._grown.get(stage, -_MOVING_S) < _MOVING_S
                for stage in (wire.start, *wire.ends)
            )
            if moves and self._get_count(wire) != 0:
                marks |= {
                    place: MARKER
                    for place, distance in distances.items()
                    if (distance - step) % _PERIOD == 0
                }
            count = self._get_count(wire)
            if count:
                marks |= _place_count(format_count(count), wire, distances)
        return marks

    def _get_count(self, wire: Wire) -> int | None:
        """Return the number of records that a wire has carried; None when it is not known."""
        counts = self._counts.get(wire.start)
        if counts is None or wire.port.kind is PortKind.PORT:
            return None
        return counts.errors if wire.port.kind is PortKind.ERRORS else counts.records_out

    def _measure(self, number: int, wire: Wire) -> dict[Place, int]:
        found = self._distances.get(number)
        if found is None:
            found = self._distances[number] = _measure_distances(wire, self._layout)
        return found


def _list_label_cells(wire: Wire) -> set[Place]:
    if wire.label is None:
        return set()
    left, y, text = wire.label
    return {(x, y) for x in range(left, left + len(text))}


def _add_up(counts: StageCounts) -> int:
    return sum(n or 0 for n in (counts.records_in, counts.records_out, counts.errors))


def _measure_distances(wire: Wire, layout: Layout) -> dict[Place, int]:
    """Return the distance of each cell of a wire from the stage where it begins."""
    cells = list_wire_cells(wire)
    box = layout.boxes.get(wire.start)
    right = box.right - 1 if box is not None else 0
    first = min(cells, key=lambda place: abs(place[0] - right))
    distances = {first: 0}
    queue = deque([first])
    while queue:
        x, y = queue.popleft()
        for near in ((x + 1, y), (x, y + 1), (x, y - 1), (x - 1, y)):
            if near in cells and near not in distances:
                distances[near] = distances[x, y] + 1
                queue.append(near)
    seen = distances.keys() - set(wire.heads) - _list_label_cells(wire)
    return {place: distances[place] for place in seen if layout.find_box(*place) is None}


def _place_count(text: str, wire: Wire, cells: Mapping[Place, int]) -> dict[Place, str]:
    """Return the cells of a count in the first level part of a wire that is long enough."""
    for x1, y1, x2, y2 in wire.segments:
        free = [x for x in range(x1, x2 + 1) if (x, y1) in cells]
        if y1 == y2 and free:
            room = max(_split_runs(free), key=len)
            if len(room) >= len(text) + 2:
                left = room[0] + (len(room) - len(text)) // 2
                return {(left + i, y1): character for i, character in enumerate(text)}
    return {}


def _split_runs(columns: list[int]) -> list[list[int]]:
    """Split ascending columns into those that follow each other without a gap."""
    runs: list[list[int]] = []
    for x in columns:
        if runs and runs[-1][-1] == x - 1:
            runs[-1].append(x)
        else:
            runs.append([x])
    return runs
