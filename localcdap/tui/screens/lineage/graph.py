"""The graph of the lineage area: what was traced from one or more starts, as nodes and links to draw.

A node is a dataset, a program or a field, as the service names them. Data goes from the source of a
link to its target. :class:`NodeCanvas` draws them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from localcdap.api.lineage import EdgeKind, EdgeType
from localcdap.host.cdap import Cdap
from localcdap.metadata.lineage.column_edges import SAME_DATA, DatasetField, Influence
from localcdap.metadata.lineage.dataset_lineage import READS, WRITES
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.metadata.lineage.relations import AccessType, DatasetId, ProgramId
from localcdap.metadata.lineage.service import DatasetTrace, FieldTrace
from localcdap.metadata.lineage.traversal import DatasetGraph, FieldGraph
from localcdap.text import plural
from localcdap.tui.canvas.canvas import Canvas
from localcdap.tui.canvas.chart import Chart, Link, Port, PortKind
from localcdap.tui.canvas.stage_card import StageCard, StageMark
from localcdap.tui.studio import StudioNode

Node = DatasetId | ProgramId | DatasetField
Trace = DatasetTrace | FieldTrace

ALL_FIELDS: Final = "all fields"
"""The name of the node that stands for all fields of a dataset."""
UNKNOWN: Final = "unknown"
"""The label of an access of which it is not known whether it reads or writes."""
_EACH: Final = "each"
"""The label between all fields of a dataset and one of them."""
_LABELS: Final = {
    EdgeKind.IDENTITY: "",
    EdgeKind.TRANSFORMATION: "computed",
    EdgeKind.AGGREGATION: "aggregated",
    EdgeKind.GROUP_BY: "group by",
    EdgeKind.CONDITIONAL: "condition",
}
"""The labels of kinds whose word is too long for a connection, or says nothing."""


@dataclass(frozen=True)
class LineageLink:
    """A way that data takes, or an influence without data.

    :param label: what happens, with ``?`` behind it when it is assumed.
    """

    source: Node
    target: Node
    label: str = ""
    is_direct: bool = True


@dataclass
class LineageGraph:
    """Nodes with their distances from the first start, and links with the pipelines that they belong to."""

    distances: dict[Node, int] = field(default_factory=dict)
    """The number of programs or edges in between; less than 0 for what lies before the start."""
    links: dict[LineageLink, set[str]] = field(default_factory=dict)
    """By link, the applications of its edges; empty for a link at a program."""
    influences: dict[LineageLink, set[Influence]] = field(default_factory=dict)
    """By link, the influences that have the same label."""
    direct: set[Node] = field(default_factory=set)
    """The nodes to which values go from the start, or the other way round."""
    is_truncated: bool = False
    """Whether edges were left out, because there are too many."""

    @property
    def nodes(self) -> Iterable[Node]:
        return self.distances.keys()

    def list_links(self, node: Node) -> tuple[list[LineageLink], list[LineageLink]]:
        """Return the links that end at a node, and those that begin there."""
        into = [link for link in self.links if link.target == node]
        return into, [link for link in self.links if link.source == node]


def find_connected(graph: LineageGraph, node: Node) -> set[Node]:
    """Return the nodes from which data or influence gets to a node, those that it gets to, and itself."""
    found = {node}
    for is_forward in (False, True):
        ways: dict[Node, list[Node]] = {}
        for link in graph.links:
            begin, end = (link.source, link.target) if is_forward else (link.target, link.source)
            ways.setdefault(begin, []).append(end)
        reached, ahead = {node}, [node]
        while ahead:
            ends = set(ways.get(ahead.pop(), ())) - reached
            reached |= ends
            ahead += ends
        found |= reached
    return found


def merge_traces(traces: Mapping[Node, Trace]) -> LineageGraph:
    """Return the graph of all traces, by their starts; the first one is the start of the distances."""
    graph = LineageGraph()
    for start, trace in traces.items():
        before = graph.distances.get(start, 0)
        for part, sign in ((trace.incoming, -1), (trace.outgoing, 1)):
            if isinstance(part, DatasetGraph):
                _add_datasets(graph, part, before, sign)
            elif isinstance(part, FieldGraph):
                _add_fields(graph, part, before, sign)
    if len(graph.links) and traces:
        _drop_bare_start(graph, next(iter(traces)))
        _link_all_fields(graph)
    return graph


def _add_datasets(graph: LineageGraph, part: DatasetGraph, before: int, sign: int) -> None:
    graph.is_truncated = graph.is_truncated or part.truncated
    for node in part.nodes:
        graph.distances.setdefault(node.data, before + sign * node.distance)
        graph.direct.add(node.data)
    for edge in part.edges:
        nearest = graph.distances.get(edge.data, before)
        graph.distances.setdefault(edge.program, nearest)
        is_unknown = edge.access is AccessType.UNKNOWN
        if is_unknown:
            link = LineageLink(edge.data, edge.program, UNKNOWN, is_direct=False)
            graph.links.setdefault(link, set())
            continue
        if edge.access in READS:
            graph.links.setdefault(LineageLink(edge.data, edge.program), set())
        if edge.access in WRITES:
            graph.links.setdefault(LineageLink(edge.program, edge.data), set())
    for source, target in part.same:
        graph.links.setdefault(LineageLink(source, target, SAME_DATA), set())


def _add_fields(graph: LineageGraph, part: FieldGraph, before: int, sign: int) -> None:
    graph.is_truncated = graph.is_truncated or part.truncated
    for node in part.nodes:
        graph.distances.setdefault(node.field, before + sign * node.distance)
        if node.direct:
            graph.direct.add(node.field)
    for edge in part.edges:
        near = edge.source if sign > 0 else edge.target
        if near not in graph.distances:
            _place_beside(graph, near, before)
        link = LineageLink(
            edge.source,
            edge.target,
            label_influence(edge.influence),
            edge.influence.kind.type is EdgeType.DIRECT,
        )
        graph.links.setdefault(link, set()).add(edge.application)
        graph.influences.setdefault(link, set()).add(edge.influence)
    for first, other in part.same:
        graph.links.setdefault(LineageLink(first, other, SAME_DATA), set())


def _place_beside(graph: LineageGraph, node: DatasetField, before: int) -> None:
    """Place a node that a search passed without naming it.

    From all fields of a dataset it goes on at each of them, and an edge to all fields ends at each of them.
    """
    same = [
        each
        for each in graph.nodes
        if isinstance(each, DatasetField) and each.dataset == node.dataset
    ]
    nearest = min(same, key=lambda each: abs(graph.distances[each]), default=None)
    graph.distances[node] = before if nearest is None else graph.distances[nearest]
    if DatasetField(node.dataset) in graph.direct:
        graph.direct.add(node)


def _drop_bare_start(graph: LineageGraph, start: Node) -> None:
    """Leave out the start of a trace of all fields of a dataset: its edges are those of the single fields."""
    if isinstance(start, DatasetField) and start.field is None and not any(graph.list_links(start)):
        graph.distances.pop(start, None)


def _link_all_fields(graph: LineageGraph) -> None:
    """Link the node of all fields of a dataset with the nodes of its single fields."""
    fields = [node for node in graph.nodes if isinstance(node, DatasetField)]
    together = {node.dataset: node for node in fields if node.field is None}
    for node in fields:
        whole = together.get(node.dataset)
        if whole is not None and node.field is not None:
            graph.links.setdefault(LineageLink(whole, node, _EACH, is_direct=False), set())


def label_influence(influence: Influence) -> str:
    """Return the short text at a connection; ``?`` behind it means that it is assumed."""
    kind = influence.kind
    label = _LABELS.get(kind, kind.value.lower())
    return f"{label}?" if influence.assumed else label


def get_key(node: Node) -> str:
    """Return a text that identifies a node in a drawing."""
    match node:
        case DatasetId():
            return f"d/{node.namespace}/{node.dataset}"
        case ProgramId():
            return f"p/{node.namespace}/{node.application}/{node.program}"
        case _:
            name = "" if node.field is None else f"/{node.field}"
            return f"f/{node.dataset.namespace}/{node.dataset.dataset}{name}"


def get_dataset(node: Node) -> DatasetId | None:
    """Return the dataset of a node; None for a program."""
    if isinstance(node, DatasetField):
        return node.dataset
    return node if isinstance(node, DatasetId) else None


def format_node(node: Node) -> str:
    """Return the name of a node without its namespace; all fields of a dataset are ``all fields``."""
    match node:
        case DatasetId():
            return node.dataset
        case ProgramId():
            return node.application
        case _:
            return ALL_FIELDS if node.field is None else node.field


def format_mermaid(graph: LineageGraph) -> str:
    """Return the graph as a flowchart of Mermaid; indirect influences have dotted lines."""
    numbers = {node: f"n{number}" for number, node in enumerate(graph.nodes, 1)}
    lines = ["flowchart LR"]
    for node, id in numbers.items():
        text = _escape_mermaid(_format_whole(node))
        lines.append(f'  {id}(["{text}"])' if isinstance(node, ProgramId) else f'  {id}["{text}"]')
    for link, applications in graph.links.items():
        said = ", ".join(filter(None, (link.label, *sorted(map(str, applications)))))
        arrow = "-->" if link.is_direct else "-.->"
        label = f'|"{_escape_mermaid(said)}"|' if said else ""
        lines.append(f"  {numbers[link.source]} {arrow}{label} {numbers[link.target]}")
    return "\n".join(lines) + "\n"


def _format_whole(node: Node) -> str:
    dataset = get_dataset(node)
    if dataset is None or isinstance(node, DatasetId):
        return format_node(node)
    return f"{dataset.dataset}.{format_node(node)}"


def _escape_mermaid(text: str) -> str:
    """Return a text for between quotation marks, in which Mermaid reads ``#`` as the start of an entity."""
    return "".join(_ESCAPES.get(each, each if each.isprintable() else " ") for each in text)


_ESCAPES: Final = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;"}


def list_impact(graph: LineageGraph) -> Iterator[tuple[int, str, str, str]]:
    """Yield what comes from the start: distance, dataset, field, and ``direct`` or ``indirect``."""
    for node, distance in sorted(
        graph.distances.items(), key=lambda item: (item[1], get_key(item[0]))
    ):
        dataset = get_dataset(node)
        if distance > 0 and dataset is not None:
            name = format_node(node) if isinstance(node, DatasetField) else ""
            yield distance, dataset.dataset, name, "direct" if node in graph.direct else "indirect"


MOST_HOPS: Final = 20
MOST_LINKS: Final = 150
"""The edges of each part of a graph in each direction; more cannot be read as a drawing."""

Focus = DatasetId | DatasetField


@dataclass(frozen=True)
class Exploration:
    """A part of the lineage to show.

    :param focus: what is asked about; a field of None stands for all fields of a dataset.
    :param hops: how many steps around the focus are shown.
    :param indirect: whether influences without values are shown.
    :param expanded: nodes with one more step around them, in the order in which they were expanded.
    """

    focus: Focus
    hops: int = 1
    direction: Direction = Direction.BOTH
    indirect: bool = True
    expanded: tuple[Focus, ...] = ()

    @property
    def is_of_fields(self) -> bool:
        """Whether columns are shown, not datasets."""
        return isinstance(self.focus, DatasetField)

    @property
    def dataset(self) -> DatasetId:
        """The dataset in the middle."""
        return self.focus.dataset if isinstance(self.focus, DatasetField) else self.focus

    def with_hops(self, hops: int) -> Exploration:
        return replace(self, hops=hops)

    def with_direction(self, direction: Direction) -> Exploration:
        return replace(self, direction=direction)

    def with_indirect(self, indirect: bool) -> Exploration:
        return replace(self, indirect=indirect)

    def refocus(self, focus: Focus) -> Exploration:
        """Return the exploration of another node."""
        return replace(self, focus=focus, expanded=())

    def expand(self, node: Focus) -> Exploration:
        return replace(self, expanded=(*self.expanded, node))

    def collapse(self, node: Node) -> Exploration:
        return replace(self, expanded=tuple(each for each in self.expanded if each != node))

    def switch_mode(self) -> Exploration:
        """Return the exploration of all columns of the dataset, or of the dataset of the columns."""
        if isinstance(self.focus, DatasetField):
            datasets = [e.dataset for e in self.expanded if isinstance(e, DatasetField)]
            expanded = tuple(dict.fromkeys(datasets))
            return replace(self, focus=self.focus.dataset, expanded=expanded)
        fields = [DatasetField(e) for e in self.expanded if isinstance(e, DatasetId)]
        return replace(self, focus=DatasetField(self.focus), expanded=tuple(fields))


def read_graph(cdap: Cdap, exploration: Exploration) -> LineageGraph:
    """Return the graph of an exploration.

    :raises NotFoundError: when there is no such dataset or field.
    """
    starts: dict[Focus, int] = dict.fromkeys(exploration.expanded, 1)
    starts = {exploration.focus: exploration.hops} | {
        node: hops for node, hops in starts.items() if node != exploration.focus
    }
    traces: dict[Node, Trace] = {}
    for node, hops in starts.items():
        # A step further is shown around an expanded node whatever the direction.
        way = exploration.direction if node == exploration.focus else Direction.BOTH
        traces[node] = _trace(cdap, node, hops, way, indirect=exploration.indirect)
    return merge_traces(traces)


def _trace(cdap: Cdap, node: Focus, hops: int, way: Direction, *, indirect: bool) -> Trace:
    if isinstance(node, DatasetId):
        return cdap.lineage.trace_datasets(node.to_entity(), way, hops, MOST_LINKS)
    entity = node.dataset.to_entity()
    return cdap.lineage.trace_fields(entity, node.field, way, hops, MOST_LINKS, indirect)


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
