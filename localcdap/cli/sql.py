"""``localcdap sql``: a read-only query on the tables of the instance."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import plural, print_json, print_table

if TYPE_CHECKING:
    from localcdap.datasets.sql import SqlResult


@click.command("sql")
@click.argument("query")
@click.option("--limit", default=1000, show_default=True, help="The most rows to show.")
@click.option(
    "--time-limit", default=60.0, show_default=True, metavar="SECONDS", help="Ends it after that."
)
@instance_options
def command(instance: Instance, query: str, limit: int, time_limit: float) -> None:
    """Run one read-only QUERY, in DuckDB's SQL; '-' reads it from stdin.

    Tables of the namespace are named as they are, those of others NAMESPACE.TABLE ("default".TABLE in
    quotes), those of system applications structured.TABLE; SHOW ALL TABLES lists them. A query sees the
    tables and nothing else, no files, and changes nothing.
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
        click.echo(f"There are more than the {plural(limit, 'row')} shown; see --limit.", err=True)


def _to_rows(found: SqlResult) -> list[list[Any]]:
    """Plain values; what JSON cannot hold (dates, decimals, bytes …) is text."""
    import msgspec

    columns = [column.to_pylist() for column in found.table().columns]
    return [
        [msgspec.to_builtins(value, enc_hook=str) for value in row]
        for row in zip(*columns, strict=True)
    ]
