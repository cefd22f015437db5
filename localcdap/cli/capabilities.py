"""``localcdap capabilities``: what plugins here are capable of."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_json, print_table


@click.command("capabilities")
@instance_options
def command(instance: Instance) -> None:
    """List the capabilities that are known, and how many plugins have each.

    Use one to narrow the list of plugins: 'localcdap plugins --capability NAME'.
    """
    with instance.connect() as cdap:
        counts = cdap.artifacts.list_capabilities(instance.namespace)
    if instance.json:
        print_json(counts)
        return
    rows = [(c.capability, c.plugins, "system" if c.system else "plugins") for c in counts]
    print_table(("capability", "plugins", "defined by"), rows, numbers="plugins")
