"""The catalog of tables and views: for each table its DuckDB table, schema, key and partitioning.

The table ``name`` of a namespace is the DuckDB table of that name in the DuckDB schema of the namespace's
name, so that SQL can read it as ``namespace.name``. A view is only an entry of the catalog with a query.

A view is a query under the name of a table. It is executed whenever it is read, in a separate DuckDB that
sees only the tables and views of its namespace (:mod:`localcdap.store.query`).
"""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import from_arrow_schema
from localcdap.api.errors import ConflictError, NotFoundError, SchemaError, StoreError
from localcdap.api.schema import Schema, Type
from localcdap.api.sql_names import quote_identifier, quote_literal
from localcdap.api.tables import Partitioning
from localcdap.decoders import decode_json
from localcdap.store.columns import list_stored_columns, to_column_type, write_query
from localcdap.store.query import Query, QueryColumn, QueryLimits
from localcdap.store.query_tables import FileTables, QueryTable
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available

if TYPE_CHECKING:
    import duckdb


_INDEX_MARK: Final = "$by$"
"""Between the names of table and column in the name of an index."""
_SELECT: Final = (
    "SELECT namespace, name, document, key_field, partitioning, query FROM dataset_tables"
)
_RESERVED: Final = ("main", "temp", "system", "information_schema", "pg_catalog")


class CatalogEntry(msgspec.Struct, frozen=True):
    """A table or view of a namespace."""

    namespace: str
    name: str
    document: str
    """The schema of the rows, as JSON; of a view, its schema when it was created."""
    key: str | None
    """The field that identifies a row; None for a table without a key, and for a view."""
    partitioning: Partitioning | None
    query: str | None
    """The query of a view in the SQL of DuckDB; None for a table."""

    @property
    def schema(self) -> Schema:
        return Schema.parse(self.document)

    @property
    def query_table(self) -> QueryTable:
        """The table or view as queries see it."""
        identifier = to_identifier(self.namespace, self.name)
        if self.query is not None:
            identifier = quote_identifier(self.namespace, self.name)
        return QueryTable(self.namespace, self.name, identifier, self.query)


def list_entries(
    tx: Transaction, namespace: str | None = None, dataset: str | None = None
) -> list[CatalogEntry]:
    """List the tables and views of a namespace, or of all, ordered by namespace and name.

    :param dataset: only those of that name, and those whose names begin with it and a dot.
    """
    if namespace is None:
        return _read_entries(tx, "true", ())
    if dataset is None:
        return _read_entries(tx, "namespace = ?", (namespace,))
    condition = "namespace = ? AND (name = ? OR starts_with(name, ?))"
    return _read_entries(tx, condition, (namespace, dataset, f"{dataset}."))


def find_entry(tx: Transaction, namespace: str, name: str) -> CatalogEntry | None:
    """Return a table or view; None when there is none of that name."""
    found = _read_entries(tx, "namespace = ? AND name = ?", (namespace, name))
    return found[0] if found else None


def _read_entries(tx: Transaction, condition: str, values: Sequence[str]) -> list[CatalogEntry]:
    rows = tx.execute(f"{_SELECT} WHERE {condition} ORDER BY namespace, name", values)
    return [
        CatalogEntry(owner, name, document, key, parse_partitioning(parted), query)
        for owner, name, document, key, parted, query in rows
    ]


def to_identifier(namespace: str, name: str) -> str:
    """Return the SQL identifier of a table, which need not exist."""
    return quote_identifier(_to_duckdb_schema(namespace), name)


def list_names(tx: Transaction, namespace: str) -> Sequence[str]:
    """List the names of a namespace's tables in alphabetical order."""
    rows = tx.execute(
        "SELECT name FROM dataset_tables WHERE namespace = ? ORDER BY name", (namespace,)
    )
    return [row[0] for row in rows]


def read_schema_and_key(tx: Transaction, namespace: str, name: str) -> tuple[Schema, str | None]:
    """Return schema and key of a table.

    :raises NotFoundError: when there is no such table; the message lists the tables.
    """
    document, key = _read(tx, namespace, name)
    return Schema.parse(document), key


def read_document(tx: Transaction, namespace: str, name: str) -> str:
    """Return the schema of a table or view as it is stored.

    :raises NotFoundError: when there is no such table; the message lists the tables.
    """
    return _read(tx, namespace, name)[0]


def _read(tx: Transaction, namespace: str, name: str) -> tuple[str, str | None]:
    rows = tx.execute(
        "SELECT document, key_field FROM dataset_tables WHERE namespace = ? AND name = ?",
        (namespace, name),
    )
    if not rows:
        known = format_available(name, list_names(tx, namespace))
        raise NotFoundError(
            f"There is no table '{name}' in namespace '{namespace}'; available: {known}."
        )
    return rows[0][0], rows[0][1]


def read_query(tx: Transaction, namespace: str, name: str) -> str | None:
    """Return the query of a view; None for a table, and when there is neither."""
    rows = tx.execute(
        "SELECT query FROM dataset_tables WHERE namespace = ? AND name = ?", (namespace, name)
    )
    return rows[0][0] if rows else None


def require_table(tx: Transaction, namespace: str, name: str) -> None:
    """Check that a name is not that of a view.

    :raises StoreError: when it is, in the words of BigQuery.
    """
    if read_query(tx, namespace, name) is not None:
        raise StoreError(
            f"'{name}' is not allowed for this operation because it is currently a VIEW.",
            f"Write into another table, or drop the view: localcdap tables '{name}' --drop",
        )


def read_partitioning(tx: Transaction, namespace: str, name: str) -> Partitioning | None:
    """Return the partitioning of an existing table; None when it has none."""
    rows = tx.execute(
        "SELECT partitioning FROM dataset_tables WHERE namespace = ? AND name = ?",
        (namespace, name),
    )
    return parse_partitioning(rows[0][0])


def parse_partitioning(document: str | None) -> Partitioning | None:
    return None if document is None else decode_json(document, type=Partitioning)


def create(
    tx: Transaction,
    namespace: str,
    name: str,
    schema: Schema,
    key: str | None,
    partitioning: Partitioning | None,
) -> None:
    """Create a table without rows.

    :raises StoreError: when it has no name or no fields.
    :raises ConflictError: when its name differs from another one in case only.
    """
    _note_change(tx, namespace, name)
    _check_table_name(tx, namespace, name, schema)
    columns = ", ".join(f"{quote_identifier(f.name)} {to_column_type(f.schema)}" for f in schema)
    tx.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(_to_duckdb_schema(namespace))}")
    tx.execute(f"CREATE TABLE {to_identifier(namespace, name)} ({columns})")
    parted = None if partitioning is None else msgspec.json.encode(partitioning).decode()
    tx.execute(
        "INSERT INTO dataset_tables VALUES (?, ?, ?, ?, now(), ?, NULL)",
        (namespace, name, str(schema), key, parted),
    )


def create_view(tx: Transaction, namespace: str, name: str, schema: Schema, query: str) -> None:
    """Create a view, or replace the one of that name.

    :raises StoreError: when it has no name or no fields, or there is a table of that name.
    :raises ConflictError: when its name differs from another one in case only.
    """
    _note_change(tx, namespace, name)
    delete(tx, namespace, name, views_only=True)
    if name in list_names(tx, namespace):
        raise StoreError(
            f"'{name}' is not allowed for this operation because it is currently a TABLE.",
            "Choose another name for the view, or drop the table first.",
        )
    _check_table_name(tx, namespace, name, schema)
    tx.execute(
        "INSERT INTO dataset_tables VALUES (?, ?, ?, NULL, now(), NULL, ?)",
        (namespace, name, str(schema), query),
    )


def delete(tx: Transaction, namespace: str, name: str, *, views_only: bool = False) -> None:
    """Remove a table or view from the catalog, if it is there."""
    _note_change(tx, namespace, name)
    more = " AND query IS NOT NULL" if views_only else ""
    tx.execute(
        f"DELETE FROM dataset_tables WHERE namespace = ? AND name = ?{more}",  # noqa: S608
        (namespace, name),
    )


def read_definition(tx: Transaction, namespace: str, name: str) -> tuple[Any, ...] | None:
    """Return schema, key, partitioning and query of a table or view; None if there is none."""
    rows = tx.execute(
        "SELECT document, key_field, partitioning, query FROM dataset_tables "
        "WHERE namespace = ? AND name = ?",
        (namespace, name),
    )
    return rows[0] if rows else None


def _note_change(tx: Transaction, namespace: str, name: str) -> None:
    """Keep what a table was before the transaction changed it for the first time."""
    if (namespace, name) not in tx.changed_tables:
        tx.changed_tables[namespace, name] = read_definition(tx, namespace, name)
        tx.changer = tx.changer or contextvars.copy_context()


def _check_table_name(tx: Transaction, namespace: str, name: str, schema: Schema) -> None:
    if not name or "\0" in name or not schema.fields:
        raise StoreError(
            f"A table needs a name and at least one field; '{name}' lacks one of them."
        )
    similar = tx.execute(
        "SELECT namespace, name FROM dataset_tables WHERE lower(namespace) = lower(?) "
        "AND (lower(name) = lower(?) OR namespace <> ?)",
        (namespace, name, namespace),
    )
    if similar:
        raise ConflictError(
            f"Table '{name}' in namespace '{namespace}' differs in case only from "
            f"'{similar[0][1]}' in '{similar[0][0]}'; DuckDB treats the two names as equal.",
            "Choose another name.",
        )


def widen(tx: Transaction, namespace: str, name: str, held: Schema, merged: Schema) -> None:
    """Add the columns that a table lacks, and change columns to types that hold every value of theirs.

    Indexes are created again, because DuckDB does not change a column of a table that has some.
    """
    _note_change(tx, namespace, name)
    columns = list_indexes(tx, namespace, name)
    drop_indexes(tx, namespace, name, columns)
    if any(_changes_type(held, merged, column) for column in columns):
        _copy_table(tx, namespace, name, held, merged)
    else:
        _alter_table(tx, namespace, name, held, merged)
    create_indexes(tx, namespace, name, columns)
    tx.execute(
        "UPDATE dataset_tables SET document = ?, updated = now() WHERE namespace = ? AND name = ?",
        (str(merged), namespace, name),
    )


def _changes_type(held: Schema, merged: Schema, column: str) -> bool:
    before, after = held.field(column), merged.field(column)
    if before is None or after is None:
        return False
    return to_column_type(before.schema) != to_column_type(after.schema)


def _alter_table(tx: Transaction, namespace: str, name: str, held: Schema, merged: Schema) -> None:
    alter = f"ALTER TABLE {to_identifier(namespace, name)}"
    for field in merged:
        before, type = held.field(field.name), to_column_type(field.schema)
        column = quote_identifier(field.name)
        if before is None:
            tx.execute(f"{alter} ADD COLUMN {column} {type}")
        elif to_column_type(before.schema) != type:
            was_null = before.schema.non_nullable.type is Type.NULL
            tx.execute(f"{alter} ALTER {column} TYPE {type}{' USING NULL' if was_null else ''}")


def _copy_table(tx: Transaction, namespace: str, name: str, held: Schema, merged: Schema) -> None:
    """Put a copy in the place of a table.

    DuckDB changes the type of no column whose index the same transaction has dropped.
    """
    table, copy = (to_identifier(namespace, each) for each in (name, f"{name}$copy"))
    values = ", ".join(
        f"CAST({quote_identifier(each.name) if held.field(each.name) else 'NULL'} "
        f"AS {to_column_type(each.schema)}) AS {quote_identifier(each.name)}"
        for each in merged
    )
    tx.execute(f"CREATE TABLE {copy} AS SELECT {values} FROM {table}")  # noqa: S608
    tx.execute(f"DROP TABLE {table}")
    tx.execute(f"ALTER TABLE {copy} RENAME TO {quote_identifier(name)}")


def truncate(tx: Transaction, namespace: str, name: str) -> None:
    """Remove all rows of a table."""
    tx.note_rows(namespace, name)
    tx.execute(f"DELETE FROM {to_identifier(namespace, name)}")  # noqa: S608


def list_indexes(tx: Transaction, namespace: str, name: str) -> list[str]:
    """Return the columns by which rows of a table are found besides the key."""
    rows = tx.execute(
        "SELECT index_name FROM duckdb_indexes() WHERE schema_name = ? AND table_name = ? ORDER BY 1",
        (_to_duckdb_schema(namespace), name),
    )
    return [row[0].removeprefix(f"{name}{_INDEX_MARK}") for row in rows]


def create_indexes(tx: Transaction, namespace: str, name: str, columns: Sequence[str]) -> None:
    """Let rows be found by columns, which have no index yet."""
    for column in columns:
        index = quote_identifier(f"{name}{_INDEX_MARK}{column}")
        table = to_identifier(namespace, name)
        tx.execute(f"CREATE INDEX {index} ON {table} ({quote_identifier(column)})")


def drop_indexes(tx: Transaction, namespace: str, name: str, columns: Sequence[str]) -> None:
    """Remove the indexes of columns."""
    for column in columns:
        schema = _to_duckdb_schema(namespace)
        tx.execute(f"DROP INDEX {quote_identifier(schema, f'{name}{_INDEX_MARK}{column}')}")


def _to_duckdb_schema(namespace: str) -> str:
    """Return the DuckDB schema of a namespace; a namespace's name cannot contain the ``$`` of reserved
    ones.
    """
    return f"{namespace}$" if namespace.lower() in _RESERVED else namespace


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

    def describe(self, namespace: str, entries: list[CatalogEntry]) -> dict[str, ViewDescription]:
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
            read_schema_and_key(tx, namespace, name)
            tables = [entry.query_table for entry in list_entries(tx, namespace)]
            tables += self._files.list_tables(tx, tables, (), namespace)
        return tables, next(table for table in tables if table.name == name)
