"""What the CREATE statements of BigQuery create: the names of columns, views and temporary tables."""

from __future__ import annotations

from typing import Any, Final

from .sql import SqlError, describe_position

_SESSION: Final = "_SESSION"
"""The dataset of temporary tables, which need not be written."""


def find_view_kind(parsed: Any) -> str:
    """Return the word before VIEW in a statement on views: empty for the views that are supported."""
    from sqlglot import expressions as exp

    if parsed.find(exp.TemporaryProperty) is not None:
        return "TEMP "
    is_materialized = parsed.args.get("materialized") or parsed.find(exp.MaterializedProperty)
    return "MATERIALIZED " if is_materialized else ""


def reject_temporary(view: Any, temporary: set[str], text: str) -> None:
    """Raise an error for a view that reads a temporary table.

    :raises SqlError: for the first one.
    """
    from sqlglot import expressions as exp

    for table in view.expression.find_all(exp.Table):
        if refers_to_temporary(table, temporary):
            raise SqlError(
                f"A view cannot read the temporary table '{table.name}'"
                f"{describe_position(text, table)}.",
                "Create the table in a dataset.",
            )


def find_temporary_name(table: Any, text: str) -> str:
    """Return the name of a temporary table that a CREATE creates, in lower case as DuckDB compares it.

    :raises SqlError: when it has a dataset.
    """
    if table.db and table.db.upper() != _SESSION:
        raise SqlError(
            f"Temporary table '{table.name}' must not be qualified with a dataset"
            f"{describe_position(text, table)}.",
            f"Write CREATE TEMP TABLE {table.name}.",
        )
    return str(table.name).lower()


def refers_to_temporary(table: Any, temporary: set[str]) -> bool:
    """Return whether a name in a statement is that of one of the temporary tables."""
    is_qualified = bool(table.db) and table.db.upper() != _SESSION
    return not is_qualified and table.name.lower() in temporary


def list_names(schema: Any) -> list[str]:
    """Return the column names of the list after the name of a table or view."""
    return [str(each.name) for each in schema.expressions]


def check_created_columns(create: Any, text: str) -> None:
    """Check the names of the columns of a CREATE … AS, as far as the query alone tells them.

    :raises SqlError: for a column that has no name, and for two of one name, as BigQuery.
    """
    from sqlglot import expressions as exp

    query, named = create.expression, isinstance(create.this, exp.Schema)
    if not isinstance(query, exp.Query) or query.args.get("kind"):  # as in SELECT AS STRUCT
        return
    selected = [] if named and create.kind == "VIEW" else query.selects
    names = list_names(create.this) if named else [each.alias_or_name for each in selected]
    for number, each in enumerate(selected, start=1):
        if not isinstance(each, exp.Alias | exp.Column | exp.Dot | exp.Star):
            raise SqlError(
                f"CREATE {create.kind} columns must be named, but column {number} has no name"
                f"{describe_position(text, each)}.",
                "Write expression AS name.",
            )
    seen = set()
    for name in names:
        if name != "*" and name.lower() in seen:
            raise SqlError(
                f"CREATE {create.kind} has columns with duplicate name {name}"
                f"{describe_position(text, create.this)}.",
                "Name one of them differently.",
            )
        seen.add(name.lower())
