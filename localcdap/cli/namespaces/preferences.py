"""``localcdap preferences``: show or set the default values of macros."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options, parse_pairs
from localcdap.cli.output import echo, print_json, print_table


@click.command("preferences")
@click.argument("action", type=click.Choice(["list", "set", "delete"]), default="list")
@click.argument("values", nargs=-1, metavar="[K=V | K]...")
@click.option(
    "--instance",
    "whole",
    is_flag=True,
    help="List or change the preferences of the whole instance.",
)
@click.option(
    "--application",
    metavar="NAME",
    help="List or change the preferences of this deployed pipeline.",
)
@click.option(
    "--program",
    metavar="TYPE/NAME",
    help="List or change the preferences of this program of the pipeline, for instance "
    "workflows/DataPipelineWorkflow.",
)
@click.option(
    "--resolved",
    is_flag=True,
    help="List the effective values: those of this level and of the levels above it.",
)
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
    """List the preferences of the namespace, set some (K=V), or delete some (K; without K, all).

    A preference is the default value of the macro ${K} in pipelines. The value in a run is the runtime
    argument (-a), else the preference of the program, else that of the pipeline, of the namespace, of
    the instance.
    """
    from localcdap.namespaces.preferences import PreferenceLevel

    level = PreferenceLevel(None if whole else instance.namespace, application, program)
    with instance.connect() as cdap:
        if action == "set":
            found = cdap.preferences.update(level, parse_pairs(values))
        elif action == "delete":
            removed = list(values) or list(cdap.preferences.get(level))
            found = cdap.preferences.update(level, removed=removed)
        elif resolved:
            found = cdap.preferences.resolve(level)
        else:
            found = cdap.preferences.get(level)
    if instance.json:
        print_json(found)
    elif found:
        print_table(("name", "value"), sorted(found.items()))
    else:
        echo("No preferences at this level.", err=True)
