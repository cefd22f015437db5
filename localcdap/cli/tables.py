"""``localcdap tables``: what Table sinks wrote."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_json, print_table


@click.command("tables")
@click.argument("name", required=False)
@click.option("--limit", default=20, show_default=True, help="The most rows to show.")
@instance_options
def command(instance: Instance, name: str | None, limit: int) -> None:
    """List the tables of the namespace, or show the first rows of the table NAME."""
    with instance.connect() as cdap:
        if name is None:
            tables = cdap.tables.list_tables(instance.namespace)
            if instance.json:
                print_json(tables)
            elif tables:
                rows = [(t.name, t.rows, ", ".join(t.schema.field_names)) for t in tables]
                print_table(("name", "rows", "columns"), rows, numbers="rows")
            else:
                click.echo("No tables yet. A Table sink writes one.", err=True)
            return
        records = cdap.tables.rows(instance.namespace, name, limit)
    if instance.json:
        print_json(records)
    else:
        print_table(records.columns, records.rows)
