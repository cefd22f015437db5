"""``localcdap tables``: list, show or drop the tables and views that pipelines wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_table, secho
from localcdap.store.tables import TableDetail

_NO_TABLES: Final = (
    "No tables yet. The sinks Table, KVTable, BigQueryTable and BigQueryMultiTable write tables."
)


@click.command("tables")
@click.argument("name", required=False)
@click.option("--limit", default=20, show_default=True, help="The most rows to show.")
@click.option("--drop", is_flag=True, help="Drop the table NAME with its rows, or the view NAME.")
@instance_options
def command(instance: Instance, name: str | None, limit: int, drop: bool) -> None:
    """List the tables and views of the namespace, or show the first rows of the table or view NAME.

    Tables are in the database of the instance. The sinks Table, KVTable, BigQueryTable and
    BigQueryMultiTable write them; the action BigQueryExecute creates views, which are queries.
    """
    if drop and name is None:
        raise click.UsageError("--drop needs the NAME of a table.")
    with instance.connect() as cdap:
        if name is None:
            tables = cdap.tables.list_tables(instance.namespace)
            if instance.json:
                print_json(tables)
            elif tables:
                _print_tables(tables)
            else:
                echo(_NO_TABLES, err=True)
            return
        if drop:
            cdap.tables.drop(instance.namespace, name)
            echo(f"'{name}' dropped.", err=True)
            return
        records = cdap.tables.read_rows(instance.namespace, name, limit)
    if instance.json:
        print_json(records)
    else:
        print_table(records.columns, records.rows)


def _print_tables(tables: Sequence[TableDetail]) -> None:
    """Print the tables and, for each view, its query or why it cannot be read."""
    rows = [
        (t.name, "view" if t.rows is None else t.rows, ", ".join(t.schema.field_names))
        for t in tables
    ]
    print_table(("name", "rows", "columns"), rows, numbers="rows")
    views = [table for table in tables if table.query is not None]
    if views:
        echo("")
        print_table(("view", "query"), [(view.name, view.query) for view in views])
    for view in views:
        if view.problem is not None:
            secho(view.problem, fg="red", err=True)
