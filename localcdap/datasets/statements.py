"""SQL statements of pipelines that change the tables and views of their namespace."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from localcdap.api.arrow import from_arrow_schema
from localcdap.api.errors import ConflictError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema
from localcdap.api.security import Permission
from localcdap.api.tables import CreatedTable, TableWrite
from localcdap.datasets.sql import refuse_unreadable
from localcdap.engine.messages.host import StatementBatch, StatementResult
from localcdap.namespaces.service import NamespaceService
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import SwitchedAuthorizer, Target, of_namespace, requires
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.store.change_query import ChangedTable, ChangeQuery, ChangeResult
from localcdap.store.columns import to_column_type
from localcdap.store.query import QueryLimits, to_arrow_stream
from localcdap.store.query_tables import FileTables, NoFileTables, QueryTable
from localcdap.store.store import Store, Transaction
from localcdap.store.table_catalog import CatalogEntry, create_view, list_entries
from localcdap.store.tables import NamespaceTables

_LIMITS: Final = QueryLimits(rows=1, seconds=120.0, memory_mb=1024)
"""The limits are strict because no other transaction can write to the database meanwhile."""


_OF_CHANGES: Final = Target(
    "changed datasets of {statements}",
    lambda _, given: [
        MetadataEntity.of_dataset(name, given["statements"].namespace)
        for name in given["statements"].changes
    ],
)


class StatementService:
    """Runs statements; either all statements of a call take effect or none. Threads may share it.

    :param authorizer: decides which tables a caller may read.
    :param files: finds the file sets that statements can read.
    """

    def __init__(
        self,
        store: Store,
        namespaces: NamespaceService,
        authorizer: SwitchedAuthorizer = ALLOW_ALL,
        files: FileTables = NoFileTables(),  # noqa: B008 - it has no state
    ) -> None:
        self._authorizer = authorizer
        self._files = files
        self._store = store
        self._tables = NamespaceTables(store, files)
        self._namespaces = namespaces

    @requires(of_namespace("statements.namespace"))
    @requires(_OF_CHANGES, Permission.WRITE)
    @non_idempotent
    def carry_out(self, statements: StatementBatch) -> StatementResult:
        """Run statements, which see only the tables of one namespace.

        :raises NotFoundError: when there is no such namespace.
        :raises UnauthorizedError: when the caller may not read or change one of their tables.
        :raises QueryError: when a statement is wrong or exceeds a limit.
        :raises ConflictError: when a statement would change a table with a key, which only sinks keep unique.
        """
        self._namespaces.require(statements.namespace)
        with tempfile.TemporaryDirectory() as directory:
            if not statements.changes:
                with self._store.snapshot() as tx:
                    tables = self._list_tables(tx, statements)
                return _to_result(self._run(statements, tables, {}, directory))
            with self._store.transaction() as tx:
                self._namespaces.require_in_transaction(tx, statements.namespace)
                _refuse_keys(list_entries(tx, statements.namespace), statements.changes)
                tables = self._list_tables(tx, statements)
                _refuse_files(tables, statements.changes)
                held = self._tables.read_schemas(statements.namespace)
                found = self._run(statements, tables, held, directory)
                self._write_changes(tx, statements, found, held)
                return _to_result(found)

    def _list_tables(self, tx: Transaction, statements: StatementBatch) -> list[QueryTable]:
        namespace = statements.namespace
        tables = [entry.query_table for entry in list_entries(tx, namespace)]
        tables += self._files.list_tables(tx, tables, statements.sql, namespace)
        return refuse_unreadable(tx, tables, self._authorizer)

    def _run(
        self,
        statements: StatementBatch,
        tables: Sequence[QueryTable],
        held: Mapping[str, Schema],
        directory: str,
    ) -> ChangeResult:
        required = {
            name: [f.name for f in held[name] if not f.schema.is_nullable]
            for name in statements.changes
            if name in held
        }
        change = ChangeQuery(statements.sql, required, _LIMITS)
        return change.carry_out(self._store, tables, statements.namespace, Path(directory))

    def _write_changes(
        self,
        tx: Transaction,
        statements: StatementBatch,
        found: ChangeResult,
        held: Mapping[str, Schema],
    ) -> None:
        """Write the changed tables and views; a name can pass from a view to a table, or the reverse."""
        namespace = statements.namespace
        for view in found.views:
            if view.query is None:
                self._tables.drop(tx, namespace, view.name)
        makes = {table.name: table for table in statements.makes}
        for table in found.tables:
            made = makes.get(table.name)
            self._write_table(tx, namespace, table, held.get(table.name), made)
        for view in found.views:
            if view.query is not None and view.schema is not None:
                create_view(tx, namespace, view.name, view.schema, view.query)

    def _write_table(
        self,
        tx: Transaction,
        namespace: str,
        table: ChangedTable,
        held: Schema | None,
        made: CreatedTable | None,
    ) -> None:
        if table.file is None:
            self._tables.drop(tx, namespace, table.name)
            return
        schema = _to_schema(table, held)
        if made is not None and held is not None and not made.only_missing:
            self._tables.drop(tx, namespace, table.name)
        # An existing table that is not replaced keeps its partitioning.
        how = TableWrite(truncate=True, partitioning=made.partitioning if made else None)
        self._tables.write_parquet(tx, namespace, table.name, schema, how, [table.file])


def _refuse_keys(entries: Sequence[CatalogEntry], changes: Sequence[str]) -> None:
    for entry in entries:
        if entry.key is not None and entry.name in changes:
            raise ConflictError(
                f"Table '{entry.name}' has the key '{entry.key}', so statements cannot change it.",
                "Write it with a sink, or copy it into another table first.",
            )


def _refuse_files(tables: Sequence[QueryTable], changes: Sequence[str]) -> None:
    for table in tables:
        if table.files is not None and table.name in changes:
            raise ConflictError(
                f"Dataset '{table.name}' is a file set, so statements cannot change it.",
                "Write it with a sink.",
            )


def _to_schema(table: ChangedTable, held: Schema | None) -> Schema:
    """Return the schema of a changed table; a column whose DuckDB type is the same keeps its schema.

    :raises SchemaError: for a type that has no schema.
    """
    import pyarrow.parquet as pq

    assert table.file is not None
    fields = []
    for field in from_arrow_schema(pq.read_schema(table.file)):
        before = held.field(field.name) if held is not None else None
        same = before is not None and to_column_type(before.schema) == to_column_type(field.schema)
        schema = before.schema if before is not None and same else field.schema
        nullable = table.nullable[field.name]
        fields.append((field.name, schema.as_nullable if nullable else schema.non_nullable))
    return Schema.record(held.name or "record" if held is not None else "record", fields)


def _to_result(changed: ChangeResult) -> StatementResult:
    first = b"" if changed.first is None else to_arrow_stream(changed.first)
    return StatementResult(changed.rows, first, changed.reads)
