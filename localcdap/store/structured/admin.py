"""Creating, changing and removing structured tables, and the registry of their specifications."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from localcdap.api.app.table import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionKind
from localcdap.api.errors import (
    ConflictError,
    IncompatibleTableError,
    TransactionConflictError,
)
from localcdap.api.security import Permission
from localcdap.api.sql_names import quote_identifier
from localcdap.decoders import decode_json
from localcdap.security.access import OF_INSTANCE, requires
from localcdap.store.store import Store, Transaction
from localcdap.store.transactions.commits import Commits
from localcdap.store.transactions.dataset_session import DatasetAccesses, KnownDatasets
from localcdap.store.transactions.runner import RetryingTransactionRunner, TransactionMonitor
from localcdap.store.transactions.session import (
    LocalTransactionSession,
    NamespaceCheck,
    accept_namespace,
)
from localcdap.store.transactions.structured_table import (
    StructuredTableInfo,
    find_specification,
)


class TableRegistry:
    """The specifications of all structured tables, in memory: only this process changes them.

    Other transactions see a change when it is committed.
    """

    def __init__(self, store: Store) -> None:
        rows = store.read("SELECT name, specification FROM structured_tables")
        self._specifications: Mapping[str, StructuredTableSpecification] = {
            name: decode_json(text, type=StructuredTableSpecification) for name, text in rows
        }

    def list_names(self) -> list[str]:
        """Return the names of all tables in alphabetical order."""
        return sorted(self._specifications)

    def find(self, table: str) -> StructuredTableSpecification | None:
        """Return the specification of a table, None when there is no such table."""
        return self._specifications.get(table)

    def get_all(self) -> Mapping[str, StructuredTableSpecification]:
        """Return the current specifications; the mapping does not change later."""
        return self._specifications

    def get_specification(self, table: str) -> StructuredTableSpecification:
        """Return the specification of a table.

        :raises NotFoundError: when there is no such table; the message lists the tables.
        """
        return find_specification(self._specifications, table)

    def register(self, tx: Transaction, spec: StructuredTableSpecification) -> None:
        """Add a table.

        :raises ConflictError: when a table of that name exists; DuckDB ignores the case of names.
        """
        for name in self.list_names():
            if name.lower() == spec.table.lower():
                raise ConflictError(f"There is a structured table '{name}' already.")
        tx.execute("INSERT INTO structured_tables VALUES (?, ?)", (spec.table, _encode(spec)))
        tx.on_commit(lambda: self._set(spec))

    def change(self, tx: Transaction, spec: StructuredTableSpecification) -> None:
        """Replace the specification of the table of that name."""
        tx.execute(
            "UPDATE structured_tables SET specification = ? WHERE name = ?",
            (_encode(spec), spec.table),
        )
        tx.on_commit(lambda: self._set(spec))

    def remove(self, tx: Transaction, table: str) -> None:
        """Remove a table, if it exists."""
        tx.execute("DELETE FROM structured_tables WHERE name = ?", (table,))
        tx.on_commit(lambda: self._forget(table))

    def _set(self, spec: StructuredTableSpecification) -> None:
        self._specifications = {**self._specifications, spec.table: spec}

    def _forget(self, table: str) -> None:
        self._specifications = {k: v for k, v in self._specifications.items() if k != table}


def _encode(spec: StructuredTableSpecification) -> str:
    return msgspec.json.encode(spec).decode()


_TRIES: Final = 50
_WAIT_S: Final = 0.02


class TableAdmin:
    """The StructuredTableAdmin in the process that has the database open. Threads may share it."""

    def __init__(self, store: Store, registry: TableRegistry) -> None:
        self._store = store
        self._registry = registry
        self._turn = threading.Lock()
        """Held until the registry has the change, so that changes of tables run one after the other."""

    @requires(OF_INSTANCE, Permission.ADMIN)
    def create_or_update(self, specification: StructuredTableSpecification) -> None:
        """Create the table, or add the fields and indexes that it lacks; new fields are null.

        :raises IncompatibleTableError: when an existing field or index would be removed, a field would get
            another type, or the primary key would change; the message names every difference.
        :raises ConflictError: when there is a table whose name differs in case only.
        """
        self._change(lambda tx: self._create_or_update(tx, specification))

    @requires(OF_INSTANCE)
    def exists(self, table: str) -> bool:
        """Return whether there is such a table."""
        return self._registry.find(table) is not None

    @requires(OF_INSTANCE)
    def get_schema(self, table: str) -> StructuredTableSpecification:
        """Return the specification of a table.

        :raises NotFoundError: when there is no such table; the message lists the tables.
        """
        return self._registry.get_specification(table)

    @requires(OF_INSTANCE)
    def list_tables(self) -> list[StructuredTableSpecification]:
        """Return all tables, by name."""
        return [self._registry.get_specification(name) for name in self._registry.list_names()]

    @requires(OF_INSTANCE, Permission.ADMIN)
    def drop(self, table: str) -> None:
        """Remove the table with its rows, if it exists."""
        self._change(lambda tx: self._drop(tx, table))

    def _create_or_update(self, tx: Transaction, spec: StructuredTableSpecification) -> None:
        held = self._registry.find(spec.table)
        if held is None:
            self._registry.register(tx, spec)
            tx.execute(_build_create_table(spec))
        elif held != spec:
            _check_compatible(held, spec)
            _widen(tx, held, spec)
            self._registry.change(tx, spec)

    def _drop(self, tx: Transaction, table: str) -> None:
        held = self._registry.find(table)
        if held is not None:
            tx.execute(f"DROP TABLE {StructuredTableInfo(held).identifier}")
            self._registry.remove(tx, table)

    def _change(self, change: Callable[[Transaction], None]) -> None:
        """Make a change, and repeat it after a conflict with a transaction that uses the table."""
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


def _build_create_table(spec: StructuredTableSpecification) -> str:
    """Return the CREATE TABLE statement.

    An index of the specification does not become an index in DuckDB: scans are fast without one, while an
    index would slow down every write and turn updates into deletes and inserts.
    """
    table = StructuredTableInfo(spec)
    columns = ", ".join(
        f"{quote_identifier(name)} {type}{' NOT NULL' if name in spec.primary_key else ''}"
        for name, type in table.types.items()
    )
    return f"CREATE TABLE {table.identifier} ({columns}, PRIMARY KEY ({table.key_columns}))"


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
            f"Table {held.table} exists and cannot be changed to the new specification: "
            f"{'; '.join(reasons)}.",
            "Only add fields and indexes, or drop the table first.",
        )


def _widen(
    tx: Transaction, held: StructuredTableSpecification, wanted: StructuredTableSpecification
) -> None:
    table = StructuredTableInfo(wanted)
    for name, type in table.types.items():
        if name not in held.fields:
            tx.execute(f"ALTER TABLE {table.identifier} ADD COLUMN {quote_identifier(name)} {type}")


AccessesOf = Callable[[object], DatasetAccesses | None]


class StructuredTables:
    """The administration and the transactions of structured tables; a store must have exactly one.

    :param check_namespace: raises an error unless a namespace exists in a generation; see
        :class:`~localcdap.store.transactions.session.LocalTransactionSession`.
    :param find_accesses: returns what checks and records the accesses of a program to datasets; None: no
        datasets can be opened.
    """

    def __init__(
        self,
        store: Store,
        check_namespace: NamespaceCheck = accept_namespace,
        find_accesses: AccessesOf = lambda _: None,
    ) -> None:
        self._store = store
        self._check_namespace = check_namespace
        self._find_accesses = find_accesses
        self._datasets = KnownDatasets()
        self._registry = TableRegistry(store)
        self._commits = Commits()
        self._watch = TransactionMonitor()
        self.admin: Final = TableAdmin(store, self._registry)
        self.transactions: Final = RetryingTransactionRunner(self.open)
        store.observe_commits(self._note_commit)

    def open(
        self, kind: TransactionKind, timeout_s: float | None, accessor: object = None
    ) -> _WatchedSession:
        """Begin a transaction, which the caller must commit or roll back.

        :param accessor: what opens datasets, as ``find_accesses`` knows it.
        """
        return _WatchedSession(
            self._store,
            self._registry.get_all(),
            self._commits,
            kind,
            timeout_s,
            self._watch,
            self._check_namespace,
            self._find_accesses(accessor),
            self._datasets,
        )

    def _note_commit(self, tx: Transaction) -> None:
        """Let transactions that have used the tables which another one has changed see the conflict."""
        if tx.changed_tables or tx.changed_datasets:
            self._datasets.forget()
        changed = tx.written_tables | tx.changed_tables.keys()
        self._commits.note_tables([f"{namespace}.{name}" for namespace, name in changed])

    def wait_for_commit(self) -> None:
        """Wait until the commit that is being made, if any, has ended.

        A deletion calls this after it has marked a namespace as deleted: the transactions that have not
        noticed it are over then, and the rows that they added can be deleted.
        """
        self._commits.wait()

    def close(self) -> None:
        """Wait for submitted transactions that have begun, and cancel the others."""
        self.transactions.close()
        self._watch.close()


class _WatchedSession(LocalTransactionSession):
    """A session that the monitor ends when its time is over, even if its owner does nothing."""

    def __init__(
        self,
        store: Store,
        specifications: Mapping[str, StructuredTableSpecification],
        commits: Commits,
        kind: TransactionKind,
        timeout_s: float | None,
        watch: TransactionMonitor,
        check_namespace: NamespaceCheck,
        accesses: DatasetAccesses | None,
        datasets: KnownDatasets,
    ) -> None:
        super().__init__(
            store, specifications, commits, kind, timeout_s, check_namespace, accesses, datasets
        )
        self._watch = watch
        if timeout_s is not None:
            watch.add(self)

    def check(self, now: float) -> None:
        """See :class:`localcdap.store.transactions.runner.MonitoredTransaction`."""
        if (
            self.deadline is not None
            and now > self.deadline
            and self.expire(self.make_timeout_error)
        ):
            self._watch.discard(self)

    def commit(self) -> None:
        self._watch.discard(self)
        super().commit()

    def rollback(self) -> None:
        self._watch.discard(self)
        super().rollback()
