"""``localcdap tables`` and ``localcdap sql``: the tables of the instance, and read-only queries on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from localcdap.api.record_json import encode_json_record
from localcdap.cli.options import Instance, flag, instance_options
from localcdap.cli.output import echo, print_json, print_table, secho
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.datasets.sql import SqlResult
    from localcdap.store.tables import TableDetail


_NO_TABLES: Final = (
    "No tables yet. The sinks Table, KVTable, BigQueryTable and BigQueryMultiTable write tables."
)


@click.command("tables")
@click.argument("name", required=False)
@click.option("--limit", default=20, show_default=True, help="The most rows to show.")
@flag("--drop", help="Drop the table NAME with its rows, or the view NAME.")
@instance_options
def tables_command(instance: Instance, name: str | None, limit: int, drop: bool) -> None:
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
    if not instance.print_json(records):
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


_SHOWN: Final = 1000
"""The most rows that are printed."""


@click.command("sql")
@click.argument("query")
@click.option(
    "--limit",
    type=int,
    help="The most rows of the result; by default 1000, and 100000 for a file.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the result into this file, which ends with .csv, .json or .parquet.",
)
@click.option(
    "--time-limit",
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop the query after this many seconds.",
)
@instance_options
def sql_command(
    instance: Instance, query: str, limit: int | None, output: Path | None, time_limit: float
) -> None:
    """Run one read-only QUERY in DuckDB's SQL; '-' reads it from stdin.

    A query names a table of the namespace TABLE, a table of another namespace NAMESPACE.TABLE (in quotes for
    the namespace default: "default".TABLE), and a structured table of a system application structured.TABLE.
    SHOW ALL TABLES lists them. A query cannot read files or change anything.

    --output writes the result into a file, whole or not at all.

    Example: localcdap sql "SELECT city, sum(spent) FROM spending GROUP BY ALL"
    """
    from localcdap.datasets.sql import MOST_ROWS, SqlRequest
    from localcdap.files.result_files import check_suffix

    if output is not None:
        check_suffix(output)
    most = limit if limit is not None else (_SHOWN if output is None else MOST_ROWS)
    text = sys.stdin.read() if query == "-" else query
    request = SqlRequest(text, instance.namespace, limit=most, time_limit_s=time_limit)
    with instance.connect() as cdap:
        found = cdap.sql.query(request)
    if output is not None:
        _write(instance, found, output)
        return
    rows = _to_rows(found)
    names = [column.name for column in found.columns]
    if instance.print_json({"columns": names, "rows": rows, "truncated": found.truncated}):
        return
    print_table(names, rows)
    if found.truncated:
        echo(f"Only the first {plural(most, 'row')} are shown; see --limit.", err=True)


def _write(instance: Instance, found: SqlResult, output: Path) -> None:
    from localcdap.files.result_files import write_result

    write_result(found.to_table(), output)
    instance.print(
        {"file": str(output), "rows": found.rows, "truncated": found.truncated},
        f"{plural(found.rows, 'row')} in {output}",
    )
    if found.truncated:
        echo(f"The query found more rows than {found.rows:,}; see --limit.", err=True)


def _to_rows(found: SqlResult) -> list[list[Any]]:
    """Return the rows as JSON values; dates, decimals and bytes become text."""
    columns = [column.to_pylist() for column in found.to_table().columns]
    return [list(map(encode_json_record, row)) for row in zip(*columns, strict=True)]
