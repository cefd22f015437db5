"""``localcdap stop RUN``: stop a run."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json


@click.command("stop")
@click.argument("run")
@instance_options
def command(instance: Instance, run: str) -> None:
    """Stop RUN: its id, the beginning of its id, or 'last'.

    The files and tables that it writes stay as they were before it; what its actions changed, and the rows
    that it committed to databases, remain.
    """
    with instance.connect() as cdap:
        stopped = cdap.runs.stop(cdap.runs.get(instance.namespace, run).run)
    if instance.json:
        print_json(stopped)
    else:
        echo(f"{stopped.pipeline} {stopped.run}: {stopped.status}")
