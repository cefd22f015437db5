"""The panel beside the lineage graph: what is known of the selected node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from textual.content import Content

from localcdap.api.dataset.types.external import EXTERNAL_TYPE
from localcdap.metadata.lineage.column_edges import DatasetField, describe_influence
from localcdap.metadata.lineage.field_lineage import OperationInfo, ProgramOperations
from localcdap.metadata.lineage.relations import ProgramId
from localcdap.text import plural
from localcdap.tui.labels import (
    MUTED,
    RUN_MARKS,
    format_age,
    format_status,
    format_title,
    join_parts,
    sanitize_name,
)
from localcdap.tui.screens.lineage.facts import NodeFacts
from localcdap.tui.screens.lineage.graph import (
    LineageGraph,
    LineageLink,
    Node,
    format_node,
    get_dataset,
)

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
