"""Tables in the instance's database that pipelines write and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import NotFoundError, StoreError
from localcdap.api.schema import Schema, Type
from localcdap.api.sql_names import quote_identifier, quote_literal
from localcdap.api.tables import Partitioning, TableShape, TableWrite
from localcdap.store import dataset_catalog
from localcdap.store import table_catalog as catalog
from localcdap.store.columns import check_names, to_column_type
from localcdap.store.query_tables import FileTables, NoFileTables
from localcdap.store.store import Store, Transaction
from localcdap.store.table_catalog import NamespaceViews, ViewDescription
from localcdap.store.table_merge import merge, merge_table_schema, refuse_relaxation, widen_numbers

_POSITION: Final = ("file_index", "file_row_number")
"""The columns in which DuckDB returns the position of a row in the files that it reads."""
_LAST_FIRST: Final = ", ".join(f"{column} DESC" for column in _POSITION)


class TableDetail(msgspec.Struct):
    """A table with its schema and number of rows, or a view."""

    namespace: str
    name: str
    schema: Schema
    key: str | None
    """The field that identifies a row; None for a table without a key."""
    rows: int | None
    """None for a view, whose rows are counted only by a query."""
    partitioning: Partitioning | None = None
    query: str | None = None
    """The query of a view in the SQL of DuckDB; None for a table."""
    problem: str | None = None
    """Why the view cannot be read. Its schema is then that which it had when it was created."""


class TableSnapshot(msgspec.Struct):
    """The rows of a table at one moment, as Parquet."""

    schema: Schema
    """A field of type null is an always-null ``INT32`` column in the files."""
    files: list[str]
    key: str | None = None
    """The field that identifies a row; None for a table without a key."""


class NamespaceTables:
    """The tables of all namespaces.

    :param files: finds the file sets that views can read.
    """

    def __init__(
        self,
        store: Store,
        files: FileTables = NoFileTables(),  # noqa: B008 - it has no state
    ) -> None:
        self._store = store
        self._views = NamespaceViews(store, files)

    def upsert_parquet(
        self,
        tx: Transaction,
        namespace: str,
        name: str,
        schema: Schema,
        key: str,
        parquet_files: Sequence[Path],
    ) -> int:
        """Write rows; a row replaces the row that has the same key. Of equal keys in the input the last wins.

        The table is created when it does not exist. An existing table is not changed: its dataset was updated
        before the run if that was asked for. Columns that the rows lack are null.

        :param key: a field of a simple type, the same one at every write.
        :param parquet_files: files with the fields of ``schema`` in localcdap's Arrow types, in the order in
            which their rows were produced.
        :returns: the number of different keys in the input.
        :raises StoreError: when a type does not match the table's, the table lacks a column or does not allow
            a null, a key is null, or the key field is not the table's key.
        """
        field = schema.field(key)
        if field is None or not field.schema.is_simple or field.schema.type is Type.NULL:
            raise StoreError(
                f"The key '{key}' of table '{name}' must be a field of a simple type; available: "
                f"{', '.join(f.name for f in schema if f.schema.is_simple) or 'none'}."
            )
        for taken in _POSITION:
            if schema.field(taken):
                raise StoreError(
                    f"A table with a key cannot have a field '{taken}'.", "Rename the field."
                )
        table = self._prepare(tx, namespace, name, schema, key)
        if not parquet_files:
            return 0
        source, column = _build_read_parquet(parquet_files), quote_identifier(key)
        nulls = tx.execute(f"SELECT count(*) FROM {source} WHERE {column} IS NULL")[0][0]  # noqa: S608
        if nulls:
            raise StoreError(
                f"{nulls} of the rows to write into table '{name}' have no value of the key '{key}'.",
                f"Filter out the rows whose '{key}' is null, or give them a value.",
            )
        cast = f"CAST({column} AS {to_column_type(field.schema)})"
        tx.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT {cast} FROM {source})")  # noqa: S608
        return _insert(tx, table, schema, source, unique=column)

    def append(
        self,
        tx: Transaction,
        namespace: str,
        name: str,
        schema: Schema,
        parquet_files: Sequence[Path],
    ) -> int:
        """Append rows to a table without a key; otherwise as :meth:`upsert_parquet`.

        :returns: the number of rows written.
        :raises StoreError: when a type does not match the table's, the table lacks a column or does not allow
            a null, or it has a key.
        """
        table = self._prepare(tx, namespace, name, schema, None)
        return (
            _insert(tx, table, schema, _build_read_parquet(parquet_files)) if parquet_files else 0
        )

    def write_parquet(
        self,
        tx: Transaction,
        namespace: str,
        name: str,
        schema: Schema,
        how: TableWrite,
        parquet_files: Sequence[Path],
    ) -> int:
        """Write rows into a table without a key, which is created when it does not exist.

        Columns of 32-bit numbers become as wide as those of the rows.

        :param parquet_files: as for :meth:`upsert_parquet`.
        :returns: the number of rows written.
        :raises StoreError: when a type does not match the table's, the table has a key, it lacks a column
            and must not be changed, several of the rows to write have equal keys, or the condition is wrong.
        """
        parted = how.partitioning
        catalog.require_table(tx, namespace, name)
        if how.truncate and name in catalog.list_names(tx, namespace):
            held = catalog.read_partitioning(tx, namespace, name)
            if held is not None and (held.field is None or schema.field(held.field)):
                parted = held
            self.drop(tx, namespace, name)
        if name in catalog.list_names(tx, namespace):
            present, _ = catalog.read_schema_and_key(tx, namespace, name)
            wide = widen_numbers(present, schema)
            if wide != present:
                catalog.widen(tx, namespace, name, present, wide)
        table = self._prepare(
            tx, namespace, name, schema, None, relaxes=how.relaxes, partitioning=parted
        )
        if not parquet_files:
            return 0
        if how.operation == "insert":
            return _insert(tx, table, schema, _build_read_parquet(parquet_files))
        return merge(tx, table, schema, _build_read_parquet(parquet_files), how)

    def export_parquet(self, namespace: str, name: str, directory: Path) -> TableSnapshot:
        """Write the rows into a new Parquet file in ``directory``, which is created when it does not exist.

        :raises NotFoundError: when there is no such table.
        :raises QueryError: when a view cannot be read, or takes over ten minutes or 1 GB of memory.
        """
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / "part-00000.parquet"
        with self._store.snapshot() as tx:
            schema, key = catalog.read_schema_and_key(tx, namespace, name)
            is_view = catalog.read_query(tx, namespace, name) is not None
            if not is_view:
                table = catalog.to_identifier(namespace, name)
                tx.execute(f"COPY (FROM {table}) TO {quote_literal(file)} (FORMAT parquet)")
        if is_view:
            schema = self._views.export_parquet(namespace, name, file)
        return TableSnapshot(schema, [str(file)], key)

    def describe(self, namespace: str, name: str) -> TableDetail:
        """Return a table's schema, key and number of rows.

        :raises NotFoundError: when there is no such table; the message lists the tables.
        """
        with self._store.snapshot() as tx:
            catalog.read_schema_and_key(tx, namespace, name)
        return next(each for each in self.list_tables(namespace) if each.name == name)

    def read_schemas(self, namespace: str) -> dict[str, Schema]:
        """Return the schemas of a namespace's tables by name, without views."""
        return {
            entry.name: entry.schema for entry in self._list_entries(namespace) if not entry.query
        }

    def read_shapes(self, namespace: str) -> dict[str, TableShape]:
        """Return the columns, keys and partitionings of a namespace's tables and views, by name.

        Datasets that have a schema and no table are among them.
        """
        with self._store.snapshot() as tx:
            entries = catalog.list_entries(tx, namespace)
            shapes = _read_datasets(tx, namespace)
        described = self._views.describe(namespace, entries)
        return shapes | {
            entry.name: TableShape(
                _get_schema(entry, described),
                entry.key,
                entry.partitioning,
                is_view=entry.query is not None,
                problem=described[entry.name].problem if entry.query is not None else None,
            )
            for entry in entries
        }

    def list_tables(self, namespace: str) -> Sequence[TableDetail]:
        """List the tables and views of a namespace by name."""
        with self._store.snapshot() as tx:
            entries = catalog.list_entries(tx, namespace)
            counts = {e.name: _count_rows(tx, e) for e in entries if e.query is None}
        described = self._views.describe(namespace, entries)
        return [
            TableDetail(
                namespace,
                entry.name,
                _get_schema(entry, described),
                entry.key,
                counts.get(entry.name),
                entry.partitioning,
                entry.query,
                described[entry.name].problem if entry.query is not None else None,
            )
            for entry in entries
        ]

    def read_rows(
        self, namespace: str, name: str, limit: int
    ) -> tuple[Sequence[str], Sequence[tuple[Any, ...]]]:
        """Return the column names and the first rows, ordered by the key if the table has one.

        :raises NotFoundError: when there is no such table.
        :raises QueryError: when a view cannot be read, or takes over a minute or 512 MB of memory.
        """
        with self._store.snapshot() as tx:
            schema, key = catalog.read_schema_and_key(tx, namespace, name)
            is_view = catalog.read_query(tx, namespace, name) is not None
        if is_view:
            return self._views.read_rows(namespace, name, limit)
        with self._store.snapshot() as tx:
            order = f" ORDER BY {quote_identifier(key)}" if key is not None else ""
            table = catalog.to_identifier(namespace, name)
            rows = tx.execute(f"FROM {table}{order} LIMIT ?", (limit,))
        return schema.field_names, rows

    def drop(self, tx: Transaction, namespace: str, name: str) -> None:
        """Remove a table and its rows, or a view.

        :raises NotFoundError: when there is no such table.
        """
        catalog.read_schema_and_key(tx, namespace, name)
        if catalog.read_query(tx, namespace, name) is None:
            tx.execute(f"DROP TABLE {catalog.to_identifier(namespace, name)}")
        catalog.delete(tx, namespace, name)

    def drop_all(self, tx: Transaction, namespace: str) -> None:
        """Drop every table and view of a namespace."""
        for name in catalog.list_names(tx, namespace):
            self.drop(tx, namespace, name)

    def _list_entries(self, namespace: str) -> list[catalog.CatalogEntry]:
        with self._store.snapshot() as tx:
            return catalog.list_entries(tx, namespace)

    def _prepare(
        self,
        tx: Transaction,
        namespace: str,
        name: str,
        schema: Schema,
        key: str | None,
        *,
        relaxes: bool = False,
        partitioning: Partitioning | None = None,
    ) -> str:
        """Create the table, or check that it can hold the rows; return its identifier.

        :param relaxes: whether the table may get new columns, and its columns may become nullable.
        :param partitioning: the partitioning of a new table.
        """
        catalog.require_table(tx, namespace, name)
        check_names(schema.field_names)
        tx.note_rows(namespace, name)
        try:
            held, held_key = catalog.read_schema_and_key(tx, namespace, name)
        except NotFoundError:
            catalog.create(tx, namespace, name, schema, key, partitioning)
            return catalog.to_identifier(namespace, name)
        if held_key != key:
            raise StoreError(
                f"The rows of table '{name}' have {_describe_key(held_key)}, but the rows to write have "
                f"{_describe_key(key)}.",
                f"Use {_describe_key(held_key)}, write into another table, or drop the table: "
                f"localcdap tables '{name}' --drop",
            )
        merged = merge_table_schema(name, held, schema)
        check_names(merged.field_names)
        if not relaxes:
            refuse_relaxation(name, held, schema, merged)
        elif merged != held:
            catalog.widen(tx, namespace, name, held, merged)
        return catalog.to_identifier(namespace, name)


def _describe_key(key: str | None) -> str:
    return "no key" if key is None else f"key '{key}'"


def _get_schema(entry: catalog.CatalogEntry, described: Mapping[str, ViewDescription]) -> Schema:
    """Return the schema of a table, or the current one of a view if the view can be read."""
    current = described[entry.name].schema if entry.query is not None else None
    return current or entry.schema


def _count_rows(tx: Transaction, entry: catalog.CatalogEntry) -> int:
    table = catalog.to_identifier(entry.namespace, entry.name)
    count: int = tx.execute(f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608
    return count


def _build_read_parquet(files: Sequence[Path]) -> str:
    """Return an expression of a FROM clause for the rows of the files."""
    paths = ", ".join(quote_literal(file) for file in files)
    return f"read_parquet([{paths}])"


def _insert(
    tx: Transaction, table: str, schema: Schema, source: str, unique: str | None = None
) -> int:
    columns = [quote_identifier(name) for name in schema.field_names]
    last = (
        f"QUALIFY row_number() OVER (PARTITION BY {unique} ORDER BY {_LAST_FIRST}) = 1"
        if unique
        else ""
    )
    rows = tx.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) "  # noqa: S608
        f"SELECT {', '.join(columns)} FROM {source} {last}"
    )
    count: int = rows[0][0]
    return count


def _read_datasets(tx: Transaction, namespace: str) -> dict[str, TableShape]:
    found = {
        each.name: each.specification.get_schema()
        for each in dataset_catalog.list_datasets(tx, namespace)
    }
    return {
        name: TableShape(schema, has_table=False)
        for name, schema in found.items()
        if schema is not None
    }
