"""Queries of the catalogues of databases: their tables and primary keys, by the kind of database."""

from __future__ import annotations

from typing import Final

from localcdap.api.sql_names import quote_identifier, quote_literal

_QUOTES: Final = {"mysql": "`", "mariadb": "`"}
"""By the kind of database, what quotes a name; others have double quotes."""
LISTED: Final = ("postgresql", "mysql", "mariadb", "sqlserver", "h2", "hsqldb")
"""The kinds of databases with an ``information_schema``."""
HIDDEN: Final = (
    *("information_schema", "pg_catalog", "mysql", "performance_schema", "sys"),
    "system_lobs",
)
"""The schemas of databases themselves, in lower case."""
_CURRENT: Final = {"mysql": "DATABASE()", "mariadb": "DATABASE()"}
"""The schema that an unqualified name is in, where a schema is a database."""
_TABLES: Final = {
    "oracle": (
        (
            "SELECT owner, table_name FROM all_tables WHERE owner NOT IN "
            "(SELECT username FROM all_users WHERE oracle_maintained = 'Y')"
        ),
        "owner",
        "table_name",
    ),
    "derby": (
        (
            "SELECT s.schemaname, t.tablename FROM sys.systables t JOIN sys.sysschemas s "
            "ON t.schemaid = s.schemaid WHERE t.tabletype = 'T'"
        ),
        "s.schemaname",
        "t.tablename",
    ),
    "db2": (
        "SELECT tabschema, tabname FROM syscat.tables WHERE type = 'T' AND tabschema NOT LIKE 'SYS%'",
        "tabschema",
        "tabname",
    ),
    "sqlite": (
        "SELECT '' AS owner, name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        None,
        "name",
    ),
}
"""By the kind of database without an ``information_schema``: a query, and the columns of schema and table."""


def quote_names(kind: str, *names: str | None) -> str:
    """Return a name with its qualifiers, quoted for a kind of database; empty qualifiers are left out."""
    return quote_identifier(*filter(None, names), mark=_QUOTES.get(kind, '"'))


def quote_text(kind: str, text: str) -> str:
    r"""Quote a text for a kind of database.

    MySQL reads a backslash in a literal as an escape, unless its mode says otherwise, but none in a
    hexadecimal one.

    >>> quote_text("postgresql", "a\\b"), quote_text("mysql", "a\\b")
    ("'a\\b'", "_utf8mb4 X'615c62'")
    """
    if kind in _QUOTES and "\\" in text:
        return f"_utf8mb4 X'{text.encode().hex()}'"
    return quote_literal(text)


def build_tables_query(kind: str, schemas: str | None, tables: str | None) -> str:
    """Return a query of the schemas and names of tables, without views.

    :param schemas: a pattern of SQL for their schemas; without effect where a schema is a database, as in the
        driver of MySQL: only tables of the current database are listed.
    :param tables: a pattern of SQL for their names.
    """
    hidden = ", ".join(f"'{name}'" for name in HIDDEN)
    current = _CURRENT.get(kind)
    place = f"table_schema = {current}" if current else f"LOWER(table_schema) NOT IN ({hidden})"
    general = (
        (
            "SELECT table_schema, table_name FROM information_schema.tables "  # noqa: S608
            f"WHERE table_type IN ('BASE TABLE', 'TABLE') AND {place}"
        ),
        None if current else "table_schema",
        "table_name",
    )
    query, schema_column, table_column = _TABLES.get(kind, general)
    if schemas and schema_column:
        query += f" AND {schema_column} LIKE {quote_text(kind, schemas)}"
    if tables:
        query += f" AND {table_column} LIKE {quote_text(kind, tables)}"
    return query


def build_keys_query(kind: str) -> str | None:
    """Return a query of the schemas, tables and columns of all primary keys; None where it is not known."""
    if kind not in LISTED:
        return None
    current = _CURRENT.get(kind)
    return (
        "SELECT k.table_schema, k.table_name, k.column_name FROM information_schema.table_constraints c "  # noqa: S608
        "JOIN information_schema.key_column_usage k ON k.constraint_name = c.constraint_name "
        "AND k.table_schema = c.table_schema AND k.table_name = c.table_name "
        "WHERE c.constraint_type = 'PRIMARY KEY'"
        + (f" AND k.table_schema = {current}" if current else "")
    )


def has_schemas(kind: str) -> bool:
    """Return whether names of tables are qualified by schemas, and not by databases."""
    return kind not in _CURRENT
