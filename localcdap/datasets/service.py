"""The service for tables: listing them, reading rows, and exporting snapshots for runs.

Datasets for tables that were made without one.

The sinks of a pipeline, and SQL statements, create and change tables by their names only. Each such table
belongs to a dataset, which is kept as the table is.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityEvent, EntityUpdated
from localcdap.api.dataset.schema_evolution import find_field_changes
from localcdap.api.dataset.specification import DatasetSpecification
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.dataset.types.external import EXTERNAL_TYPE, TABLE
from localcdap.api.errors import ConflictError, LocalcdapError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.api.security import Permission
from localcdap.api.tables import TableShape
from localcdap.datasets.specifications import get_given_properties, holds_nothing, lay_out
from localcdap.messaging.topics import Topics
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import of_dataset, of_namespace, requires, shows_visible
from localcdap.store import dataset_catalog as catalog
from localcdap.store import table_catalog
from localcdap.store.dataset_catalog import StoredDataset
from localcdap.store.query_tables import FileTables, NoFileTables
from localcdap.store.store import Store, Transaction
from localcdap.store.table_catalog import read_definition
from localcdap.store.tables import NamespaceTables, TableDetail, TableSnapshot

_LOG: Final = logging.getLogger(__name__)
_ADOPTED_TYPES: Final = ("table", "keyValueTable", EXTERNAL_TYPE)


def adopt_tables(tx: Transaction) -> None:
    """Make datasets of the tables that have none: those of an instance from before there were datasets."""
    rows = tx.execute("SELECT namespace, name FROM dataset_instances")
    known = {(namespace, name) for namespace, name in rows}
    for entry in table_catalog.list_entries(tx):
        if (entry.namespace, entry.name) in known:
            continue
        try:
            _adopt(tx, entry)
        except LocalcdapError as error:
            _LOG.warning("table '%s' cannot be a dataset: %s", entry.name, error)


def follow_table(tx: Transaction, namespace: str, name: str) -> None:
    """Keep the dataset of a table that a transaction has created, changed or dropped by itself.

    :raises ConflictError: when a dataset would lose a part of its data.
    """
    entry = table_catalog.find_entry(tx, namespace, name)
    if entry is not None:
        _adopt(tx, entry)
        return
    owner = _find_owner(tx, namespace, name)
    if owner is None:
        return
    layout = lay_out(owner.specification)
    if owner.name != name or len(layout.tables) > 1 or layout.folder is not None:
        raise ConflictError(
            f"Table '{name}' cannot be dropped: it is a part of dataset '{owner.name}' of type "
            f"'{owner.specification.type}'.",
            f"Delete the dataset: localcdap datasets delete '{owner.name}'",
        )
    catalog.delete_dataset(tx, namespace, name)


def _adopt(tx: Transaction, entry: table_catalog.CatalogEntry) -> None:
    owner = _find_owner(tx, entry.namespace, entry.name)
    if entry.query is not None or (owner is not None and owner.name != entry.name):
        return
    held = catalog.find_dataset(tx, entry.namespace, entry.name)
    if held is not None and holds_nothing(held.specification):
        held = None
    if held is not None and held.specification.type not in _ADOPTED_TYPES:
        return
    if held is not None and _fits(held.specification, entry):
        return
    type, properties = _choose_type(entry)
    if held is not None:
        type = held.specification.type
        properties = {**get_given_properties(held.specification), **properties}
    specification = BUILT_IN_TYPES[type].configure(entry.name, properties)
    given = msgspec.structs.replace(specification, original_properties=properties)
    catalog.save_dataset(tx, entry.namespace, given)


def _fits(specification: DatasetSpecification, entry: table_catalog.CatalogEntry) -> bool:
    """Return whether a dataset has the schema and the key of its table."""
    table = lay_out(specification).tables.get(entry.name)
    return (
        table is not None
        and table.key == entry.key
        and not find_field_changes(table.schema, entry.schema)
    )


def _find_owner(tx: Transaction, namespace: str, name: str) -> StoredDataset | None:
    """Return the dataset that has a table, such as ``sales`` for ``sales.partitions``."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        owner = catalog.find_dataset(tx, namespace, ".".join(parts[:end]))
        if owner is not None and name in lay_out(owner.specification).tables:
            return owner
    return None


def _choose_type(entry: table_catalog.CatalogEntry) -> tuple[str, dict[str, str]]:
    """Return the type and the properties of the dataset for a table that a pipeline wrote."""
    schema = {"schema": entry.document}
    if entry.key == "key" and sorted(entry.schema.field_names) == ["key", "value"]:
        types = {each.schema for each in entry.schema}
        if types <= {Schema.BYTES, Schema.STRING}:
            return "keyValueTable", schema
    if "." in entry.name and entry.key is None:
        return EXTERNAL_TYPE, {**schema, TABLE: entry.name}
    return "table", schema | ({"schema.row.field": entry.key} if entry.key is not None else {})


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
