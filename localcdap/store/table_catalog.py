"""The dataset tables that there are: their DuckDB tables, and their entries in the catalog.

The table ``name`` of a namespace is the DuckDB table of that name in a DuckDB schema of the
namespace's name, so that SQL can read it as ``namespace.name``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from localcdap.api.errors import ConflictError, NotFoundError, StoreError
from localcdap.api.schema import Schema
from localcdap.api.tables import Partitioning
from localcdap.store.columns import quote_identifier, to_column_type
from localcdap.store.store import Transaction

_RESERVED: Final = ("main", "temp", "system", "information_schema", "pg_catalog")


def list_table_identifiers(tx: Transaction) -> Sequence[tuple[str, str, str, str | None]]:
    """Namespace, name, SQL identifier and key of every table, by namespace and name."""
    rows = tx.execute("SELECT namespace, name, key_field FROM dataset_tables ORDER BY ALL")
    return [(namespace, name, identifier(namespace, name), key) for namespace, name, key in rows]


def identifier(namespace: str, name: str) -> str:
    """What a table is called in SQL, whether it is there or not."""
    return quote_identifier(_area(namespace), name)


def names(tx: Transaction, namespace: str) -> Sequence[str]:
    """The tables of a namespace, in their order."""
    rows = tx.execute(
        "SELECT name FROM dataset_tables WHERE namespace = ? ORDER BY name", (namespace,)
    )
    return [row[0] for row in rows]


def held(tx: Transaction, namespace: str, name: str) -> tuple[Schema, str | None]:
    """Schema and key of a table.

    :raises NotFoundError: when there is none; lists those that are.
    """
    rows = tx.execute(
        "SELECT document, key_field FROM dataset_tables WHERE namespace = ? AND name = ?",
        (namespace, name),
    )
    if not rows:
        known = ", ".join(names(tx, namespace)) or "none"
        raise NotFoundError(
            f"There is no table '{name}' in namespace '{namespace}'; there are: {known}."
        )
    document, key = rows[0]
    return Schema.parse(document), key


def read_partitioning(tx: Transaction, namespace: str, name: str) -> Partitioning | None:
    """By what a table that is there is parted."""
    rows = tx.execute(
        "SELECT partitioning FROM dataset_tables WHERE namespace = ? AND name = ?",
        (namespace, name),
    )
    return parted(rows[0][0])


def parted(document: str | None) -> Partitioning | None:
    return None if document is None else msgspec.json.decode(document, type=Partitioning)


def create(
    tx: Transaction,
    namespace: str,
    name: str,
    schema: Schema,
    key: str | None,
    partitioning: Partitioning | None,
) -> None:
    """Make a table without rows.

    :raises StoreError: when it has no name or no fields.
    :raises ConflictError: when DuckDB could not tell its name from another one.
    """
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
            f"'{similar[0][1]}' in '{similar[0][0]}', which DuckDB cannot tell apart.",
            "Choose another name.",
        )
    columns = ", ".join(f"{quote_identifier(f.name)} {to_column_type(f.schema)}" for f in schema)
    tx.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(_area(namespace))}")
    tx.execute(f"CREATE TABLE {identifier(namespace, name)} ({columns})")
    parted = None if partitioning is None else msgspec.json.encode(partitioning).decode()
    tx.execute(
        "INSERT INTO dataset_tables VALUES (?, ?, ?, ?, now(), ?)",
        (namespace, name, str(schema), key, parted),
    )


def widen(tx: Transaction, namespace: str, name: str, held: Schema, merged: Schema) -> None:
    """Give a table the columns and types that it lacks."""
    alter = f"ALTER TABLE {identifier(namespace, name)}"
    for field in merged:
        before, type = held.field(field.name), to_column_type(field.schema)
        if before is None:
            tx.execute(f"{alter} ADD COLUMN {quote_identifier(field.name)} {type}")
        elif to_column_type(before.schema) != type:  # it was always null
            tx.execute(f"{alter} ALTER {quote_identifier(field.name)} TYPE {type} USING NULL")
    tx.execute(
        "UPDATE dataset_tables SET document = ?, updated = now() WHERE namespace = ? AND name = ?",
        (str(merged), namespace, name),
    )


def _area(namespace: str) -> str:
    """The DuckDB schema of a namespace; ``$`` cannot be part of a namespace's own name."""
    return f"{namespace}$" if namespace.lower() in _RESERVED else namespace
