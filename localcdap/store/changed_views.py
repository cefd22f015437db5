"""The views that statements created, replaced or dropped in the DuckDB that executed them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.arrow import from_arrow_schema
from localcdap.api.errors import QueryError, SchemaError
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_identifier
from localcdap.store.query_errors import extract_message
from localcdap.store.query_tables import list_view_sql
from localcdap.store.stored_types import list_stored_columns

if TYPE_CHECKING:
    import duckdb

_NAME: Final = r'(?:"(?:[^"]|"")*"|[^\s".(,]+)'
_CREATE_VIEW: Final = re.compile(
    rf"CREATE VIEW {_NAME}(?:\.{_NAME})*(?: \((?P<columns>{_NAME}(?:, {_NAME})*)\))? AS (?P<query>.*?);?",
    re.DOTALL,
)
"""The SQL of a view in DuckDB's catalog."""
_REPLACES: Final = re.compile(
    r'Existing object "(?P<name>.*)" is of type (?P<kind>Table|View), trying to '
)
_NOT_A_TABLE: Final = re.compile(
    r"is not an? table$|Can only (?:delete from|update|insert into|merge into) base table"
    r"|Can only modify view with ALTER VIEW"
)
"""DuckDB's errors of a statement that would change the rows or columns of a view."""


_VIEW_COLUMNS: Final = (
    "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = ? AND table_name = ? "
    "ORDER BY column_index"
)


class ChangedView(msgspec.Struct):
    """A view that the statements created, replaced or dropped."""

    name: str
    query: str | None
    """In the SQL of DuckDB; None when the view was dropped."""
    schema: Schema | None
    """The schema of its rows when it was created."""


def find_refused(error: Exception, sql: str, views: Mapping[str, str]) -> QueryError | None:
    """Return the error of a statement on a view that is for tables, or the reverse, as BigQuery words it.

    :param views: the views by name.
    """
    text = extract_message(error).rstrip("!.")
    found = _REPLACES.search(text)
    if found is not None:
        name, kind = found["name"].replace('""', '"'), found["kind"].upper()
    elif _NOT_A_TABLE.search(text):
        kind = "VIEW"
        name = next((name for name in views if quote_identifier(name) in sql), "")
    else:
        return None
    if not name:
        return None
    return QueryError(
        f"'{name}' is not allowed for this operation because it is currently a {kind}.",
        f"Use another name, or write DROP {kind} first.",
    )


def refuse_cycles(
    engine: duckdb.DuckDBPyConnection, schema: str, before: Mapping[str, str]
) -> None:
    """Check that no view which the statements changed reads itself.

    :raises QueryError: when one does.
    """
    import duckdb

    for name, sql in list_view_sql(engine, schema).items():
        if sql == before.get(name):
            continue
        try:
            engine.execute(f"DESCRIBE {quote_identifier(schema, name)}")
        except duckdb.BinderException as error:
            if "infinite recursion" in str(error):
                raise QueryError(
                    f"View '{name}' cannot be created, because it would read itself.",
                    "Remove it, and the views that read it, from its query.",
                ) from None
        except duckdb.CatalogException:
            continue  # what it reads was dropped: an error only when the view is read


def list_changed_views(
    engine: duckdb.DuckDBPyConnection,
    schema: str,
    before: Mapping[str, str],
    held: Sequence[str],
) -> Iterator[ChangedView]:
    """List the views that differ from those before the statements.

    :param before: the SQL of the views before the statements, by name; also of tables, which are views here.
    :param held: the names of the views before the statements.
    :raises QueryError: for a view whose columns have types that tables cannot have.
    """
    views = list_view_sql(engine, schema)
    for name in held:
        if name not in views:
            yield ChangedView(name, None, None)
    for name, sql in views.items():
        if sql != before.get(name):
            yield _describe_view(engine, schema, name, sql)


def _describe_view(
    engine: duckdb.DuckDBPyConnection, schema: str, name: str, sql: str
) -> ChangedView:
    found = _CREATE_VIEW.fullmatch(sql)
    if found is None:
        raise QueryError(f"View '{name}' cannot be stored: {sql}", "Write it in another way.")
    query, names = found["query"], found["columns"]
    columns = engine.execute(_VIEW_COLUMNS, [schema, name]).fetchall()
    if names is not None:
        count = len(re.findall(_NAME, names))
        if count != len(columns):
            raise QueryError(
                f"View '{name}' names {count} columns, but its query has {len(columns)}.",
                "Name all columns, or none.",
            )
        query = f"FROM ({query}) AS named({names})"
    typed = [(column, type) for column, type in columns]
    nulls = ", ".join(f"CAST(NULL AS {type}) AS {quote_identifier(c)}" for c, type in typed)
    empty = f"SELECT {list_stored_columns(typed)} FROM (SELECT {nulls}) LIMIT 0"  # noqa: S608
    try:
        fields = from_arrow_schema(engine.sql(empty).to_arrow_table().schema)
    except SchemaError as error:
        raise QueryError(
            f"View '{name}' has a column of a type that tables cannot hold: {error.message}",
            "Convert the column, for example to VARCHAR.",
        ) from None
    return ChangedView(name, query, fields)
