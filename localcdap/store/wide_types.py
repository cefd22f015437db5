"""Columns of 64 bits, for statements that were translated from BigQuery's SQL: it has INT64 and FLOAT64."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from localcdap.api.sql_names import quote_identifier

if TYPE_CHECKING:
    import duckdb

_INTEGERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "HUGEINT")
_WIDE: Final = {"FLOAT": "DOUBLE"} | {
    sign + name: "BIGINT" for name in (*_INTEGERS, "BIGINT") for sign in ("", "U")
}
_NARROW: Final = re.compile(rf"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\b({"|".join(_WIDE)})(?=[,)\[]|$)""")
"""Matches the types in the text of a column's type, but no name of a field, which a blank follows."""
_TYPES: Final = (
    "SELECT c.database_name, c.schema_name, c.table_name, c.column_name, c.data_type "
    "FROM duckdb_columns() c JOIN duckdb_tables() t USING (database_name, schema_name, table_name) "
    "WHERE NOT c.internal"
)


def widen_columns(engine: duckdb.DuckDBPyConnection) -> None:
    """Change the columns of all tables that have fewer than 64 bits, and those of sums, to types of 64 bits.

    A sum that BIGINT does not hold is an error, as in BigQuery.
    """
    for database, schema, table, column, held in engine.execute(_TYPES).fetchall():
        wide = _widen(held)
        if wide != held:
            name = quote_identifier(database, schema, table)
            engine.execute(f"ALTER TABLE {name} ALTER {quote_identifier(column)} TYPE {wide}")


def select_wide(columns: Sequence[str], types: Sequence[str], source: str) -> str:
    """Return a query of a table's rows, with columns of 64 bits."""
    casts = [
        f"CAST({quote_identifier(name)} AS {_widen(held)}) AS {quote_identifier(name)}"
        for name, held in zip(columns, types, strict=True)
        if _widen(held) != held
    ]
    replaced = f" REPLACE ({', '.join(casts)})" if casts else ""
    return f"SELECT *{replaced} FROM {source}"  # noqa: S608 - the names are quoted


def _widen(type: str) -> str:
    return _NARROW.sub(lambda match: _WIDE.get(match[1], match[0]), type)
