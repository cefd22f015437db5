"""The catalog of datasets: for each its type and specification. Their tables are in the table catalog."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from localcdap.api.dataset.specification import DatasetSpecification
from localcdap.api.errors import NotFoundError
from localcdap.decoders import decode_json
from localcdap.store.store import Transaction
from localcdap.text import format_available

_SELECT = "SELECT namespace, specification, principal, created, updated FROM dataset_instances"


class StoredDataset(msgspec.Struct, frozen=True):
    """One dataset."""

    namespace: str
    specification: DatasetSpecification
    principal: str | None
    """The owner; None: that of the namespace."""
    created: int
    """Milliseconds since 1970."""
    updated: int

    @property
    def name(self) -> str:
        return self.specification.name


def list_datasets(tx: Transaction, namespace: str | None = None) -> list[StoredDataset]:
    """Return the datasets of a namespace, or of all, by namespace and name."""
    where = "" if namespace is None else " WHERE namespace = ?"
    values = () if namespace is None else (namespace,)
    rows = tx.execute(f"{_SELECT}{where} ORDER BY namespace, name", values)
    return [_to_dataset(row) for row in rows]


def find_dataset(tx: Transaction, namespace: str, name: str) -> StoredDataset | None:
    """Return a dataset; None when there is none of that name."""
    rows = tx.execute(f"{_SELECT} WHERE namespace = ? AND name = ?", (namespace, name))
    return _to_dataset(rows[0]) if rows else None


def has_dataset(tx: Transaction, namespace: str, name: str) -> bool:
    """Return whether there is a dataset of that name."""
    sql = "SELECT 1 FROM dataset_instances WHERE namespace = ? AND name = ?"
    return bool(tx.execute(sql, (namespace, name)))


def list_names(tx: Transaction) -> set[tuple[str, str]]:
    """Return the namespaces and names of all datasets."""
    return set(tx.execute("SELECT namespace, name FROM dataset_instances"))


def require_dataset(tx: Transaction, namespace: str, name: str) -> StoredDataset:
    """Return a dataset.

    :raises NotFoundError: when there is none of that name; the message lists the datasets.
    """
    found = find_dataset(tx, namespace, name)
    if found is not None:
        return found
    rows = tx.execute(
        "SELECT name FROM dataset_instances WHERE namespace = ? ORDER BY name", (namespace,)
    )
    known = format_available(name, [row[0] for row in rows])
    raise NotFoundError(
        f"There is no dataset '{name}' in namespace '{namespace}'; available: {known}.",
        entity=f"dataset:{namespace}.{name}",
    )


def save_dataset(
    tx: Transaction,
    namespace: str,
    specification: DatasetSpecification,
    principal: str | None = None,
) -> StoredDataset:
    """Store a new dataset, or the new specification of an existing one, whose owner stays."""
    held, now = find_dataset(tx, namespace, specification.name), time.time_ns() // 1_000_000
    created = held.created if held else now
    saved = StoredDataset(
        namespace, specification, held.principal if held else principal, created, now
    )
    delete_dataset(tx, namespace, specification.name)
    tx.execute(
        "INSERT INTO dataset_instances VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            namespace,
            specification.name,
            specification.type,
            msgspec.json.encode(specification).decode(),
            saved.principal,
            saved.created,
            saved.updated,
        ),
    )
    return saved


def delete_dataset(tx: Transaction, namespace: str, name: str) -> None:
    """Remove a dataset from the catalog, if it is there."""
    tx.changed_datasets.add((namespace, name))
    tx.execute("DELETE FROM dataset_instances WHERE namespace = ? AND name = ?", (namespace, name))


def _to_dataset(row: tuple[Any, ...]) -> StoredDataset:
    namespace, document, principal, created, updated = row
    specification = decode_json(document, type=DatasetSpecification)
    return StoredDataset(namespace, specification, principal, created, updated)
