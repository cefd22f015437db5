"""The third step of a layered layout: the row of each stage, so that lines are straight where possible."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from localcdap.tui.canvas.layers import Layers

_ROUNDS: Final = 4
_NODES: Final = 1
_MIXED: Final = 2
_WAYPOINTS: Final = 8
"""The weight of a straight line. A bend between two waypoints is the most visible one."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes in rows.

    :param heights: the height of each node and waypoint.
    :param first: the distance of a node's first port, and of its input, from its top.
    :param gap: the number of free rows between neighbours.
    """

    heights: Sequence[int]
    first: int
    gap: int


def place_rows(layers: Layers, sizes: Sizes) -> list[int]:
    """Return the top row of each node and waypoint, from 0."""
    placement = _Placement(layers, sizes)
    return placement.compute_rows()


class _Placement:
    def __init__(self, layers: Layers, sizes: Sizes) -> None:
        self._columns = layers.columns
        self._sizes = sizes
        count = len(layers.ports)
        self._top = [0] * count
        self._left: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]
        """For each member the members left of it, how much lower it should be, and the weight of this
        wish.
        """
        self._right: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]
        real = layers.real
        for hops in layers.hops:
            for hop in hops:
                enter = sizes.first if hop.target < real else 0
                leave = (sizes.first if hop.source < real else 0) + hop.port
                ends = (hop.source < real) + (hop.target < real)
                weight = (_WAYPOINTS, _MIXED, _NODES)[ends]
                self._left[hop.target].append((hop.source, leave - enter, weight))
                self._right[hop.source].append((hop.target, enter - leave, weight))

    def compute_rows(self) -> list[int]:
        for column in self._columns:
            row = 0
            for node in column:
                self._top[node] = row
                row += self._sizes.heights[node] + self._sizes.gap
        for _ in range(_ROUNDS):
            self._sweep(self._columns, self._left)
            self._sweep(self._columns[::-1], self._right)
        self._sweep(self._columns, self._left)
        both = [left + right for left, right in zip(self._left, self._right, strict=True)]
        self._sweep(self._columns, both)
        least = min(self._top, default=0)
        return [row - least for row in self._top]

    def _sweep(
        self, columns: Sequence[Sequence[int]], around: Sequence[list[tuple[int, int, int]]]
    ) -> None:
        for column in columns:
            wanted = [
                [(self._top[other] + lower, weight) for other, lower, weight in around[node]]
                or [(self._top[node], _NODES)]
                for node in column
            ]
            needed = [self._sizes.heights[node] + self._sizes.gap for node in column]
            for node, row in zip(column, find_nearest_rows(wanted, needed), strict=True):
                self._top[node] = row


def find_nearest_rows(
    wanted: Sequence[Sequence[tuple[int, int]]], needed: Sequence[int]
) -> list[int]:
    """Return the rows of items one below the other, as near as possible to the wanted rows.

    The sum of weighted distances is the least possible: isotonic regression that pools neighbours which would
    overlap. Each pool is at its weighted median, so that rows are whole numbers and most lines are straight.

    :param wanted: for each item the wanted rows with their weights.
    :param needed: for each item the number of rows that it takes.
    """
    pools: list[_Pool] = []
    below = 0
    for each, height in zip(wanted, needed, strict=True):
        pool = _Pool(sorted((row - below, weight) for row, weight in each))
        while pools and pools[-1].middle > pool.middle:
            pool = pools.pop().with_below(pool)
        pools.append(pool)
        below += height
    found: list[int] = []
    below = 0
    heights = iter(needed)
    for pool in pools:
        for _ in range(pool.count):
            found.append(pool.middle + below)
            below += next(heights)
    return found


class _Pool:
    """Neighbours that move together."""

    def __init__(self, wishes: list[tuple[int, int]], count: int = 1) -> None:
        self.wishes = wishes
        self.count = count
        half = sum(weight for _, weight in wishes) / 2
        for row, weight in wishes:
            half -= weight
            # Where two rows are as good as each other, one goes straight to the first of several, and
            # several go down from the first.
            if half < 0 or (half == 0 and count == 1):
                self.middle = row
                break

    def with_below(self, below: _Pool) -> _Pool:
        wishes = self.wishes
        for wish in below.wishes:
            insort(wishes, wish)
        return _Pool(wishes, self.count + below.count)
