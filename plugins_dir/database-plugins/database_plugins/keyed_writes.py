"""Statements that update rows of PostgreSQL by key, or insert those that are new.

Spark's JDBC writer only inserts. The records are therefore inserted into a table of their own, beside the
target, and one statement applies them. The result is that of CDAP's statements for each record: of several
records with a key, the last one counts (database-plugins, ``ETLDBOutputFormat.constructUpdateQuery``,
``PostgresETLDBOutputFormat.constructUpsertQuery``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .catalogue import quote_names

ORDER: Final = "localcdap_order"
"""The column that numbers the records."""
UPDATE: Final = "update"
UPSERT: Final = "upsert"
_KIND: Final = "postgresql"
_LAST_NAME: Final = re.compile(r'("(?:[^"]|"")*"|[^".]+)\Z')


def build_staging_name(table: str, identifier: str) -> str:
    """Return the name of the table for the records, in the schema of the target.

    :param table: the name of the target in SQL.
    :param identifier: letters and digits that no other run has.

    >>> build_staging_name('"sales"."orders"', "7f")
    '"sales"."localcdap_7f"'
    """
    name = _LAST_NAME.search(table)
    owner = table[: name.start()] if name is not None else ""
    return f'{owner}"localcdap_{identifier}"'


def build_staging_statement(table: str, staging: str, columns: Sequence[str]) -> str:
    """Return the statement that makes the table for the records, with the column types of the target."""
    return (
        f"CREATE UNLOGGED TABLE {staging} AS SELECT {_join(columns)}, "  # noqa: S608
        f"CAST(0 AS bigint) AS {quote_names(_KIND, ORDER)} FROM {table} WITH NO DATA"
    )


def build_keyed_write(
    operation: str, table: str, staging: str, columns: Sequence[str], keys: Sequence[str]
) -> str:
    """Return the statement that applies the records to the target.

    :param operation: :data:`UPDATE` or :data:`UPSERT`.
    :param columns: of the target, all that are set, with the keys.
    """
    order = quote_names(_KIND, ORDER)
    same = " AND ".join(f"later.{name} = record.{name}" for name in _quote(keys))
    later = f"SELECT 1 FROM {staging} later WHERE {same} AND later.{order} > record.{order}"  # noqa: S608
    last = f"NOT EXISTS ({later})"
    if operation == UPDATE:
        values = ", ".join(f"{name} = record.{name}" for name in _quote(columns))
        return (
            f"UPDATE {table} AS target SET {values} FROM {staging} AS record "  # noqa: S608
            f"WHERE {_match(keys)} AND {last}"
        )
    values = ", ".join(f"{name} = EXCLUDED.{name}" for name in _quote(columns))
    records = ", ".join(f"record.{name}" for name in _quote(columns))
    return (
        f"INSERT INTO {table} ({_join(columns)}) SELECT {records} FROM {staging} AS record "  # noqa: S608
        f"WHERE {last} ORDER BY record.{order} ON CONFLICT ({_join(keys)}) DO UPDATE SET {values}"
    )


def build_unmatched_query(table: str, staging: str, keys: Sequence[str]) -> str:
    """Return the query of the number of records whose key no row of the target has."""
    rows = f"SELECT 1 FROM {table} target WHERE {_match(keys)}"  # noqa: S608
    return f"SELECT COUNT(*) AS unmatched FROM {staging} record WHERE NOT EXISTS ({rows})"  # noqa: S608


def _match(keys: Sequence[str]) -> str:
    return " AND ".join(f"target.{name} = record.{name}" for name in _quote(keys))


def _quote(columns: Sequence[str]) -> list[str]:
    return [quote_names(_KIND, name) for name in columns]


def _join(columns: Sequence[str]) -> str:
    return ", ".join(_quote(columns))
