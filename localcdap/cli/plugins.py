"""``localcdap plugins``: the plugins that pipelines can use."""

from __future__ import annotations

import click

from localcdap.cli.faults import NO
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_json, print_table


@click.command("plugins")
@click.option(
    "--type", "type_", metavar="T", help="Only plugins of this type, for instance transform."
)
@click.option(
    "--capability",
    "capabilities",
    multiple=True,
    metavar="C",
    help="Only those capable of C; repeatable.",
)
@instance_options
def command(instance: Instance, type_: str | None, capabilities: tuple[str, ...]) -> int:
    """List the plugins that pipelines of the namespace can use, newest version of each."""
    with instance.connect() as cdap:
        plugins = cdap.artifacts.list_plugins(
            instance.namespace, type=type_, capabilities=list(capabilities)
        )
    if instance.json:
        print_json(plugins)
    elif plugins:
        rows = [
            (
                p.type,
                p.name,
                f"{p.artifact.name} {p.artifact.version}",
                p.description.split(". ")[0],
            )
            for p in plugins
        ]
        print_table(("type", "name", "artifact", "what it does"), rows)
    else:
        click.echo("No plugin fits.", err=True)
    return 0 if plugins else NO
