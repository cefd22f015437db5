"""``localcdap sql``: run a read-only SQL query on the tables of the instance."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from localcdap.api.record_json import encode_json_record
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_table
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.datasets.sql import SqlResult


@click.command("sql")
@click.argument("query")
@click.option(
    "--limit", default=1000, show_default=True, help="The most rows of the result to show."
)
@click.option(
    "--time-limit",
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop the query after this many seconds.",
)
@instance_options
def command(instance: Instance, query: str, limit: int, time_limit: float) -> None:
    """Run one read-only QUERY in DuckDB's SQL; '-' reads it from stdin.

    A query names a table of the namespace TABLE, a table of another namespace NAMESPACE.TABLE (in quotes for
    the namespace default: "default".TABLE), and a structured table of a system application structured.TABLE.
    SHOW ALL TABLES lists them. A query cannot read files or change anything.

    Example: localcdap sql "SELECT city, sum(spent) FROM spending GROUP BY ALL"
    """
    from localcdap.datasets.sql import SqlRequest

    text = sys.stdin.read() if query == "-" else query
    request = SqlRequest(text, instance.namespace, limit=limit, time_limit_s=time_limit)
    with instance.connect() as cdap:
        found = cdap.sql.query(request)
    rows = _to_rows(found)
    names = [column.name for column in found.columns]
    if instance.json:
        print_json({"columns": names, "rows": rows, "truncated": found.truncated})
        return
    print_table(names, rows)
    if found.truncated:
        echo(f"Only the first {plural(limit, 'row')} are shown; see --limit.", err=True)


def _to_rows(found: SqlResult) -> list[list[Any]]:
    """Return the rows as JSON values; dates, decimals and bytes become text."""
    columns = [column.to_pylist() for column in found.to_table().columns]
    return [list(map(encode_json_record, row)) for row in zip(*columns, strict=True)]
