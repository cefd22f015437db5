"""What a user explores: a dataset or a field, how far around it, and the nodes that were expanded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from localcdap.host.cdap import Cdap
from localcdap.metadata.lineage.column_edges import DatasetField
from localcdap.metadata.lineage.field_answers import Direction
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.tui.screens.lineage.graph import LineageGraph, Node, Trace, merge_traces

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
