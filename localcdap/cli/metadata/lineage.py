"""``localcdap lineage``: which pipelines read and write a dataset, where its fields come from and go to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import DATASET, MetadataEntity
from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_table

if TYPE_CHECKING:
    from localcdap.metadata.lineage.dataset_lineage import LineageRecord
    from localcdap.metadata.lineage.service import FieldTrace
    from localcdap.metadata.lineage.traversal import FieldGraph

_FIELD: Final = "field"
_USES: Final = {"incoming": "written", "outgoing": "read", "both": "read or written"}


@click.command("lineage")
@click.argument("entity")
@click.option(
    "--field", metavar="F", help="Show where this field of the dataset comes from and goes to."
)
@click.option(
    "--direction",
    type=click.Choice(("incoming", "outgoing", "both"), case_sensitive=False),
    default="both",
    show_default=True,
    help="Show what ENTITY comes from, what comes from it, or both.",
)
@click.option(
    "--levels",
    default=10,
    show_default=True,
    help="The most steps from ENTITY; a step leads over pipelines to the datasets or fields next to it.",
)
@click.option(
    "--since",
    metavar="TIME",
    help="Of a dataset: only runs from this time on, such as now-7d, or seconds since 1970.",
)
@click.option("--until", metavar="TIME", help="Of a dataset: only runs until this time.")
@instance_options
def command(
    instance: Instance,
    entity: str,
    field: str | None,
    direction: str,
    levels: int,
    since: str | None,
    until: str | None,
) -> int:
    """Show where the data of ENTITY comes from and where it goes.

    ENTITY is a dataset or a field of one. A dataset is the name of a table, or the reference name of a
    source or sink: orders, datasets/orders and dataset:orders are the same. A field is
    datasets/orders/field/email.

    For a dataset, the command lists the pipelines that have read or written it, and the other datasets of
    these pipelines. What a run reads counts from the moment at which it is read; what it writes counts when
    the run has committed. Previews do not count.

    For a field, it lists the fields that it comes from and the fields that come from it, through any number
    of pipelines. A direct influence carries values; an indirect one decides which values there are, as a
    filter or a join key does. An assumed one leads through a stage that has recorded nothing.
    """
    from localcdap.metadata.lineage.field_lineage import Direction

    dataset, field = _parse(instance, entity, field)
    way = Direction(direction.lower())
    if field is None:
        with instance.connect() as cdap:
            found = cdap.lineage.get(dataset, since or "0", until or "now", levels, direction=way)
            if not found.relations:
                cdap.lineage.describe(dataset)  # refuses an unknown dataset
        if found.relations or instance.json:
            _print_relations(instance, found)
        else:
            period = " in the time of --since and --until" if since or until else ""
            echo(f"No run has {_USES[way]} the dataset '{dataset.name}'{period}.", err=True)
        return 0 if found.relations else NO
    if since is not None or until is not None:
        raise click.UsageError(
            "--since and --until select runs; the edges between fields are those of now."
        )
    with instance.connect() as cdap:
        trace = cdap.lineage.trace_fields(dataset, field, way, levels)
    return _print_trace(instance, trace, field)


def _parse(instance: Instance, text: str, field: str | None) -> tuple[MetadataEntity, str | None]:
    """Return the dataset and the field that the arguments name."""
    from localcdap.metadata.entities import parse_entity

    given = text if set(text) & {"/", ":"} else f"{DATASET}:{text}"
    entity = parse_entity(given, instance.namespace)
    if entity.type != _FIELD or DATASET not in entity.details:
        return entity, field
    if field is not None and field != entity.name:
        raise BadRequestError(
            f"'{text}' and --field {field} name different fields.", "Name the field once."
        )
    return MetadataEntity(entity.head(DATASET)), entity.name


def _print_relations(instance: Instance, found: LineageRecord) -> None:
    if instance.json:
        print_json(found)
        return
    rows = [
        (
            each.data.split(".", 2)[2],
            " and ".join(each.accesses),
            each.program.split(".")[2],
            len(each.runs),
        )
        for each in found.relations
    ]
    print_table(("dataset", "is", "by pipeline", "runs"), sorted(rows), numbers="runs")


def _print_trace(instance: Instance, trace: FieldTrace, field: str) -> int:
    graphs = {"incoming": trace.incoming, "outgoing": trace.outgoing}
    rows = [
        (direction, *row)
        for direction, graph in graphs.items()
        if graph is not None
        for row in _list_edges(graph, instance.namespace, upstream=direction == "incoming")
    ]
    if instance.json:
        print_json(trace)
    elif rows:
        print_table(("direction", "level", "from", "to", "how", "by pipeline"), rows, "level")
        if any(graph is not None and graph.truncated for graph in graphs.values()):
            echo("There are more edges; --levels and --direction show fewer levels.", err=True)
    else:
        echo(
            f"No deployed pipeline and no run relates the field '{field}' to another field.",
            err=True,
        )
    return 0 if rows else NO


def _list_edges(
    graph: FieldGraph, namespace: str, *, upstream: bool
) -> list[tuple[int, str, str, str, str]]:
    from localcdap.metadata.lineage.column_edges import SAME_DATA, describe_influence, format_field

    distances = {node.field: node.distance for node in graph.nodes}
    rows = [
        (
            distances[edge.source if upstream else edge.target],
            format_field(edge.source, namespace),
            format_field(edge.target, namespace),
            describe_influence(edge.influence),
            edge.application,
        )
        for edge in graph.edges
    ]
    rows += [
        (
            distances[source],
            format_field(source, namespace),
            format_field(target, namespace),
            SAME_DATA,
            "",
        )
        for source, target in graph.same
    ]
    return sorted(rows)
