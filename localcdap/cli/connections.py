"""``localcdap connections``: manage the connections that stages use as ``${conn(NAME)}``."""

from __future__ import annotations

import click

from localcdap.cli.files import read_json
from localcdap.cli.options import Instance, instance_options, parse_pairs
from localcdap.cli.output import echo, print_json, print_table
from localcdap.text import format_time


@click.command("connections")
@click.argument(
    "action", type=click.Choice(["list", "show", "put", "import", "delete"]), default="list"
)
@click.argument("name", required=False, metavar="[NAME | FILE]")
@click.option(
    "--type",
    "kind",
    metavar="TYPE",
    help="The type of the other system: BigQuery, GCS, S3, PostgreSQL … (put).",
)
@click.option(
    "-p", "properties", multiple=True, metavar="K=V", help="Set a property; repeatable (put)."
)
@click.option("--description", default="", metavar="TEXT", help="The description (put).")
@instance_options
def command(
    instance: Instance,
    action: str,
    name: str | None,
    kind: str | None,
    properties: tuple[str, ...],
    description: str,
) -> None:
    """List the connections of the namespace, show one, create or replace one (put), import one from FILE, or
    delete one.

    A connection has the address and the credentials of another system; stages use it as ${conn(NAME)}.

    FILE is the JSON of a connection that Data Fusion exports. Values of properties whose names suggest a
    secret, such as password or token, are stored as secure keys and never shown.
    """
    if action == "list":
        _list(instance)
        return
    if name is None:
        what = "FILE" if action == "import" else "NAME"
        raise click.UsageError(f"{what} is missing: localcdap connections {action} {what}")
    if action == "delete":
        _delete(instance, name)
        return
    with instance.connect() as cdap:
        if action == "show":
            found = cdap.connections.get(instance.namespace, name)
        elif action == "import":
            found = cdap.connections.load(instance.namespace, read_json(name))
        else:
            plugin = {"name": kind or "", "properties": parse_pairs(properties, "-p")}
            given = {"name": name, "description": description, "plugin": plugin}
            found = cdap.connections.load(instance.namespace, given)
    if instance.json:
        print_json(found)
        return
    echo(f"{found.name}  {found.connection_type}  {found.description}".rstrip())
    if found.plugin.properties:
        print_table(("property", "value"), sorted(found.plugin.properties.items()))


def _list(instance: Instance) -> None:
    with instance.connect() as cdap:
        found = cdap.connections.list_connections(instance.namespace)
    if instance.json:
        print_json(found)
    elif found:
        rows = [
            (
                each.name,
                each.connection_type,
                format_time(each.updated_time_millis),
                each.description,
            )
            for each in found
        ]
        print_table(("name", "type", "updated", "description"), rows)
    else:
        echo(
            "No connections. Create one: localcdap connections put NAME --type TYPE -p K=V",
            err=True,
        )


def _delete(instance: Instance, name: str) -> None:
    with instance.connect() as cdap:
        cdap.connections.delete(instance.namespace, name)
    if instance.json:
        print_json({"deleted": name})
    else:
        echo(f"Connection '{name}' deleted.")
