"""The part of a layout that does not depend on sizes: columns and order. It is computed once for a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from localcdap.tui.canvas.chart import Chart, Link, Port, PortKind
from localcdap.tui.canvas.layers import Layers, Strand, assign_layers

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
