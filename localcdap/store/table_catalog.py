"""The catalog of tables: for each its DuckDB table, schema, key and partitioning.

The table ``name`` of a namespace is the DuckDB table of that name in the DuckDB schema of the namespace's
name, so that SQL can read it as ``namespace.name``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from localcdap.api.errors import ConflictError, NotFoundError, StoreError
from localcdap.api.schema import Schema
from localcdap.api.tables import Partitioning
from localcdap.decoders import decode_json
from localcdap.store.columns import quote_identifier, to_column_type
from localcdap.store.store import Transaction
from localcdap.text import format_available

_RESERVED: Final = ("main", "temp", "system", "information_schema", "pg_catalog")


def list_table_identifiers(tx: Transaction) -> Sequence[tuple[str, str, str, str | None]]:
    """List namespace, name, SQL identifier and key of every table, ordered by namespace and name."""
    rows = tx.execute("SELECT namespace, name, key_field FROM dataset_tables ORDER BY ALL")
    return [(namespace, name, to_identifier(namespace, name), key) for namespace, name, key in rows]


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
    rows = tx.execute(
        "SELECT document, key_field FROM dataset_tables WHERE namespace = ? AND name = ?",
        (namespace, name),
    )
    if not rows:
        known = format_available(name, list_names(tx, namespace))
        raise NotFoundError(
            f"There is no table '{name}' in namespace '{namespace}'; available: {known}."
        )
    document, key = rows[0]
    return Schema.parse(document), key


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
    columns = ", ".join(f"{quote_identifier(f.name)} {to_column_type(f.schema)}" for f in schema)
    tx.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(_to_duckdb_schema(namespace))}")
    tx.execute(f"CREATE TABLE {to_identifier(namespace, name)} ({columns})")
    parted = None if partitioning is None else msgspec.json.encode(partitioning).decode()
    tx.execute(
        "INSERT INTO dataset_tables VALUES (?, ?, ?, ?, now(), ?)",
        (namespace, name, str(schema), key, parted),
    )


def widen(tx: Transaction, namespace: str, name: str, held: Schema, merged: Schema) -> None:
    """Add the columns that a table lacks, and give a type to columns that were always null."""
    alter = f"ALTER TABLE {to_identifier(namespace, name)}"
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


def _to_duckdb_schema(namespace: str) -> str:
    """Return the DuckDB schema of a namespace; a namespace's name cannot contain the ``$`` of reserved
    ones.
    """
    return f"{namespace}$" if namespace.lower() in _RESERVED else namespace
