"""The panel beside the lineage graph, and the impact of a change.

The panel says what is known of a node: metadata, the last write, operations, runs. The impact is a
table of all that comes from a dataset or a field, to read and to copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from localcdap.api.dataset.types.external import EXTERNAL_TYPE
from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.api.metadata import MetadataEntity, ScopedMetadata
from localcdap.api.schema import Schema
from localcdap.host.cdap import Cdap
from localcdap.metadata.lineage.column_edges import DatasetField, describe_influence
from localcdap.metadata.lineage.field_lineage import (
    Direction,
    FieldLineageDetails,
    OperationInfo,
    ProgramOperations,
)
from localcdap.metadata.lineage.relations import DatasetId, ProgramId
from localcdap.metadata.lineage.service import DatasetDescription
from localcdap.metadata.system_metadata import EXPLORE
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.values import as_properties
from localcdap.runs.model import Run
from localcdap.text import plural
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_title
from localcdap.tui.labels import (
    MUTED,
    RUN_MARKS,
    format_age,
    format_status,
    format_title,
    join_parts,
    sanitize_name,
)
from localcdap.tui.records.table import RecordTable
from localcdap.tui.records.values import build_table
from localcdap.tui.screens.lineage.graph import (
    ALL_FIELDS,
    LineageGraph,
    LineageLink,
    Node,
    format_node,
    get_dataset,
    list_impact,
    merge_traces,
)

FIELD: Final = "field"
_REFERENCE: Final = "referenceName"
_NAME: Final = "name"


@dataclass(frozen=True)
class NodeFacts:
    """What the services know of a node.

    :param run: the run that has written a dataset last, or the last run of a pipeline.
    :param written: the records that this run has written into the dataset; None when it is not known.
    :param is_deployed: whether a pipeline is deployed; a run of a file leaves lineage too.
    """

    node: Node
    metadata: ScopedMetadata
    description: DatasetDescription | None = None
    operations: FieldLineageDetails | None = None
    run: Run | None = None
    written: int | None = None
    is_deployed: bool = False

    @property
    def is_table(self) -> bool:
        """Whether SQL can read the dataset."""
        return isinstance(self.node, DatasetId) and EXPLORE in self.metadata.system.tags


def get_entity(node: Node) -> MetadataEntity:
    """Return the entity of a node; of all fields of a dataset, the dataset."""
    dataset = get_dataset(node)
    if dataset is None:
        assert isinstance(node, ProgramId)
        return MetadataEntity.of_application(node.application, node.namespace)
    entity = dataset.to_entity()
    if isinstance(node, DatasetField) and node.field is not None:
        return entity.append(FIELD, node.field)
    return entity


def read_facts(cdap: Cdap, node: Node) -> NodeFacts:
    """Read what is known of a node."""
    try:
        metadata = cdap.metadata.get(get_entity(node))
    except NotFoundError:
        metadata = ScopedMetadata()  # a pipeline that only ran from a file
    dataset = get_dataset(node)
    if isinstance(node, ProgramId):
        runs = cdap.runs.list_runs(node.namespace, node.application, limit=1)
        deployed = cdap.applications.has_application(node.namespace, node.application)
        return NodeFacts(node, metadata, run=next(iter(runs), None), is_deployed=deployed)
    assert dataset is not None
    operations = None
    if isinstance(node, DatasetField) and node.field is not None:
        operations = cdap.lineage.get_field_operations(dataset.to_entity(), node.field)
    description = cdap.lineage.describe(dataset.to_entity())
    run = _read_last_run(cdap, description)
    written = _count_written(cdap, run, dataset.dataset) if run is not None else None
    return NodeFacts(node, metadata, description, operations, run, written)


def _read_last_run(cdap: Cdap, description: DatasetDescription) -> Run | None:
    last = description.last_write
    if last is None:
        return None
    try:
        return cdap.runs.get(last.namespace, last.run)
    except NotFoundError:
        return None  # removed since


def _count_written(cdap: Cdap, run: Run, dataset: str) -> int | None:
    """Return how many records went into the sinks of a run that name a dataset."""
    try:
        text = cdap.runs.get_document(run.run)
        stages = list(_find_stages(read_document(text).stages, dataset))
    except LocalcdapError:
        return None
    counts = [run.stages[name].records_in for name in stages if name in run.stages]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _find_stages(stages: Any, dataset: str) -> Iterator[str]:
    for stage in stages:
        properties: Mapping[str, str] = as_properties(stage.plugin.properties)
        named = properties.get(_REFERENCE) or properties.get(_NAME)
        if "sink" in stage.plugin.type and named == dataset:
            yield stage.name


_MOST_LINES: Final = 30
"""The most lines of a part; the graph shows the rest."""


def format_facts(facts: NodeFacts, graph: LineageGraph) -> Content:
    """Return the text of the panel."""
    node = facts.node
    dataset = get_dataset(node)
    if isinstance(node, DatasetField):
        kind = f"of {dataset.dataset}" if dataset is not None else "field"
    else:
        kind = "pipeline" if isinstance(node, ProgramId) else _describe_kind(facts)
    return join_parts(
        format_title(sanitize_name(format_node(node)), sanitize_name(kind)),
        _join(_list_metadata(facts)),
        _join(_list_run(facts)),
        _join(_list_links(graph, node)),
        _join(_list_fields(facts)),
        _join(_list_operations("how it is computed", facts, is_incoming=True)),
        _join(_list_operations("what is done with it", facts, is_incoming=False)),
    )


def _describe_kind(facts: NodeFacts) -> str:
    known = facts.metadata.system.properties.get("type", EXTERNAL_TYPE)
    known = (
        "dataset outside of this instance"
        if known == EXTERNAL_TYPE and not facts.is_table
        else known
    )
    fields = facts.description.fields if facts.description is not None else ()
    return f"{known}, {plural(len(fields), 'field')}"


def _list_metadata(facts: NodeFacts) -> Iterator[Content]:
    own = facts.metadata.user
    if own.tags:
        yield Content.assemble(("tags  ", MUTED), ", ".join(own.tags))
    for key, value in sorted(own.properties.items()):
        yield Content.assemble((f"{key}  ", MUTED), sanitize_name(value))


def _list_run(facts: NodeFacts) -> Iterator[Content]:
    run, node = facts.run, facts.node
    if isinstance(node, ProgramId):
        yield Content.styled("deployed" if facts.is_deployed else "not deployed", MUTED)
    if run is not None:
        mark, style = RUN_MARKS[run.status]
        said = "last run" if isinstance(node, ProgramId) else f"last written by {run.pipeline}"
        yield Content.assemble((f"{sanitize_name(said)}  ", MUTED), format_age(run.starting))
        status = f" {format_status(run.status)}"
        count = f", {plural(facts.written, 'record')}" if facts.written is not None else ""
        yield Content.assemble((mark, style), f"{status}{count}")
        yield Content.styled(f"run {run.run}", MUTED)
    elif facts.description is not None and facts.description.last_write is not None:
        last = facts.description.last_write
        said = f"last written by {sanitize_name(last.application)}  "
        yield Content.assemble((said, MUTED), format_age(last.time), ", a run that was removed")
    elif facts.description is not None:
        yield Content.styled("no run has written this dataset", MUTED)


def _list_links(graph: LineageGraph, node: Node) -> Iterator[Content]:
    into, out_of = graph.list_links(node)
    yield from _list_ends("from", [(link.source, link) for link in into], graph, node)
    yield from _list_ends("to", [(link.target, link) for link in out_of], graph, node)


def _list_ends(
    title: str, ends: Sequence[tuple[Node, LineageLink]], graph: LineageGraph, of: Node
) -> Iterator[Content]:
    if not ends:
        return
    yield Content.styled(title, f"{MUTED} italic")
    for end, link in ends[:_MOST_LINES]:
        dataset, shown = get_dataset(end), format_node(end)
        if isinstance(end, DatasetField) and dataset is not None:
            shown = f"{dataset.dataset}.{shown}"
        influences = sorted(graph.influences.get(link, ()))
        said = "; ".join(map(describe_influence, influences)) or _describe_plain(link, of)
        by = ", ".join(sorted(graph.links[link]))
        told = f"  {said}" + (f", by {by}" if by else "")
        yield Content.assemble(f"  {sanitize_name(shown)}", (sanitize_name(told), MUTED))
    if len(ends) > _MOST_LINES:
        yield Content.styled(f"  and {len(ends) - _MOST_LINES:,} more", MUTED)


def _describe_plain(link: LineageLink, of: Node) -> str:
    """Return what a link without an influence is."""
    if not link.is_direct:
        return link.label
    if isinstance(of, ProgramId):
        return "reads" if link.target == of else "writes"
    return link.label


def _list_fields(facts: NodeFacts) -> Iterator[Content]:
    """Yield the fields of a dataset; those without lineage are marked."""
    if isinstance(facts.node, DatasetField) or facts.description is None:
        return
    fields = facts.description.fields
    if fields:
        yield Content.styled("fields", f"{MUTED} italic")
    for field in fields[:_MOST_LINES]:
        said = "" if field.lineage else "  no lineage yet"
        yield Content.assemble(f"  {sanitize_name(field.name)}", (said, MUTED))
    if len(fields) > _MOST_LINES:
        yield Content.styled(f"  and {len(fields) - _MOST_LINES:,} more", MUTED)


def _list_operations(title: str, facts: NodeFacts, *, is_incoming: bool) -> Iterator[Content]:
    """Yield the operations with the words of the plugins, by the pipelines that perform them."""
    found = facts.operations
    ways: list[ProgramOperations] | None = None
    if found is not None:
        ways = found.incoming if is_incoming else found.outgoing
    if not ways:
        return
    yield Content.styled(title, f"{MUTED} italic")
    for way in ways:
        programs = ", ".join(each.program.application for each in way.programs)
        yield Content.assemble((f"  by {sanitize_name(programs)}", MUTED))
        for operation in way.operations[:_MOST_LINES]:
            yield from _format_operation(operation)


def _format_operation(operation: OperationInfo) -> Iterator[Content]:
    assumed = "  assumed" if operation.assumed else ""
    yield Content.assemble(f"  {sanitize_name(operation.name)}", (assumed, MUTED))
    taken, made = operation.inputs, operation.outputs
    before = (
        taken.end_point.name
        if taken.end_point is not None
        else ", ".join(dict.fromkeys(each.name for each in taken.fields or ()))
    )
    after = made.end_point.name if made.end_point is not None else ", ".join(made.fields or ())
    yield Content.styled(sanitize_name(f"    {before or 'nothing'} → {after or 'dropped'}"), MUTED)
    if operation.description:
        yield Content.styled(sanitize_name(f"    {operation.description}"), MUTED)


def _join(lines: Iterator[Content]) -> Content:
    return Content("\n").join(lines)


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
