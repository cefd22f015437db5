"""The columns, the order and the rows of a layered layout.

First each stage gets a column, then each column an order with few crossings of lines; both are computed
once for a graph. The third step gives each stage its row, so that lines are straight where possible. A
line that passes columns has a waypoint in each of them. Lines that leave one stage through one port
share their waypoints: they are one *strand* until they branch.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from localcdap.tui.canvas.chart import Chart, Link, Port, PortKind

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


Edge = tuple[int, int]


def mark_forward_edges(count: int, edges: Sequence[Edge]) -> list[bool]:
    """Return for each edge whether it goes to the right; in each cycle one edge goes back.

    :param count: the number of nodes, which are numbered from 0.
    :param edges: no node leads to itself.
    """
    out: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(edges):
        out[source].append(number)
    is_forward = [True] * len(edges)
    new, open_, done = 0, 1, 2
    state = [new] * count
    entered = [False] * count
    for _, target in edges:
        entered[target] = True
    # Begin at the sources, so that the line that leads back is the one that closes a cycle.
    for root in sorted(range(count), key=lambda node: entered[node]):
        stack = [(root, iter(out[root]))] if state[root] == new else []
        state[root] = open_ if stack else state[root]
        while stack:
            node, ahead = stack[-1]
            edge = next(ahead, None)
            if edge is None:
                state[node] = done
                stack.pop()
                continue
            target = edges[edge][1]
            if state[target] == open_:
                is_forward[edge] = False
            elif state[target] == new:
                state[target] = open_
                stack.append((target, iter(out[target])))
    return is_forward


def assign_ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return the column of each node, from 0: right of its predecessors, and near to its successors.

    :param edges: without cycles.
    """
    out: list[list[int]] = [[] for _ in range(count)]
    into: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        out[source].append(target)
        into[target].append(source)
    order = _sort_topologically(out, [len(each) for each in into])
    rank = [0] * count
    for node in order:
        for target in out[node]:
            rank[target] = max(rank[target], rank[node] + 1)
    for node in reversed(order):
        if len(out[node]) > len(into[node]):
            rank[node] = min(rank[target] for target in out[node]) - 1
    return rank


def find_components(count: int, edges: Sequence[Edge]) -> list[list[int]]:
    """Return the connected components, ordered by their first node; the nodes of each are in order."""
    head = list(range(count))

    def find(node: int) -> int:
        while head[node] != node:
            head[node] = head[head[node]]
            node = head[node]
        return node

    for source, target in edges:
        one, other = find(source), find(target)
        head[max(one, other)] = min(one, other)
    parts: dict[int, list[int]] = {}
    for node in range(count):
        parts.setdefault(find(node), []).append(node)
    return list(parts.values())


def _sort_topologically(out: Sequence[Sequence[int]], waiting: list[int]) -> list[int]:
    """Return the nodes so that each comes after all of its predecessors."""
    done = [node for node, count in enumerate(waiting) if not count]
    for node in done:
        for target in out[node]:
            waiting[target] -= 1
            if not waiting[target]:
                done.append(target)
    return done


@dataclass(frozen=True, slots=True)
class Bundle:
    """The lines that leave a stage through one port, by names of stages; parallel to a strand."""

    start: str
    port: Port
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChartPart:
    """A connected part of the chart, in columns."""

    names: tuple[str, ...]
    """The names of the stages, by their numbers in the layers."""
    layers: Layers
    strands: tuple[Strand, ...]
    bundles: tuple[Bundle, ...]
    ports: tuple[tuple[Port, ...], ...]
    """The ports of each node, from top to bottom."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The parts of a chart."""

    parts: tuple[ChartPart, ...]
    """The connected stages, in document order."""
    singles: tuple[str, ...]
    """Stages without connections."""
    endings: tuple[str, ...]
    loops: frozenset[str]
    """Stages that are connected to themselves; this is drawn inside them."""


@lru_cache(maxsize=8)
def arrange(chart: Chart) -> Arrangement:
    """Return the columns of a chart and the order in each."""
    number = {name: place for place, name in enumerate(chart.nodes)}
    links = [link for link in chart.links if link.source != link.target]
    edges = [(number[link.source], number[link.target]) for link in links]
    parts: list[ChartPart] = []
    singles: list[str] = []
    groups = find_components(len(chart.nodes), edges)
    of_group: dict[int, list[Link]] = {}
    home = {node: group[0] for group in groups for node in group}
    for link, (source, _) in zip(links, edges, strict=True):
        of_group.setdefault(home[source], []).append(link)
    for group in groups:
        if len(group) == 1:
            singles.append(chart.nodes[group[0]])
        else:
            names = tuple(chart.nodes[node] for node in group)
            parts.append(_create_part(names, of_group[group[0]]))
    loops = frozenset(link.source for link in chart.links if link.source == link.target)
    return Arrangement(tuple(parts), tuple(singles), chart.endings, loops)


def _create_part(names: tuple[str, ...], links: Sequence[Link]) -> ChartPart:
    number = {name: place for place, name in enumerate(names)}
    edges = [(number[link.source], number[link.target]) for link in links]
    goes = mark_forward_edges(len(names), edges)
    drawn = [
        (source, target, link.port) if ahead else (target, source, Port(PortKind.BACK))
        for link, (source, target), ahead in zip(links, edges, goes, strict=True)
    ]
    rank = assign_ranks(len(names), [(source, target) for source, target, _ in drawn])
    found: list[dict[Port, list[int]]] = [{} for _ in names]
    for source, target, port in drawn:
        targets = found[source].setdefault(port, [])
        if target not in targets:
            targets.append(target)
    ports = tuple(tuple(sorted(each, key=lambda port: port.kind)) for each in found)
    strands = tuple(
        Strand(source, place, tuple(found[source][port]))
        for source, each in enumerate(ports)
        for place, port in enumerate(each)
    )
    bundles = tuple(
        Bundle(names[s.source], ports[s.source][s.port], tuple(names[t] for t in s.targets))
        for s in strands
    )
    counts = [max(len(each), 1) for each in ports]
    return ChartPart(names, assign_layers(rank, strands, counts), strands, bundles, ports)


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
