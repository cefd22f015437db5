"""The impact of a change: a table of all that comes from a dataset or a field, to read and to copy."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from localcdap.api.schema import Schema
from localcdap.host.cdap import Cdap
from localcdap.metadata.lineage.column_edges import DatasetField
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_title
from localcdap.tui.labels import sanitize_name
from localcdap.tui.records.table import RecordTable
from localcdap.tui.records.values import build_table
from localcdap.tui.screens.lineage.graph import (
    ALL_FIELDS,
    LineageGraph,
    format_node,
    list_impact,
    merge_traces,
)

MOST_HOPS: Final = 100
"""Further than any real chain of pipelines."""
_SCHEMA: Final = Schema.record(
    "impact",
    [
        ("steps", Schema.LONG),
        ("dataset", Schema.STRING),
        ("field", Schema.STRING),
        ("how", Schema.STRING),
        ("pipelines", Schema.STRING),
    ],
)


def read_impact(cdap: Cdap, node: DatasetId | DatasetField) -> LineageGraph:
    """Return all that comes from a dataset or a field, through any number of pipelines."""
    if isinstance(node, DatasetId):
        found = cdap.lineage.trace_datasets(node.to_entity(), Direction.OUTGOING, MOST_HOPS)
        return merge_traces({node: found})
    entity = node.dataset.to_entity()
    trace = cdap.lineage.trace_fields(entity, node.field, Direction.OUTGOING, MOST_HOPS)
    return merge_traces({node: trace})


class ImpactDialog(DialogScreen[None]):
    """Shows which datasets and fields a change affects.

    :param title: what would change.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss_empty", "back", id="lineage.back")
    ]
    DEFAULT_CSS = """
    ImpactDialog > #dialog { width: 110; height: 30; }
    """
    HAS_FOOTER = True
    AUTO_FOCUS = "RecordGrid"

    def __init__(self, title: str, graph: LineageGraph) -> None:
        super().__init__()
        self._title = title
        self._graph = graph

    def compose_body(self) -> ComposeResult:
        yield create_title(
            sanitize_name(self._title),
            "what comes from it and changes with it; a copies the table as CSV, A as JSON",
        )
        yield RecordTable(id="impact")

    def on_mount(self) -> None:
        note = "some results are left out" if self._graph.is_truncated else ""
        rows = list_rows(self._graph)
        if rows:
            self.query_one(RecordTable).show(build_table(rows, _SCHEMA), note)
        else:
            self.query_one(RecordTable).clear(
                "No dataset and no field is known that comes from it."
            )


def list_rows(graph: LineageGraph) -> list[dict[str, Any]]:
    """Return the rows of the table."""
    pipelines: dict[tuple[str, str], set[str]] = {}
    for link, applications in graph.links.items():
        target = link.target
        if isinstance(target, DatasetField):
            key = target.dataset.dataset, format_node(target)
            pipelines.setdefault(key, set()).update(applications)
        elif isinstance(target, DatasetId) and not isinstance(
            link.source, DatasetField | DatasetId
        ):
            pipelines.setdefault((target.dataset, ""), set()).add(link.source.application)

    def find(dataset: str, field: str) -> set[str]:
        own = pipelines.get((dataset, field), set())
        return own or pipelines.get((dataset, ALL_FIELDS), set())

    return [
        {
            "steps": steps,
            "dataset": dataset,
            "field": field,
            "how": how,
            "pipelines": ", ".join(sorted(find(dataset, field))),
        }
        for steps, dataset, field, how in list_impact(graph)
    ]
