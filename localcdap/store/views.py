"""Reading views: their columns and their rows.

A view is a query under the name of a table. It is executed whenever it is read, in a separate DuckDB that
sees only the tables and views of its namespace (:mod:`localcdap.store.query`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import from_arrow_schema
from localcdap.api.errors import SchemaError
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_identifier, quote_literal
from localcdap.store import table_catalog as catalog
from localcdap.store.columns import to_column_type
from localcdap.store.query import Query, QueryColumn, QueryLimits
from localcdap.store.query_tables import FileTables, QueryTable
from localcdap.store.store import Store
from localcdap.store.stored_types import list_stored_columns, write_query

if TYPE_CHECKING:
    import duckdb

_LIMITS: Final = QueryLimits(rows=0, seconds=60.0)
_EXPORT_LIMITS: Final = QueryLimits(rows=0, seconds=600.0, memory_mb=1024)


class ViewDescription(msgspec.Struct, frozen=True):
    """The columns that a view has at the moment."""

    columns: list[QueryColumn]
    schema: Schema | None
    """The schema of the rows, whose fields are all nullable; None when the view cannot be read."""
    problem: str | None
    """Why the view cannot be read."""


class ViewQuery(Query):
    """Reads views. See :class:`Query`."""

    _is_bigquery = True

    def __init__(self, limits: QueryLimits = _LIMITS) -> None:
        super().__init__("", limits)

    def describe(
        self, store: Store, tables: Sequence[QueryTable]
    ) -> dict[QueryTable, ViewDescription]:
        """Return the columns of all views among the tables that a query can read."""

        def work(engine: duckdb.DuckDBPyConnection) -> dict[QueryTable, ViewDescription]:
            problems = {each.view: each.error.message for each in self._unreadable}
            return {
                table: ViewDescription([], None, problems[table])
                if table in problems
                else _describe(engine, table)
                for table in tables
                if table.query is not None
            }

        return self._run_within_limits(store, tables, "main", work)

    def fetch(
        self, store: Store, tables: Sequence[QueryTable], view: QueryTable, limit: int
    ) -> tuple[Sequence[str], Sequence[tuple[Any, ...]]]:
        """Return the column names and the first rows of a view.

        :raises QueryError: when the view cannot be read, or takes more than its limits.
        """

        def work(
            engine: duckdb.DuckDBPyConnection,
        ) -> tuple[Sequence[str], Sequence[tuple[Any, ...]]]:
            found = engine.sql(f"FROM {view.source} LIMIT {limit:d}")
            return found.columns, found.fetchall()

        return self._run_within_limits(store, tables, view.schema, work)

    def write(
        self, store: Store, tables: Sequence[QueryTable], view: QueryTable, file: Path
    ) -> Schema:
        """Write the rows of a view into a Parquet file; return their schema.

        :raises QueryError: when the view cannot be read, or takes more than its limits.
        """
        import pyarrow.parquet as pq

        def work(engine: duckdb.DuckDBPyConnection) -> None:
            write_query(engine, f"View '{view.name}'", f"FROM {view.source}", file)

        self._run_within_limits(store, tables, view.schema, work)
        return _to_nullable(from_arrow_schema(pq.read_schema(file)))


def _describe(engine: duckdb.DuckDBPyConnection, view: QueryTable) -> ViewDescription:
    import duckdb

    try:
        found = engine.sql(f"FROM {view.source}")
        columns = list(zip(found.columns, map(str, found.types), strict=True))
        shown = list_stored_columns(columns)
        rows = engine.sql(f"SELECT {shown} FROM {view.source} LIMIT 0").to_arrow_table()  # noqa: S608
        schema = _to_nullable(from_arrow_schema(rows.schema))
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, SchemaError) as error:
        return ViewDescription([], None, f"View '{view.name}' cannot be read: {error}")
    return ViewDescription([QueryColumn(*column) for column in columns], schema, None)


def _to_nullable(schema: Schema) -> Schema:
    return Schema.record("record", [(each.name, each.schema.as_nullable) for each in schema])


class NamespaceViews:
    """The views of all namespaces. Threads may share it."""

    def __init__(self, store: Store, files: FileTables) -> None:
        self._store = store
        self._files = files
        self._described: dict[str, tuple[object, dict[str, ViewDescription]]] = {}
        """The last description of each namespace, with the entries and file sets that it was made of."""

    def describe(
        self, namespace: str, entries: list[catalog.CatalogEntry]
    ) -> dict[str, ViewDescription]:
        """Return the columns of a namespace's views by name.

        :param entries: the entries of the namespace.
        :raises QueryError: when that takes longer than a minute.
        """
        if all(entry.query is None for entry in entries):
            return {}
        held = self._described.get(namespace)
        tables = [entry.query_table for entry in entries]
        with self._store.snapshot() as tx:
            files = self._files.list_tables(tx, tables, (), namespace)
        if held is None or held[0] != (entries, files):
            found = ViewQuery().describe(self._store, [*tables, *files])
            held = ((entries, files), {table.name: each for table, each in found.items()})
            self._described[namespace] = held
        return held[1]

    def read_rows(
        self, namespace: str, name: str, limit: int
    ) -> tuple[Sequence[str], Sequence[tuple[Any, ...]]]:
        """Return the column names and the first rows of a view.

        :raises QueryError: when the view cannot be read, or takes more than its limits.
        """
        tables, view = self._find(namespace, name)
        return ViewQuery().fetch(self._store, tables, view, limit)

    def export_parquet(self, namespace: str, name: str, file: Path) -> Schema:
        """Write the rows of a view into a Parquet file, as those of a table; return their schema.

        :raises QueryError: when the view cannot be read, or takes more than its limits.
        """
        tables, view = self._find(namespace, name)
        temporary = file.with_name(f"{file.name}.temporary")
        try:
            schema = ViewQuery(_EXPORT_LIMITS).write(self._store, tables, view, temporary)
            columns = ", ".join(
                f"CAST({quote_identifier(each.name)} AS {to_column_type(each.schema)}) "
                f"AS {quote_identifier(each.name)}"
                for each in schema
            )
            with self._store.snapshot() as tx:
                tx.execute(
                    f"COPY (SELECT {columns} FROM read_parquet({quote_literal(temporary)})) "  # noqa: S608
                    f"TO {quote_literal(file)} (FORMAT parquet)"
                )
        finally:
            temporary.unlink(missing_ok=True)
        return schema

    def _find(self, namespace: str, name: str) -> tuple[list[QueryTable], QueryTable]:
        """Return the tables and views of a namespace, and one of its views."""
        with self._store.snapshot() as tx:
            catalog.read_schema_and_key(tx, namespace, name)
            tables = [entry.query_table for entry in catalog.list_entries(tx, namespace)]
            tables += self._files.list_tables(tx, tables, (), namespace)
        return tables, next(table for table in tables if table.name == name)
