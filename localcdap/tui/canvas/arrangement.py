"""The part of a layout that does not depend on sizes: columns and order. It is computed once for a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from localcdap.tui.canvas.chart import Chart, Link, Port, PortKind
from localcdap.tui.canvas.layers import Layers, Strand, assign_layers
from localcdap.tui.canvas.ranks import assign_ranks, find_components, mark_forward_edges


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
