"""``localcdap lineage``, ``audit`` and ``openlineage``: what runs read and wrote, and who did what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import DATASET, MetadataEntity
from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, flag, instance_options
from localcdap.cli.output import echo, print_json, print_table
from localcdap.files.atomic import replace_file
from localcdap.text import format_time, plural

if TYPE_CHECKING:
    from localcdap.host import Cdap
    from localcdap.metadata.audit import AuditMessage
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
def lineage_command(
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
    if instance.print_json(found):
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


_TYPES = ("CREATE", "UPDATE", "TRUNCATE", "DELETE", "ACCESS", "METADATA_CHANGE")


@click.command("audit")
@click.argument("entity", required=False)
@click.option("--user", metavar="NAME", help="Only messages about what this user did.")
@click.option(
    "--type",
    "types",
    multiple=True,
    type=click.Choice(_TYPES, case_sensitive=False),
    help="Only this type of messages; repeatable.",
)
@click.option("--since", metavar="TIME", help="Only messages from this time on, such as now-7d.")
@click.option("--until", metavar="TIME", help="Only messages from before this time.")
@flag("--all-namespaces", help="Show the messages of every namespace.")
@click.option("--limit", default=50, show_default=True, help="The most messages.")
@click.option("--offset", default=0, show_default=True, help="How many messages to leave out.")
@flag("--prune", help="Delete the messages from before the time of --until, of every namespace.")
@instance_options
def audit_command(
    instance: Instance,
    entity: str | None,
    user: str | None,
    types: tuple[str, ...],
    since: str | None,
    until: str | None,
    all_namespaces: bool,
    limit: int,
    offset: int,
    prune: bool,
) -> int:
    """Show the audit log of the namespace, or of ENTITY, newest first.

    The log has a message for each entity that was created, changed or deleted, and for each dataset that a
    run has read or written, with the user and the time. Messages are kept until --prune deletes them.

    ENTITY is a path, such as datasets/orders or apps/Sales, see 'localcdap metadata get --help'. TIME is now,
    now-30m, now-12h or now-7d, or a number of seconds since 1970.

    localcdap audit datasets/orders --since now-1d
    """
    from localcdap.metadata.audit import AuditQuery, AuditType
    from localcdap.metadata.entities import parse_entity

    if prune and (until is None or entity or user or types or since):
        raise click.UsageError("--prune needs --until TIME, and takes no other condition.")
    if prune:
        with instance.connect() as cdap:
            count = cdap.audit.prune(_parse_time(until) or 0)
        echo(f"{count} messages deleted.")
        return 0
    found_entity = None if entity is None else parse_entity(entity, instance.namespace)
    query = AuditQuery(
        found_entity,
        None if all_namespaces or entity else instance.namespace,
        user,
        [AuditType(each.upper()) for each in types] or None,
        _parse_time(since),
        _parse_time(until),
        limit,
        offset,
    )
    with instance.connect() as cdap:
        messages = cdap.audit.list_messages(query)
    instance.print_list(
        messages,
        ("time", "user", "type", "entity", "what"),
        lambda message: _format_row(instance, message),
        empty="No messages.",
    )
    return 0 if messages else NO


def _parse_time(text: str | None) -> int | None:
    """Return a time in milliseconds since 1970."""
    from localcdap.metadata.lineage.time_range import parse_time

    return None if text is None else parse_time(text) * 1000


def _format_row(instance: Instance, message: AuditMessage) -> tuple[str, str, str, str, str]:
    from localcdap.metadata.entities import format_entity

    entity = format_entity(message.metadata_entity, relative_to=instance.namespace)
    what = "; ".join(message.describe())
    return format_time(message.time), message.user, message.type.value, entity, what


_RUNS = 100
"""The runs whose events are asked for at once."""


@click.command("openlineage")
@click.option(
    "--export",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the events of the deployed pipelines and of all runs of the namespace into FILE, one on each "
    "line.",
)
@flag("--pipelines-only", help="Leave out the events of runs (--export).")
@instance_options
def openlineage_command(instance: Instance, file: Path | None, pipelines_only: bool) -> int:
    """Show to which file and server events of OpenLineage are sent, and how many wait; or write past events
    into a file.

    OpenLineage is a standard for events about pipelines and runs. The settings openlineage.file and
    openlineage.url switch them on. --export writes the events that would have been sent, also while they are
    off; their column lineage and tags are the present ones.
    """
    if pipelines_only and file is None:
        raise click.UsageError("--pipelines-only needs --export FILE.")
    with instance.connect() as cdap:
        if file is None:
            return _show(instance, cdap)
        count = _write(file, _list_events(cdap, instance.namespace, pipelines_only))
    instance.print(
        {"events": count, "file": str(file)}, f"{plural(count, 'event')} written to {file}."
    )
    return 0 if count else NO


def _show(instance: Instance, cdap: Cdap) -> int:
    found = cdap.openlineage.list_destinations()
    instance.print_list(
        found,
        ("target", "waiting", "dropped", "refused", "error"),
        lambda each: (each.target, each.waiting, each.dropped, each.refused, each.error or ""),
        empty="Events of OpenLineage are off. Set openlineage.file or openlineage.url in localcdap.toml "
        "to send them to a file or a server.",
        numbers="waiting dropped refused",
    )
    return 0 if found else NO


def _list_events(cdap: Cdap, namespace: str, pipelines_only: bool) -> Iterator[str]:
    yield from cdap.openlineage.list_job_events(namespace)
    after: str | None = None
    while not pipelines_only:
        page = cdap.openlineage.list_run_events(namespace, after, _RUNS)
        yield from page.events
        after = page.last
        if after is None:
            return


def _write(file: Path, events: Iterator[str]) -> int:
    """Write events into a file; return how many they are."""
    count = 0
    with (
        replace_file(file) as new_file,
        new_file.open("w", encoding="utf-8", errors="replace") as lines,
    ):
        for event in events:
            lines.write(f"{event}\n")
            count += 1
    return count
