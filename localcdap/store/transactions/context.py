"""The tables and datasets that the function of a transaction uses, on any kind of session."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from localcdap.api.app.table import (
    Filter,
    Key,
    QueryOption,
    Range,
    RowValues,
    SortOrder,
    StructuredRow,
    StructuredRows,
    StructuredTable,
    StructuredTableSpecification,
    create_row_class,
)
from localcdap.api.dataset.access import AccessKind
from localcdap.api.errors import TableUsageError, TransactionConflictError, TransactionError
from localcdap.store.transactions import operations as op
from localcdap.store.transactions.dataset_session import OpenedDataset
from localcdap.store.transactions.opened_datasets import FindType, find_built_in, open_dataset
from localcdap.store.transactions.selections import RowSelection
from localcdap.store.transactions.session import TransactionSession
from localcdap.store.transactions.structured_table import StructuredTableInfo
from localcdap.store.transactions.table import OpenedTable

_P = ParamSpec("_P")
_T = TypeVar("_T")
_CHUNK = 10_000
"""Records that one statement writes."""


class SessionContext:
    """The :class:`localcdap.api.app.TransactionContext` of one attempt of a transaction."""

    def __init__(
        self,
        session: TransactionSession,
        find_type: FindType = find_built_in,
        namespace: str = "default",
    ) -> None:
        """Create it.

        :param find_type: returns dataset types.
        :param namespace: that of datasets which are opened by name only.
        """
        self._session = session
        self._find_type = find_type
        self._namespace = namespace
        self._is_over = False
        self._rows: list[weakref.ref[StructuredRows]] = []
        self.has_conflicted = False
        """Whether an operation conflicted with another transaction, also when the body caught that error."""

    def table(self, table: str) -> StructuredTable:
        """Return the table with this id."""
        self.require_open()
        return _Table(self, StructuredTableInfo(self._session.get_specification(table)))

    def dataset(
        self, name: str, *, namespace: str | None = None, arguments: Mapping[str, str] | None = None
    ) -> Any:
        """See :meth:`localcdap.api.app.TransactionContext.dataset`."""
        owner = self._namespace if namespace is None else namespace
        return open_dataset(self, self._find_type, owner, name, arguments or {})

    def perform(self, table: OpenedTable, operation: op.Operation) -> op.Result:
        """Execute an operation on a structured table or a table of a dataset."""
        return self._call(self._session.perform, table, operation)

    def open_dataset(self, namespace: str, name: str) -> OpenedDataset:
        """See :class:`localcdap.store.transactions.session.TransactionSession`, as the next one."""
        return self._call(self._session.open_dataset, namespace, name)

    def note_access(
        self, namespace: str, dataset: str, access: AccessKind, recorded: AccessKind
    ) -> None:
        self._call(self._session.note_access, namespace, dataset, access, recorded)

    def on_commit(self, action: Callable[[], None]) -> None:
        """See :meth:`localcdap.api.dataset.dataset.DatasetContext.on_commit`."""
        self._session.commit_actions.add(action)

    def _call(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        self.require_open()
        try:
            return method(*args, **kwargs)
        except TransactionConflictError:
            self.has_conflicted = True
            raise

    def require_open(self) -> None:
        """Check that the body has not ended.

        :raises TransactionError: when it has.
        """
        if self._is_over:
            raise TransactionError(
                "The transaction of this table is over.",
                "Use a table and its rows inside the body only.",
            )

    def close_with_transaction(self, rows: StructuredRows) -> None:
        """Register rows that are closed with the transaction."""
        self._rows.append(weakref.ref(rows))

    def close(self) -> None:
        """Reject further use of the tables, and close the rows that were read."""
        self._is_over = True
        for each in self._rows:
            rows = each()
            if rows is not None:
                rows.close()


class _Table(StructuredTable):
    def __init__(self, context: SessionContext, table: StructuredTableInfo) -> None:
        self._context = context
        self._table = table

    @property
    def specification(self) -> StructuredTableSpecification:
        return self._table.spec

    def upsert(self, record: RowValues) -> None:
        self._do(op.Write([dict(record)]))

    def upsert_all(self, records: Iterable[RowValues]) -> None:
        rows = [dict(record) for record in records]
        for start in range(0, len(rows), _CHUNK):
            self._do(op.Write(rows[start : start + _CHUNK]))

    def update(self, record: RowValues) -> None:
        self._context.require_open()
        key = self._table.check_row(record)
        values = {name: value for name, value in record.items() if name not in self._table.key}
        self._do(op.Update(RowSelection(keys=[key]), values))

    def read(self, key: Key, columns: Collection[str] | None = None) -> StructuredRow | None:
        names = None if columns is None else list(columns)
        return next(self._read(op.Read(RowSelection(keys=[key]), names)), None)

    def multi_read(self, keys: Iterable[Key]) -> list[StructuredRow]:
        return list(self._read(op.Read(RowSelection(keys=list(keys)))))

    def scan(
        self,
        range: Range = Range.all(),  # noqa: B008  it is immutable
        *,
        limit: int | None = None,
        filters: Collection[Filter] = (),
        order_by: str | None = None,
        order: SortOrder = SortOrder.ASC,
        options: Collection[QueryOption] = (),
    ) -> StructuredRows:
        limit = self._table.check_limit(limit)
        selection = self._select([range], filters)
        columns = [] if order_by is None else [order_by]
        self._table.check_indexes(columns)
        descending = order is SortOrder.DESC
        return self._read(op.Read(selection, None, columns, descending, limit))

    def multi_scan(self, ranges: Iterable[Range], *, limit: int | None = None) -> StructuredRows:
        limit = self._table.check_limit(limit)
        return self._read(op.Read(self._select(ranges), limit=limit))

    def compare_and_swap(self, key: Key, column: str, old: Any, new: Any) -> bool:
        return bool(self._do(op.CompareAndSwap(key, column, old, new)))

    def increment(self, key: Key, column: str, amount: int) -> None:
        self._do(op.Increment(key, {column: amount}))

    def delete(self, key: Key) -> None:
        self._do(op.Delete(RowSelection(keys=[key])))

    def delete_all(self, range: Range, *, options: Collection[QueryOption] = ()) -> None:
        self._context.require_open()
        self._table.check_prefix_range(range)
        self._do(op.Delete(RowSelection(ranges=[range])))

    def scan_delete_all(self, range: Range) -> None:
        self._do(op.Delete(RowSelection(ranges=[range])))

    def update_all(self, range: Range, values: RowValues) -> None:
        self._context.require_open()
        self._table.check_not_key(values)
        self._table.check_prefix_range(range)
        if not values:
            raise TableUsageError(f"No fields of table {self._table.id} are given to update")
        self._do(op.Update(RowSelection(ranges=[range]), dict(values)))

    def count(
        self,
        ranges: Sequence[Range] = (Range.all(),),
        *,
        filters: Collection[Filter] = (),
        options: Collection[QueryOption] = (),
    ) -> int:
        number = self._do(op.Count(self._select(ranges, filters)))
        assert isinstance(number, int)
        return number

    def _select(self, ranges: Iterable[Range], filters: Collection[Filter] = ()) -> RowSelection:
        """Return the rows in any of the ranges that match any of the filters, if there are any."""
        self._context.require_open()
        selection = RowSelection(ranges=list(ranges), filters=list(filters))
        for range in selection.ranges or ():
            self._table.check_scan_range(range)
        self._table.check_indexes(name for name, _ in filters)
        return selection

    def _do(self, operation: op.Operation) -> op.Result:
        return self._context.perform(self._table, operation)

    def _read(self, operation: op.Read) -> StructuredRows:
        result = self._do(operation)
        assert isinstance(result, op.Rows)
        rows = StructuredRows(
            create_row_class(tuple(result.columns), self._table.key), result.values
        )
        self._context.close_with_transaction(rows)
        return rows
