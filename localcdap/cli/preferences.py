"""``localcdap preferences``: the values that macros have when a run is not given any."""

from __future__ import annotations

import click

from localcdap.cli.namespaces import parse_pairs
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_json, print_table


@click.command("preferences")
@click.argument("action", type=click.Choice(["list", "set", "delete"]), default="list")
@click.argument("values", nargs=-1, metavar="[K=V | K]...")
@click.option("--instance", "whole", is_flag=True, help="Those of all namespaces.")
@click.option("--application", metavar="NAME", help="Those of one pipeline.")
@click.option(
    "--program", metavar="TYPE/NAME", help="Those of one program of it, such as workflows/NAME."
)
@click.option("--resolved", is_flag=True, help="List what holds there, all levels together.")
@instance_options
def command(
    instance: Instance,
    action: str,
    values: tuple[str, ...],
    whole: bool,
    application: str | None,
    program: str | None,
    resolved: bool,
) -> None:
    """List the preferences of the namespace, set some (K=V), or delete some (K; all without K).

    The macro ${K} of a pipeline has the value that its run is given with -a, else that of the program's
    preferences, else the application's, the namespace's, the whole instance's.
    """
    from localcdap.namespaces.preferences import Level

    level = Level(None if whole else instance.namespace, application, program)
    with instance.connect() as cdap:
        if action == "set":
            found = cdap.preferences.change(level, parse_pairs(values))
        elif action == "delete":
            removed = list(values) or list(cdap.preferences.get(level))
            found = cdap.preferences.change(level, removed=removed)
        elif resolved:
            found = cdap.preferences.resolved(level)
        else:
            found = cdap.preferences.get(level)
    if instance.json:
        print_json(found)
    elif found:
        print_table(("name", "value"), sorted(found.items()))
    else:
        click.echo("No preferences there.", err=True)
