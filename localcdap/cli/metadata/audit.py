"""``localcdap audit``: who created, changed, read or wrote which entity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_list
from localcdap.text import format_time

if TYPE_CHECKING:
    from localcdap.metadata.audit import AuditMessage

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
@click.option("--all-namespaces", is_flag=True, help="Show the messages of every namespace.")
@click.option("--limit", default=50, show_default=True, help="The most messages.")
@click.option("--offset", default=0, show_default=True, help="How many messages to leave out.")
@click.option(
    "--prune",
    is_flag=True,
    help="Delete the messages from before the time of --until, of every namespace.",
)
@instance_options
def command(
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
    print_list(
        messages,
        ("time", "user", "type", "entity", "what"),
        lambda message: _format_row(instance, message),
        as_json=instance.json,
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
