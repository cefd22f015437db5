"""``localcdap sql``: run a read-only SQL query on the tables of the instance."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from localcdap.api.record_json import encode_json_record
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_table
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.datasets.sql import SqlResult


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
def command(
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
    if instance.json:
        print_json({"columns": names, "rows": rows, "truncated": found.truncated})
        return
    print_table(names, rows)
    if found.truncated:
        echo(f"Only the first {plural(most, 'row')} are shown; see --limit.", err=True)


def _write(instance: Instance, found: SqlResult, output: Path) -> None:
    from localcdap.files.result_files import write_result

    write_result(found.to_table(), output)
    if instance.json:
        print_json({"file": str(output), "rows": found.rows, "truncated": found.truncated})
    else:
        echo(f"{plural(found.rows, 'row')} in {output}")
    if found.truncated:
        echo(f"The query found more rows than {found.rows:,}; see --limit.", err=True)


def _to_rows(found: SqlResult) -> list[list[Any]]:
    """Return the rows as JSON values; dates, decimals and bytes become text."""
    columns = [column.to_pylist() for column in found.to_table().columns]
    return [list(map(encode_json_record, row)) for row in zip(*columns, strict=True)]
