"""``localcdap tables``: list, show or drop the tables that Table and BigQueryTable sinks wrote."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_table


@click.command("tables")
@click.argument("name", required=False)
@click.option("--limit", default=20, show_default=True, help="The most rows to show.")
@click.option("--drop", is_flag=True, help="Drop the table NAME with its rows.")
@instance_options
def command(instance: Instance, name: str | None, limit: int, drop: bool) -> None:
    """List the tables of the namespace, or show the first rows of the table NAME.

    The sinks Table, KVTable, BigQueryTable and BigQueryMultiTable write tables into the database of the
    instance.
    """
    if drop and name is None:
        raise click.UsageError("--drop needs the NAME of a table.")
    with instance.connect() as cdap:
        if name is None:
            tables = cdap.tables.list_tables(instance.namespace)
            if instance.json:
                print_json(tables)
            elif tables:
                rows = [(t.name, t.rows, ", ".join(t.schema.field_names)) for t in tables]
                print_table(("name", "rows", "columns"), rows, numbers="rows")
            else:
                echo("No tables yet. A Table or BigQueryTable sink writes one.", err=True)
            return
        if drop:
            cdap.tables.drop(instance.namespace, name)
            echo(f"Table '{name}' dropped.", err=True)
            return
        records = cdap.tables.read_rows(instance.namespace, name, limit)
    if instance.json:
        print_json(records)
    else:
        print_table(records.columns, records.rows)
