"""The service for tables: listing them, reading rows, and exporting snapshots for runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityEvent, EntityUpdated
from localcdap.api.metadata import MetadataEntity
from localcdap.api.record_json import encode_json_record
from localcdap.api.security import Permission
from localcdap.api.tables import TableShape
from localcdap.datasets.adoption import adopt_tables, follow_table
from localcdap.messaging.topics import Topics
from localcdap.namespaces.resources import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import of_dataset, of_namespace, requires, shows_visible
from localcdap.store.query_tables import FileTables, NoFileTables
from localcdap.store.store import Store, Transaction
from localcdap.store.table_catalog import read_definition
from localcdap.store.tables import NamespaceTables, TableDetail, TableSnapshot


class TableRows(msgspec.Struct):
    """Some rows of a table."""

    columns: list[str]
    rows: list[list[Any]]
    """Plain values; a value that JSON cannot hold (date, decimal, bytes …) is a text."""


class TableService:
    """Lists tables, reads their rows, and exports snapshots for runs. Threads may share it."""

    def __init__(
        self,
        store: Store,
        namespaces: NamespaceService,
        topics: Topics,
        files: FileTables = NoFileTables(),  # noqa: B008 - it has no state
    ) -> None:
        """:param files: finds the file sets that views can read."""
        self._store = store
        self._tables = NamespaceTables(store, files)
        self._namespaces = namespaces
        self._topics = topics
        namespaces.register_resource(NamespaceResource("tables", remove=self._tables.drop_all))
        store.observe_tables(self._publish_changes)
        with store.transaction() as tx:
            adopt_tables(tx)

    @requires(of_namespace())
    @shows_visible(lambda each: MetadataEntity.of_dataset(each.name, each.namespace))
    def list_tables(self, namespace: str) -> list[TableDetail]:
        """Return the tables and views of a namespace, by name."""
        self._namespaces.require(namespace)
        return list(self._tables.list_tables(namespace))

    @requires(of_namespace())
    def read_shapes(self, namespace: str) -> dict[str, TableShape]:
        """Return the columns and keys of a namespace's tables and views by name.

        There are none if the namespace does not exist.
        """
        return self._tables.read_shapes(namespace)

    @requires(of_dataset(), Permission.READ)
    def read_rows(self, namespace: str, name: str, limit: int) -> TableRows:
        """Return the first rows of a table, ordered by its key, or of a view.

        :raises NotFoundError: when there is no such table or namespace.
        :raises QueryError: when a view cannot be read.
        """
        self._namespaces.require(namespace)
        columns, rows = self._tables.read_rows(namespace, name, limit)
        plain = [list(map(encode_json_record, row)) for row in rows]
        return TableRows(list(columns), plain)

    @requires(of_dataset(), Permission.ADMIN)
    @non_idempotent
    def drop(self, namespace: str, name: str) -> None:
        """Remove a table and its rows, or a view.

        :raises NotFoundError: when there is no such table or namespace.
        """
        self._namespaces.require(namespace)
        with self._store.transaction() as tx:
            self._tables.drop(tx, namespace, name)

    @requires(of_dataset(), Permission.READ)
    def export(self, namespace: str, name: str, directory: str) -> TableSnapshot:
        """Write the current rows of a table or view to Parquet files in ``directory``.

        :raises NotFoundError: when there is no such table.
        :raises QueryError: when a view cannot be read.
        """
        return self._tables.export_parquet(namespace, name, Path(directory))

    def _publish_changes(self, tx: Transaction) -> None:
        """Publish the tables and views that a transaction has created, redefined or dropped.

        The deletion of a namespace is one event, without its tables.
        """
        for (namespace, name), before in tx.changed_tables.items():
            after = read_definition(tx, namespace, name)
            if before == after or not self._namespaces.exists_in_transaction(tx, namespace):
                continue
            follow_table(tx, namespace, name)
            kind: type[EntityEvent] = EntityUpdated
            if before is None or after is None:
                kind = EntityCreated if before is None else EntityDeleted
            entity = MetadataEntity.of_dataset(name, namespace)
            self._topics.publish_entity_event(tx, kind, entity)
