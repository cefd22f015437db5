"""Making, changing and removing structured tables."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.errors import IncompatibleTableError, TransactionConflictError
from localcdap.store.columns import quoted
from localcdap.store.store import Store, Transaction
from localcdap.store.structured.registry import TableRegistry
from localcdap.store.structured.sql import TYPES, TableSql

_TRIES: Final = 50
_WAIT_S: Final = 0.02


class TableAdmin:
    """The StructuredTableAdmin of the process that has the database open. Threads may share it."""

    def __init__(self, store: Store, registry: TableRegistry) -> None:
        self._store = store
        self._registry = registry
        self._turn = threading.Lock()
        """Held until the registry knows of a change, so that two of these cannot meet."""

    def create_or_update(self, specification: StructuredTableSpecification) -> None:
        """Make the table, or add to it the fields and indexes that it lacks; new fields are null.

        :raises IncompatibleTableError: when a field or index it has would go away, a field would get
            another type, or the primary key would change; names every one.
        :raises ConflictError: when there is a table whose name differs in case only.
        """
        self._change(lambda tx: self._create_or_update(tx, specification))

    def exists(self, table: str) -> bool:
        """Whether there is such a table."""
        return self._registry.find(table) is not None

    def get_schema(self, table: str) -> StructuredTableSpecification:
        """:raises NotFoundError: when there is no such table; lists those that are."""
        return self._registry.specification(table)

    def list_tables(self) -> list[StructuredTableSpecification]:
        """All tables, by name."""
        return [self._registry.specification(name) for name in self._registry.names()]

    def drop(self, table: str) -> None:
        """Remove the table with its rows; nothing happens when there is none."""
        self._change(lambda tx: self._drop(tx, table))

    def _create_or_update(self, tx: Transaction, spec: StructuredTableSpecification) -> None:
        held = self._registry.find(spec.table)
        if held is None:
            self._registry.register(tx, spec)
            tx.execute(_creation(spec))
        elif held != spec:
            _check_compatible(held, spec)
            _widen(tx, held, spec)
            self._registry.change(tx, spec)

    def _drop(self, tx: Transaction, table: str) -> None:
        held = self._registry.find(table)
        if held is not None:
            tx.execute(f"DROP TABLE {TableSql(held).name}")
            self._registry.remove(tx, table)

    def _change(self, change: Callable[[Transaction], None]) -> None:
        """Make a change, again if a transaction that uses the table gets in its way."""
        with self._turn:
            for left in reversed(range(_TRIES)):
                try:
                    with self._store.transaction() as tx:
                        change(tx)
                    return
                except TransactionConflictError:
                    if not left:
                        raise
                    time.sleep(_WAIT_S)


def _creation(spec: StructuredTableSpecification) -> str:
    """The CREATE TABLE statement.

    An index of ours is none of DuckDB's: its scans are fast without one, while an index would slow every
    write down and turn updates into deletes with inserts.
    """
    table = TableSql(spec)
    columns = ", ".join(
        f"{quoted(name)} {TYPES[type]}{' NOT NULL' if name in spec.primary_key else ''}"
        for name, type in spec.fields.items()
    )
    return f"CREATE TABLE {table.name} ({columns}, PRIMARY KEY ({table.key_columns}))"


def _check_compatible(
    held: StructuredTableSpecification, wanted: StructuredTableSpecification
) -> None:
    reasons = []
    for name, type in held.fields.items():
        new = wanted.fields.get(name)
        if new is None:
            reasons.append(f"field {name} is missing")
        elif new is not type:
            reasons.append(f"field {name} is {new} instead of {type}")
    if held.primary_key != wanted.primary_key:
        keys = (", ".join(spec.primary_key) for spec in (wanted, held))
        reasons.append("the primary key is ({}) instead of ({})".format(*keys))
    reasons += [f"index {name} is missing" for name in held.indexes if name not in wanted.indexes]
    if reasons:
        raise IncompatibleTableError(
            f"Table {held.table} exists, and cannot become what is asked for: {'; '.join(reasons)}.",
            "Only add fields and indexes, or drop the table first.",
        )


def _widen(
    tx: Transaction, held: StructuredTableSpecification, wanted: StructuredTableSpecification
) -> None:
    for name, type in wanted.fields.items():
        if name not in held.fields:
            tx.execute(f"ALTER TABLE {TableSql(held).name} ADD COLUMN {quoted(name)} {TYPES[type]}")
