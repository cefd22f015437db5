"""Datasets that a program has opened in a transaction: their tables, and the guard of their methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Protocol

from localcdap.api.dataset.access import AccessGuard, AccessKind, AnnotationRules, enter_method
from localcdap.api.dataset.dataset import Dataset, pass_calls_to_threads
from localcdap.api.dataset.definition import DatasetDefinition
from localcdap.api.dataset.rows import Row, RowCondition
from localcdap.api.dataset.specification import (
    DatasetSpecification,
    FolderLayout,
    locate_folder,
)
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.errors import NotFoundError, TransactionError
from localcdap.store.transactions import operations as op
from localcdap.store.transactions.dataset_session import OpenedDataset
from localcdap.store.transactions.selections import RowSelection
from localcdap.store.transactions.structured_table import DatasetTable
from localcdap.store.transactions.table import OpenedTable

FindType = Callable[[str, DatasetSpecification], DatasetDefinition]
"""Returns the type of a dataset in a namespace.

:raises NotFoundError: when the type is missing.
"""
_CHUNK: Final = 10_000
"""Rows that one operation writes."""


def find_built_in(
    namespace: str,  # noqa: ARG001  built-in types are in every namespace
    specification: DatasetSpecification,
) -> DatasetDefinition:
    """Return the built-in type of a dataset.

    :raises NotFoundError: when its type is one of a module, whose code this process does not run.
    """
    found = BUILT_IN_TYPES.get(specification.type)
    if found is None:
        raise NotFoundError(
            f"Dataset '{specification.name}' of type '{specification.type}' cannot be opened here: only runs "
            "and system applications run the code of own dataset types.",
            "Read its tables with SQL.",
        )
    return found


class RowOperations(Protocol):
    """Performs operations on the rows of tables."""

    def perform(self, table: OpenedTable, operation: op.Operation) -> op.Result: ...


class DatasetOperations(RowOperations, Protocol):
    """The calls that opened datasets make."""

    def open_dataset(self, namespace: str, name: str) -> OpenedDataset: ...

    def note_access(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None: ...


class DatasetTransaction(DatasetOperations, Protocol):
    """The part of a transaction that opened datasets use."""

    def on_commit(self, action: Callable[[], None]) -> None:
        """See :meth:`localcdap.api.dataset.dataset.DatasetContext.on_commit`."""


def open_dataset(
    transaction: DatasetTransaction,
    find_type: FindType,
    namespace: str,
    name: str,
    arguments: Mapping[str, str],
) -> Dataset:
    """Open a dataset in a transaction.

    :raises NotFoundError: when there is no such dataset or type.
    :raises UnauthorizedError: when the principal has no permission on it.
    """
    pass_calls_to_threads()
    opened = transaction.open_dataset(namespace, name)
    specification = opened.specification
    definition = find_type(namespace, specification)
    context = TransactionDatasetContext(transaction, opened, arguments)
    return definition.get_dataset(context, specification)


class FilesOnly:
    """Outside of transactions: files of datasets can be used, rows cannot.

    :param transaction: in which each call is a transaction of its own.
    """

    def __init__(self, transaction: DatasetOperations) -> None:
        self._transaction = transaction

    def open_dataset(self, namespace: str, name: str) -> OpenedDataset:
        return self._transaction.open_dataset(namespace, name)

    def perform(self, table: OpenedTable, operation: op.Operation) -> op.Result:
        """Refuse the operation.

        :raises TransactionError: always.
        """
        raise TransactionError(
            "Attempt to perform a data operation without a transaction: "
            f"{type(operation).__name__} on table '{table.ref.table}'.",
            "Open the dataset in a transaction: transactions.run(lambda tx: tx.dataset(…).…)",
        )

    def note_access(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        self._transaction.note_access(namespace, dataset, access, recorded)

    def on_commit(self, action: Callable[[], None]) -> None:
        """Call the function: without a transaction, everything takes effect at once."""
        action()


class TransactionDatasetContext:
    """The :class:`localcdap.api.dataset.dataset.DatasetContext` of a dataset in a transaction."""

    def __init__(
        self, transaction: DatasetTransaction, opened: OpenedDataset, arguments: Mapping[str, str]
    ) -> None:
        self._transaction = transaction
        self._opened = opened
        self.namespace = opened.namespace
        self.arguments: Mapping[str, str] = dict(arguments)
        self.guard: AccessGuard = TransactionGuard(transaction, opened)

    def table(self, name: str) -> TransactionRows:
        return TransactionRows(self._transaction, self._opened.get_table(name), self.guard)

    def locate(self, folder: FolderLayout) -> Path:
        return locate_folder(Path(self._opened.folder), folder)

    def on_commit(self, action: Callable[[], None]) -> None:
        self._transaction.on_commit(action)


class TransactionGuard:
    """The :class:`localcdap.api.dataset.access.AccessGuard` of a dataset in a transaction."""

    def __init__(self, transaction: DatasetTransaction, opened: OpenedDataset) -> None:
        self.rules = opened.rules
        self._transaction = transaction
        self._namespace = opened.namespace
        self._dataset = opened.specification.name
        self._noted: set[tuple[AccessKind, AccessKind]] = set()

    def check(self, access: AccessKind, recorded: AccessKind) -> None:
        if access is recorded is AccessKind.NONE:
            return  # the opening of the dataset was checked
        # The host checks each operation on rows again.
        if (access, recorded) not in self._noted:
            self._transaction.note_access(self._namespace, self._dataset, access, recorded)
            self._noted.add((access, recorded))


class Unguarded:
    """The :class:`localcdap.api.dataset.access.AccessGuard` of an admin, whose whole call was allowed."""

    rules = AnnotationRules.SHIPPED

    def check(self, access: AccessKind, recorded: AccessKind) -> None: ...


class TransactionRows:
    """The :class:`localcdap.api.dataset.rows.RowTable` of a table in a transaction.

    Its methods count as methods of the dataset: one that only reads cannot write rows.
    """

    def __init__(self, transaction: RowOperations, table: DatasetTable, guard: AccessGuard) -> None:
        self._guard = guard
        self._transaction = transaction
        self._table = table
        self.schema = table.schema
        self.key = table.key[0] if table.key else None

    def read(self, key: Any) -> Row | None:
        rows = self._read(op.Read(RowSelection(keys=[(key,)])))
        return rows[0] if rows else None

    def select(
        self,
        conditions: Sequence[RowCondition] = (),
        *,
        order_by: Sequence[str] = (),
        descending: bool = False,
        limit: int | None = None,
    ) -> list[Row]:
        selection = RowSelection(conditions=list(conditions))
        return self._read(op.Read(selection, None, list(order_by), descending, limit))

    def select_values(
        self,
        columns: Sequence[str],
        conditions: Sequence[RowCondition] = (),
        *,
        order_by: Sequence[str] = (),
    ) -> list[tuple[Any, ...]]:
        selection = RowSelection(conditions=list(conditions))
        result = self._perform(op.Read(selection, list(columns), list(order_by)))
        assert isinstance(result, op.Rows)
        pick = itemgetter(*map(list(result.columns).index, columns))
        return list(map(pick, result.values))

    def count(self, conditions: Sequence[RowCondition] = ()) -> int:
        number = self._perform(op.Count(RowSelection(conditions=list(conditions))))
        assert isinstance(number, int)
        return number

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        every = [dict(row) for row in rows]
        for start in range(0, len(every), _CHUNK):
            self._perform(op.Write(every[start : start + _CHUNK], replaces=True))

    def update(self, key: Any, values: Mapping[str, Any]) -> None:
        (column,) = self._table.require_key()
        if column in values:
            raise self._table.make_error(f"The key '{column}' of a row cannot be changed.")
        self._perform(op.Write([{column: key, **values}]))

    def delete(self, conditions: Sequence[RowCondition]) -> int:
        number = self._perform(op.Delete(RowSelection(conditions=list(conditions))))
        assert isinstance(number, int)
        return number

    def increment(self, key: Any, amounts: Mapping[str, int]) -> Row:
        return self._read(op.Increment((key,), dict(amounts)))[0]

    def compare_and_swap(self, key: Any, column: str, old: Any, new: Any) -> bool:
        return bool(self._perform(op.CompareAndSwap((key,), column, old, new)))

    def _read(self, operation: op.Operation) -> list[Row]:
        result = self._perform(operation)
        assert isinstance(result, op.Rows)
        return list(map(self._table.row_class, result.values))

    def _perform(self, operation: op.Operation) -> op.Result:
        name = f"{type(operation).__name__} {self._table.ref.table}"
        with enter_method(self._guard, name, operation.access):
            return self._transaction.perform(self._table, operation)
