"""``localcdap runs``: list the runs."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, format_time, print_json, print_table
from localcdap.text import format_duration


@click.command("runs")
@click.argument("name", required=False)
@click.option("--limit", default=50, show_default=True, help="The most runs to list; 0 lists all.")
@instance_options
def command(instance: Instance, name: str | None, limit: int) -> None:
    """List the runs of the namespace, or of the pipeline NAME, newest first."""
    with instance.connect() as cdap:
        runs = cdap.runs.list_runs(instance.namespace, pipeline=name, limit=limit)
    if instance.json:
        print_json(runs)
        return
    if not runs:
        echo("No runs yet. Start one with 'localcdap run FILE'.", err=True)
        return
    rows = [
        (
            r.run,
            r.pipeline,
            r.profile,
            r.status,
            format_time(r.starting),
            format_duration(r.starting, r.end),
        )
        for r in runs
    ]
    print_table(("run", "pipeline", "profile", "status", "started", "took"), rows)
