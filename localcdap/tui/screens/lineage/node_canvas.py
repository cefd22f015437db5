"""The canvas of the lineage area: datasets, pipelines and fields, and the ways of data between them."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from localcdap.metadata.lineage.column_edges import DatasetField
from localcdap.metadata.lineage.relations import ProgramId
from localcdap.text import plural
from localcdap.tui.canvas.canvas import Canvas
from localcdap.tui.canvas.chart import Chart, Link, Port, PortKind
from localcdap.tui.canvas.stage_card import StageCard, StageMark
from localcdap.tui.screens.lineage.graph import (
    LineageGraph,
    LineageLink,
    Node,
    find_connected,
    format_node,
    get_dataset,
    get_key,
)
from localcdap.tui.studio import StudioNode

_EMPTY: Final = "The lineage is being read."


class LineageCanvas(StudioNode, Canvas):
    """Shows a graph of lineage; its selection is a node."""

    empty = _EMPTY
    noun = "node"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "walk('left')", "node to the left", id="canvas.left", show=False),
        Binding("down,j", "walk('down')", "node below", id="canvas.down", show=False),
        Binding("up,k", "walk('up')", "node above", id="canvas.up", show=False),
        Binding("right,l", "walk('right')", "node to the right", id="canvas.right", show=False),
        Binding("enter", "open", "draw the graph around it", id="canvas.open", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._by_key: dict[str, Node] = {}
        self._focus: Node | None = None
        self._graph = LineageGraph()

    @property
    def node(self) -> Node | None:
        """The selected node."""
        return self._by_key.get(self.selected or "")

    def show_graph(self, graph: LineageGraph, focus: Node | None, namespace: str) -> None:
        """Show a graph. While it is about the same node, the selection and the view stay.

        :param namespace: the namespace that is not named.
        """
        before, is_same = self.node, focus == self._focus
        self._focus = focus
        self._by_key = {get_key(node): node for node in graph.nodes}
        self._graph = graph
        self.show_cards(build_cards(graph, focus, namespace))
        self.show_chart(build_chart(graph))
        wanted = before if is_same and before in graph.distances else focus
        key = get_key(wanted) if wanted is not None else None
        self.selected = key if key in self._by_key else self.first_stage
        self._dim_others()
        if not is_same:
            self._needs_fit = True
        if self.size.width:
            self._show_start()

    def watch_selected(self, before: str | None, after: str | None) -> None:
        super().watch_selected(before, after)
        self._dim_others()

    def _dim_others(self) -> None:
        """Dim the nodes that lie on no way through the selected node."""
        node = self.node
        connected = (
            find_connected(self._graph, node) if node is not None else set(self._graph.nodes)
        )
        self.dim({key for key, each in self._by_key.items() if each not in connected})

    def select(self, node: Node) -> None:
        """Select a node of the graph."""
        if get_key(node) in self._by_key:
            self.selected = get_key(node)

    def explain_no_effect(self, reason: str) -> None:
        self.studio.explain_no_effect(reason)


def build_chart(graph: LineageGraph) -> Chart:
    """Return what is drawn: direct links have full lines, the others broken ones."""
    nodes = sorted(graph.nodes, key=lambda node: (graph.distances[node], get_key(node)))
    links = [
        Link(get_key(link.source), get_key(link.target), _build_port(link)) for link in graph.links
    ]
    return Chart(tuple(get_key(node) for node in nodes), tuple(dict.fromkeys(links)))


def _build_port(link: LineageLink) -> Port:
    return Port(PortKind.RECORDS if link.is_direct else PortKind.INDIRECT, link.label)


def build_cards(graph: LineageGraph, focus: Node | None, namespace: str) -> dict[str, StageCard]:
    """Return the texts of the nodes by their keys."""
    return {get_key(node): _build_card(graph, node, focus, namespace) for node in graph.nodes}


def _build_card(graph: LineageGraph, node: Node, focus: Node | None, namespace: str) -> StageCard:
    dataset = get_dataset(node)
    if dataset is None:
        title, own = "pipeline", node.namespace if isinstance(node, ProgramId) else namespace
    else:
        title, own = ("dataset" if node == dataset else dataset.dataset), dataset.namespace
    is_focus = node == focus
    return StageCard(
        format_node(node),
        title,
        "" if own == namespace else f"in {own}",
        StageMark.VALID if is_focus else StageMark.UNKNOWN,
        "asked about" if is_focus else _describe_place(graph, node, focus),
        is_loop=any(link.source == link.target == node for link in graph.links),
    )


def _describe_place(graph: LineageGraph, node: Node, focus: Node | None) -> str:
    """Return where a node lies, such as ``2 before``; the number is that of the pipelines in between."""
    if isinstance(node, ProgramId):
        into, out_of = graph.list_links(node)
        return f"{len(into)} in, {len(out_of)} out"
    distance = graph.distances[node]
    if distance == 0:
        is_of_all = isinstance(focus, DatasetField) and focus.field is None
        return "asked about" if is_of_all else "in the same dataset"
    where = "before" if distance < 0 else "behind"
    reach = "" if node in graph.direct else ", indirect"
    return f"{plural(abs(distance), 'step')} {where}{reach}"
