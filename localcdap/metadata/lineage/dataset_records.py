"""What is stored of a dataset: its name, the fields that edges lead from and to, and its last write."""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.api.metadata import DATASET
from localcdap.metadata.entities import from_key
from localcdap.metadata.lineage.relations import AccessType, DatasetId
from localcdap.store.store import Transaction

_WRITES: Final = (AccessType.WRITE.value, AccessType.READ_WRITE.value)


class LastWrite(msgspec.Struct, frozen=True):
    """The latest run that has written a dataset."""

    namespace: str
    """Of the application."""
    application: str
    run: str
    time: int
    """Milliseconds since 1970 at which the run was asked for."""


class DatasetRecords:
    """Reads what is stored of datasets in one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def list_names(self, namespace: str) -> list[str]:
        """Return the datasets of a namespace that have metadata or lineage, in alphabetical order."""
        described = self._tx.execute(
            "SELECT entity FROM metadata WHERE namespace = ? AND type = ?", (namespace, DATASET)
        )
        used = self._tx.execute(
            "SELECT DISTINCT dataset FROM lineage_relations WHERE namespace = ? "
            "UNION SELECT source FROM lineage_column_edges WHERE source_namespace = ? "
            "UNION SELECT target FROM lineage_column_edges WHERE target_namespace = ?",
            (namespace, namespace, namespace),
        )
        return sorted({from_key(key).name for (key,) in described} | {name for (name,) in used})

    def list_edge_fields(self, dataset: DatasetId) -> set[str]:
        """Return the fields of a dataset at which an edge begins or ends."""
        key = (dataset.namespace, dataset.dataset)
        rows = self._tx.execute(
            "SELECT source_field FROM lineage_column_edges WHERE source_namespace = ? AND source = ? "
            "UNION SELECT target_field FROM lineage_column_edges "
            "WHERE target_namespace = ? AND target = ? AND target_field IS NOT NULL",
            (*key, *key),
        )
        return {name for (name,) in rows}

    def find_last_write(self, dataset: DatasetId) -> LastWrite | None:
        """Return the latest run that has written a dataset; None when none has."""
        rows = self._tx.execute(
            "SELECT program_namespace, application, run, start FROM lineage_relations "
            "WHERE namespace = ? AND dataset = ? AND access IN (SELECT unnest(?::VARCHAR[])) "
            "ORDER BY start DESC, run LIMIT 1",
            (dataset.namespace, dataset.dataset, list(_WRITES)),
        )
        return LastWrite(*rows[0]) if rows else None
