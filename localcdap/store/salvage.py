"""Copying all rows that can be read out of a damaged database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from localcdap.api.errors import DamagedStoreError
from localcdap.api.sql_names import quote_identifier, quote_literal
from localcdap.store.backup import list_tables
from localcdap.store.database_errors import extract_first_line
from localcdap.store.database_file import create_empty, open_read_only
from localcdap.store.disk_space import is_disk_full, make_disk_full_error

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb

_COPY: Final = "localcdap_copy"
_FEWEST_ROWS: Final = 2048
"""DuckDB reads vectors of so many rows: fewer are not tried alone."""


class _Table(NamedTuple):
    source: str
    target: str
    name: str


def salvage_tables(damaged: Path, target: Path) -> list[str]:
    """Copy the tables of a database that can be opened into a new file, without the rows that cannot be read.

    :returns: a text for each table that lost rows.
    :raises DiskFullError: when there is no space for the copy.
    :raises StoreError: when the database cannot be opened, or its catalog cannot be read.
    """
    create_empty(target)
    lost: list[str] = []
    with open_read_only(damaged) as connection:
        source = connection.execute("SELECT current_database()").fetchall()[0][0]
        connection.execute(f"ATTACH {quote_literal(target)} AS {_COPY} (READ_WRITE)")
        connection.execute(f"COPY FROM DATABASE {quote_identifier(source)} TO {_COPY} (SCHEMA)")
        for schema, name in list_tables(connection):
            table = _Table(
                quote_identifier(source, schema, name),
                quote_identifier(_COPY, schema, name),
                f"{schema}.{name}",
            )
            problem = _copy_table(connection, table)
            if problem is not None:
                lost.append(problem)
        connection.execute(f"CHECKPOINT {_COPY}")
        connection.execute(f"DETACH {_COPY}")
    return lost


def _copy_table(connection: duckdb.DuckDBPyConnection, table: _Table) -> str | None:
    """Copy the rows of a table; return what is lost of them."""
    try:
        _copy_rows(connection, table, "")
        return None
    except DamagedStoreError as error:
        reason = error.message
    try:
        end = _count(connection, f"SELECT coalesce(max(rowid) + 1, 0) FROM {table.source}")  # noqa: S608
        rows = _count(connection, f"SELECT count(*) FROM {table.source}")  # noqa: S608
    except DamagedStoreError:
        return f"table {table.name} ({reason})"
    _copy_range(connection, table, 0, end)
    kept = _count(connection, f"SELECT count(*) FROM {table.target}")  # noqa: S608
    return (
        f"{rows - kept:,} of {rows:,} rows of table {table.name} ({reason})"
        if kept < rows
        else None
    )


def _copy_range(connection: duckdb.DuckDBPyConnection, table: _Table, start: int, end: int) -> None:
    """Copy the rows of a range, halving it again and again where rows cannot be read."""
    try:
        _copy_rows(connection, table, f"WHERE rowid >= {start} AND rowid < {end}")
    except DamagedStoreError:
        if end - start <= _FEWEST_ROWS:
            return
        vectors = -(-(end - start) // _FEWEST_ROWS)
        middle = start + (vectors // 2) * _FEWEST_ROWS
        _copy_range(connection, table, start, middle)
        _copy_range(connection, table, middle, end)


def _copy_rows(connection: duckdb.DuckDBPyConnection, table: _Table, condition: str) -> None:
    from localcdap.store.driver import duckdb

    try:
        connection.execute(f"INSERT INTO {table.target} FROM {table.source} {condition}")
    except duckdb.Error as error:
        if is_disk_full(error):
            raise make_disk_full_error(error) from error
        raise DamagedStoreError(extract_first_line(error)) from error


def _count(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    from localcdap.store.driver import duckdb

    try:
        found: int = connection.execute(sql).fetchall()[0][0]
        return found
    except duckdb.Error as error:
        raise DamagedStoreError(extract_first_line(error)) from error
