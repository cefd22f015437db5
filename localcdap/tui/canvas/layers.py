"""The second step of a layered layout: the order of stages in each column, with few crossings of lines.

A line that passes columns has a waypoint in each of them. Lines that leave one stage through one port share
their waypoints: they are one *strand* until they branch.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

_SWEEPS: Final = 8


@dataclass(slots=True)
class Hop:
    """A line between neighbouring columns.

    :param source: a node or waypoint.
    :param port: the index of the source's port; a waypoint has one port.
    """

    source: int
    port: int
    target: int


@dataclass(slots=True)
class Layers:
    """Nodes and waypoints in columns.

    Numbers below ``real`` are nodes, the others waypoints.
    """

    real: int
    columns: list[list[int]]
    """The members of each column, from top to bottom."""
    hops: list[list[Hop]]
    """The hops from each column to the next; one list less than columns."""
    ports: list[int]
    """The number of ports of each node and waypoint, at least 1."""


@dataclass(frozen=True, slots=True)
class Strand:
    """The lines that leave a node through one port.

    :param port: the index of the port.
    """

    source: int
    port: int
    targets: tuple[int, ...]


def assign_layers(rank: Sequence[int], strands: Sequence[Strand], ports: Sequence[int]) -> Layers:
    """Arrange nodes and waypoints in columns, in an order with few crossings of lines.

    :param rank: the column of each node.
    :param strands: each target is right of its source.
    """
    found = _add_waypoints(rank, strands, ports)
    _order_by_traversal(found)
    _reduce_crossings(found)
    return found


def _add_waypoints(rank: Sequence[int], strands: Sequence[Strand], ports: Sequence[int]) -> Layers:
    count = max(rank, default=-1) + 1
    found = Layers(
        len(rank), [[] for _ in range(count)], [[] for _ in range(count - 1)], list(ports)
    )
    for node, column in enumerate(rank):
        found.columns[column].append(node)
    for strand in strands:
        at, port, column = strand.source, strand.port, rank[strand.source]
        last = max(rank[target] for target in strand.targets)
        while True:
            for target in strand.targets:
                if rank[target] == column + 1:
                    found.hops[column].append(Hop(at, port, target))
            column += 1
            if column == last:
                break
            waypoint = len(found.ports)
            found.ports.append(1)
            found.columns[column].append(waypoint)
            found.hops[column - 1].append(Hop(at, port, waypoint))
            at, port = waypoint, 0
    return found


def _order_by_traversal(found: Layers) -> None:
    """Order the members of each column as a depth-first traversal along the lines reaches them."""
    ahead: dict[int, list[Hop]] = {}
    for hops in found.hops:
        for hop in hops:
            ahead.setdefault(hop.source, []).append(hop)
    for each in ahead.values():
        each.sort(key=lambda hop: (hop.port, hop.target))
    seen: dict[int, int] = {}
    into = {hop.target for hops in found.hops for hop in hops}
    members = [node for column in found.columns for node in column]
    for root in [node for node in members if node not in into] + members:
        stack = [root]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen[node] = len(seen)
                stack += [hop.target for hop in reversed(ahead.get(node, ()))]
    for column in found.columns:
        column.sort(key=seen.__getitem__)


def _reduce_crossings(found: Layers) -> None:
    best, fewest = [list(c) for c in found.columns], _count_crossings(found)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        _sweep(found, to_right=sweep % 2 == 0)
        _exchange_neighbours(found)
        crossings = _count_crossings(found)
        if crossings < fewest:
            best, fewest = [list(c) for c in found.columns], crossings
    found.columns[:] = best


def _sweep(found: Layers, *, to_right: bool) -> None:
    """Order each column by the mean position of the neighbours in the previous column (barycenter method)."""
    count = len(found.columns)
    for column in range(1, count) if to_right else range(count - 2, -1, -1):
        hops = found.hops[column - 1 if to_right else column]
        positions = _index_positions(found.columns[column - 1 if to_right else column + 1])
        around: dict[int, list[float]] = {}
        for hop in hops:
            if to_right:
                here, there = hop.target, positions[hop.source] + _get_port_share(found, hop)
            else:
                here, there = hop.source, positions[hop.target] - _get_port_share(found, hop) / 2
            around.setdefault(here, []).append(there)
        members = found.columns[column]
        own = _index_positions(members)
        members.sort(
            key=lambda node: sum(around[node]) / len(around[node]) if node in around else own[node]
        )


def _get_port_share(found: Layers, hop: Hop) -> float:
    """Return how far down a line leaves its source: 0 at the top, always below 1."""
    return hop.port / found.ports[hop.source]


def _exchange_neighbours(found: Layers) -> None:
    """Exchange neighbours in a column where this removes crossings."""
    for index, column in enumerate(found.columns):
        sides = _list_line_ends(found, index)
        for _ in range(3):
            is_better = False
            for i in range(len(column) - 1):
                upper, lower = sides[column[i]], sides[column[i + 1]]
                now = _count_pair_crossings(upper[0], lower[0]) + _count_pair_crossings(
                    upper[1], lower[1]
                )
                if now and now > _count_pair_crossings(lower[0], upper[0]) + _count_pair_crossings(
                    lower[1], upper[1]
                ):
                    column[i], column[i + 1] = column[i + 1], column[i]
                    is_better = True
            if not is_better:
                break


def _list_line_ends(found: Layers, index: int) -> dict[int, tuple[list[float], list[float]]]:
    """Return the sorted positions from which and to which the lines of each member of a column go."""
    sides: dict[int, tuple[list[float], list[float]]]
    sides = {node: ([], []) for node in found.columns[index]}
    if index > 0:
        before = _index_positions(found.columns[index - 1])
        for hop in found.hops[index - 1]:
            insort(sides[hop.target][0], before[hop.source] + _get_port_share(found, hop))
    if index < len(found.hops):
        after = _index_positions(found.columns[index + 1])
        for hop in found.hops[index]:
            insort(sides[hop.source][1], after[hop.target])
    return sides


def _count_pair_crossings(upper: Sequence[float], lower: Sequence[float]) -> int:
    """Count the crossings between the lines of two neighbours, from the sorted positions of their other
    ends.
    """
    return sum(len(upper) - bisect_right(upper, end) for end in lower)


def _count_crossings(found: Layers) -> int:
    total = 0
    for index, hops in enumerate(found.hops):
        left, right = (
            _index_positions(found.columns[index]),
            _index_positions(found.columns[index + 1]),
        )
        ends = sorted((left[h.source] + _get_port_share(found, h), right[h.target]) for h in hops)
        seen: list[int] = []
        for _, end in ends:
            total += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return total


def _index_positions(column: Sequence[Hashable]) -> dict[Hashable, int]:
    return {node: position for position, node in enumerate(column)}
