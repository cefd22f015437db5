"""The partitions of file sets that pipelines write: rows of the table ``<dataset>.partitions``."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from localcdap.api.app.events import PartitionsAdded
from localcdap.api.dataset.definition import DatasetFiles, FilePartition, PartitionChange
from localcdap.api.dataset.partition_fields import (
    PARTITIONING_FIELDS,
    list_partition_folders,
    read_partitioning,
)
from localcdap.api.dataset.properties import PropertyReader
from localcdap.api.dataset.specification import (
    DatasetSpecification,
    TableLayout,
    locate_folder,
)
from localcdap.api.dataset.types.file_sets import EXTERNAL
from localcdap.api.errors import ConflictError
from localcdap.api.sql_names import quote_identifier
from localcdap.datasets.specifications import lay_out
from localcdap.datasets.storage import FolderChanges
from localcdap.store import dataset_catalog, table_catalog
from localcdap.store.store import Transaction

_TIMED: Final = "timePartitionedFileSet"


class PartitionTable:
    """The partitions of one file set, in a transaction.

    :param root: the folder of the file sets of the namespace.
    """

    def __init__(
        self, tx: Transaction, namespace: str, specification: DatasetSpecification, root: Path
    ) -> None:
        layout = lay_out(specification)
        assert layout.folder is not None
        self.folder: Final = locate_folder(root, layout.folder)
        self._tx: Final = tx
        self._namespace: Final = namespace
        self._name: Final = f"{specification.name}.partitions"
        self._layout: Final[TableLayout] = layout.tables[self._name]
        self._table: Final = table_catalog.to_identifier(namespace, self._name)

    def add(self, key: Mapping[str, Any], path: str, metadata: Mapping[str, str]) -> None:
        """Add a partition.

        :raises ConflictError: when one has its key or its path.
        """
        if self.find_path(key) is not None or self._has_path(path):
            raise ConflictError(
                f"Dataset '{self._name.removesuffix('.partitions')}' already has a partition with the key "
                f"{dict(key)}, or the path '{path}'.",
                "Drop it first: localcdap datasets partitions NAME --drop, or run again later.",
            )
        now = time.time_ns() // 1_000_000
        self._insert({**key, "$path": path, "$created": now, "$metadata": list(metadata.items())})

    def drop(self, key: Mapping[str, Any]) -> None:
        """Remove a partition, but not its files."""
        where, values = _compare(key)
        self._tx.execute(f"DELETE FROM {self._table} WHERE {where}", values)  # noqa: S608 - quoted
        self._tx.note_rows(self._namespace, self._name)

    def list_partitions(self) -> list[FilePartition]:
        """Return all partitions."""
        fields = [name for name in self._layout.schema.field_names if not name.startswith("$")]
        columns = ", ".join(map(quote_identifier, ("$path", *fields)))
        rows = self._tx.execute(f"SELECT {columns} FROM {self._table}")  # noqa: S608 - quoted
        return [FilePartition(dict(zip(fields, row[1:], strict=True)), row[0]) for row in rows]

    def find_path(self, key: Mapping[str, Any]) -> str | None:
        """Return the path of a partition; None when there is none."""
        where, values = _compare(key)
        query = f'SELECT "$path" FROM {self._table} WHERE {where}'  # noqa: S608 - quoted
        rows = self._tx.execute(query, values)
        return str(rows[0][0]) if rows else None

    def _has_path(self, path: str) -> bool:
        query = f'SELECT 1 FROM {self._table} WHERE "$path" = ?'  # noqa: S608 - quoted
        return bool(self._tx.execute(query, (path,)))

    def _insert(self, row: Mapping[str, Any]) -> None:
        import pyarrow as pa

        from localcdap.api.arrow import to_arrow_schema

        schema = to_arrow_schema(self._layout.schema)
        columns = ", ".join(map(quote_identifier, schema.names))
        batch = pa.RecordBatch.from_pylist([dict(row)], schema=schema)
        self._tx.insert_arrow(self._table, columns, batch)
        self._tx.note_rows(self._namespace, self._name)


def change_partition(
    tx: Transaction, folders: FolderChanges, root: Path, change: PartitionChange
) -> None:
    """Add a partition that a run has written, or drop one with its files.

    :param root: the folder of the file sets of all namespaces.
    :raises NotFoundError: when there is no such dataset any more.
    :raises ConflictError: when there is such a partition.
    """
    held = dataset_catalog.require_dataset(tx, change.namespace, change.dataset).specification
    table = PartitionTable(tx, change.namespace, held, root / change.namespace)
    if change.path is not None:
        table.add(change.key, change.path, change.metadata)
        return
    path = table.find_path(change.key)
    if path is None:
        return
    table.drop(change.key)
    place = table.folder / path
    if PropertyReader(held.properties).read_flag(EXTERNAL):
        return
    if place.is_dir():
        folders.remove(place)
    else:
        tx.on_commit(lambda: place.unlink(missing_ok=True))


def describe_files(tx: Transaction, root: Path, namespace: str, name: str) -> DatasetFiles | None:
    """Return the folder and the partitions of a dataset; None when it has no folder.

    :param root: the folder of the file sets of all namespaces.
    """
    held = dataset_catalog.require_dataset(tx, namespace, name).specification
    folder = lay_out(held).folder
    if folder is None:
        return None
    place = locate_folder(root / namespace, folder)
    if PARTITIONING_FIELDS not in held.properties:
        return DatasetFiles(str(place))
    table = PartitionTable(tx, namespace, held, root / namespace)
    return DatasetFiles(str(place), table.list_partitions())


def adopt_partitions(
    tx: Transaction, root: Path, namespace: str, specification: DatasetSpecification
) -> list[str]:
    """Add the partitions that the folder of a new file set has already.

    :param root: the folder of the file sets of all namespaces.
    :returns: a sentence for each folder that is left out.
    """
    if PARTITIONING_FIELDS not in specification.properties:
        return []
    table = PartitionTable(tx, namespace, specification, root / namespace)
    fields = read_partitioning(specification.properties)
    left_out = []
    for each in reversed(list_partition_folders(table.folder)):
        key = _make_key(specification.type, fields, each.time_ms)
        if key is not None and table.find_path(key) is None:
            table.add(key, str(each.path.relative_to(table.folder)), {})
        else:
            reason = (
                "the dataset has other keys" if key is None else "a later partition has its key"
            )
            left_out.append(f"The folder {each.path} does not become a partition: {reason}.")
    return left_out


def _make_key(type: str, fields: Mapping[str, str], time_ms: int) -> dict[str, int] | None:
    """Return the key of a partition by time; None when the dataset has other keys."""
    if type == _TIMED:
        at = datetime.datetime.fromtimestamp(time_ms / 1000, datetime.UTC)
        return dict(zip(fields, (at.year, at.month, at.day, at.hour, at.minute), strict=True))
    return {next(iter(fields)): time_ms} if list(fields.values()) == ["LONG"] else None


def _compare(key: Mapping[str, Any]) -> tuple[str, list[Any]]:
    where = " AND ".join(f"{quote_identifier(name)} = ?" for name in key)
    return where, list(key.values())


PublishPartitions = Callable[[Transaction, PartitionsAdded], None]
"""Publishes an event as part of a transaction."""


def create_event(namespace: str, dataset: str, count: int) -> PartitionsAdded:
    """Return the event of new partitions of a dataset."""
    return PartitionsAdded(namespace, dataset, count, time.time_ns() // 1_000_000)


def ignore_partitions(_tx: Transaction, _event: PartitionsAdded) -> None:
    """Publish nothing: for datasets without a messaging system."""
