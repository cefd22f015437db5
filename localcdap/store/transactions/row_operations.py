"""The operations on the rows of datasets, as values that can be sent to another process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Protocol

import msgspec

from localcdap.api.dataset.access import AccessKind
from localcdap.api.dataset.rows import RowComparison, RowCondition
from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Type
from localcdap.store.transactions.conditions import find_keys
from localcdap.store.transactions.dataset_table import TableInfo
from localcdap.store.transactions.operations import Result, Rows
from localcdap.store.transactions.pending_rows import PendingRows, Reader

_BITS: Final = {Type.INT: 31, Type.LONG: 63}
KEY: Final = ""
"""Stands for the key column in a conversion."""
Convert = Callable[[str, Any], Any]
"""Converts a value of a column."""


class RowWork(Reader, Protocol):
    """The part of a transaction that operations need."""

    def add_keys(self, table: str, keys: Collection[tuple[Any, ...]], *, writes: bool) -> None: ...

    def add_table(self, table: str, *, writes: bool) -> None: ...

    def add_appends(self, table: str) -> None: ...


class UnwatchedWork:
    """A transaction in which operations cannot conflict, because nobody else writes.

    :param reader: None when the operations are on :class:`UnstoredRows`.
    """

    def __init__(self, reader: Reader | None = None) -> None:
        self._reader: Final = reader

    def execute(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._require_reader().execute(sql, params)

    def read_arrow(self, sql: str, params: Sequence[Any] = ()) -> Any:
        return self._require_reader().read_arrow(sql, params)

    def add_keys(self, table: str, keys: Collection[tuple[Any, ...]], *, writes: bool) -> None: ...

    def add_table(self, table: str, *, writes: bool) -> None: ...

    def add_appends(self, table: str) -> None: ...

    def _require_reader(self) -> Reader:
        assert self._reader is not None
        return self._reader


class RowOperation(msgspec.Struct, frozen=True, tag=True):
    """One method call on a table of a dataset."""

    @property
    def writes(self) -> bool:
        return True

    @property
    def access(self) -> AccessKind:
        """What it does with the data of the dataset."""
        return AccessKind.WRITE

    def check(self, table: TableInfo) -> None:
        """Check the arguments.

        :raises BadRequestError: when they do not fit the table.
        """

    def perform(self, table: TableInfo, pending: PendingRows, work: RowWork) -> Result:
        """Execute the operation, whose arguments were checked, in a transaction."""
        raise NotImplementedError

    def convert(self, convert: Convert) -> RowOperation:
        """Return the operation with all values converted."""
        return self


class _Reading(RowOperation, frozen=True):
    @property
    def writes(self) -> bool:
        return False

    @property
    def access(self) -> AccessKind:
        return AccessKind.READ


class _Changing(RowOperation, frozen=True):
    @property
    def access(self) -> AccessKind:
        return AccessKind.READ_WRITE


class ReadRow(_Reading, frozen=True, tag=True):
    key: Any

    def check(self, table: TableInfo) -> None:
        table.check_key(self.key)

    def perform(self, table: TableInfo, pending: PendingRows, work: RowWork) -> Rows:
        work.add_keys(table.ref.id, [(self.key,)], writes=False)
        found = pending.read(work, self.key)
        return Rows(table.columns, [] if found is None else [found])

    def convert(self, convert: Convert) -> RowOperation:
        return msgspec.structs.replace(self, key=convert(KEY, self.key))


class SelectRows(_Reading, frozen=True, tag=True):
    conditions: list[RowCondition] = []
    order_by: list[str] = []
    descending: bool = False
    limit: int | None = None

    def check(self, table: TableInfo) -> None:
        table.check_conditions(self.conditions)
        for column in self.order_by:
            table.check_conditions([RowCondition(column, RowComparison.LESS, None)])
        if self.limit is not None and self.limit < 0:
            raise BadRequestError(f"The limit of rows must be 0 or more, not {self.limit}.")

    def perform(self, table: TableInfo, pending: PendingRows, work: RowWork) -> Rows:
        _note_read(table, work, self.conditions)
        limit = None if self.limit is None else min(self.limit, 2**63 - 1)
        found = pending.select(work, self.conditions, self.order_by, self.descending, limit)
        return Rows(table.columns, found)

    def convert(self, convert: Convert) -> RowOperation:
        return msgspec.structs.replace(self, conditions=_convert(self.conditions, convert))


class CountRows(_Reading, frozen=True, tag=True):
    conditions: list[RowCondition] = []

    def check(self, table: TableInfo) -> None:
        table.check_conditions(self.conditions)

    def perform(self, table: TableInfo, pending: PendingRows, work: RowWork) -> int:
        _note_read(table, work, self.conditions)
        return pending.count(work, self.conditions)

    def convert(self, convert: Convert) -> RowOperation:
        return msgspec.structs.replace(self, conditions=_convert(self.conditions, convert))


class WriteRows(RowOperation, frozen=True, tag=True):
    rows: list[dict[str, Any]]

    def check(self, table: TableInfo) -> None:
        for row in self.rows:
            table.complete(row)

    def perform(self, table: TableInfo, pending: PendingRows, work: RowWork) -> None:
        if table.key is None:
            work.add_appends(table.ref.id)
        else:
            keys = [(row[table.key],) for row in self.rows]
            work.add_keys(table.ref.id, keys, writes=True)
        pending.write([table.complete(row) for row in self.rows])

    def convert(self, convert: Convert) -> RowOperation:
        rows = [{name: convert(name, value) for name, value in row.items()} for row in self.rows]
        return WriteRows(rows)


class UpdateRow(RowOperation, frozen=True, tag=True):
    key: Any
    values: dict[str, Any]

    def check(self, table: TableInfo) -> None:
        table.check_key(self.key)
        for column, value in self.values.items():
            table.check_value(column, value)
        if table.key in self.values:
            raise BadRequestError(f"The key '{table.key}' of a row cannot be changed.")

    def perform(self, table: TableInfo, pending: PendingRows, work: RowWork) -> None:
        row = _read_for_change(table, pending, work, self.key)
        pending.write([table.complete({**row, **self.values})])

    def convert(self, convert: Convert) -> RowOperation:
        values = {name: convert(name, value) for name, value in self.values.items()}
        return UpdateRow(convert(KEY, self.key), values)


class DeleteRows(RowOperation, frozen=True, tag=True):
    conditions: list[RowCondition] = []

    def check(self, table: TableInfo) -> None:
        table.check_conditions(self.conditions)

    def perform(self, table: TableInfo, pending: PendingRows, work: RowWork) -> int:
        keys = find_keys(table, self.conditions)
        if keys is None:
            work.add_table(table.ref.id, writes=True)
        else:
            work.add_keys(table.ref.id, [(key,) for key in keys], writes=True)
        number = pending.count(work, self.conditions)
        if number:
            pending.remove(self.conditions, keys if len(self.conditions) == 1 else None)
        return number

    def convert(self, convert: Convert) -> RowOperation:
        return DeleteRows(_convert(self.conditions, convert))


class IncrementRow(_Changing, frozen=True, tag=True):
    key: Any
    amounts: dict[str, int]

    def check(self, table: TableInfo) -> None:
        table.check_key(self.key)
        for column, amount in self.amounts.items():
            schema = table.check_column(column).non_nullable
            if schema.type not in _BITS or schema.logical_type is not None or column == table.key:
                raise BadRequestError(
                    f"Column '{column}' of table '{table.ref.table}' cannot be incremented: it must be of "
                    f"type int or long, and not the key; it is {schema.display_name}."
                )
            if not isinstance(amount, int) or isinstance(amount, bool):
                raise BadRequestError(f"Column '{column}' cannot be incremented by {amount!r}.")

    def perform(self, table: TableInfo, pending: PendingRows, work: RowWork) -> Rows:
        row = _read_for_change(table, pending, work, self.key)
        for column, amount in self.amounts.items():
            total = (row.get(column) or 0) + amount
            bits = _BITS[table.check_column(column).non_nullable.type]
            if not -(2**bits) <= total < 2**bits:
                raise BadRequestError(
                    f"Column '{column}' of table '{table.ref.table}' cannot be incremented by {amount}: the "
                    f"sum has more than {bits + 1} bits."
                )
            row[column] = total
        whole = table.complete(row)
        pending.write([whole])
        return Rows(table.columns, [whole])

    def convert(self, convert: Convert) -> RowOperation:
        return IncrementRow(convert(KEY, self.key), self.amounts)


class SwapValue(_Changing, frozen=True, tag=True):
    key: Any
    column: str
    old: Any
    new: Any

    def check(self, table: TableInfo) -> None:
        table.check_key(self.key)
        for value in (self.old, self.new):
            table.check_value(self.column, value)
        if self.column == table.key:
            raise BadRequestError(f"The key '{table.key}' of a row cannot be changed.")

    def perform(self, table: TableInfo, pending: PendingRows, work: RowWork) -> bool:
        row = _read_for_change(table, pending, work, self.key)
        if row.get(self.column) != self.old:
            return False
        pending.write([table.complete({**row, self.column: self.new})])
        return True

    def convert(self, convert: Convert) -> RowOperation:
        return SwapValue(
            convert(KEY, self.key),
            self.column,
            convert(self.column, self.old),
            convert(self.column, self.new),
        )


AnyRowOperation = (
    ReadRow | SelectRows | CountRows | WriteRows | UpdateRow | DeleteRows | IncrementRow | SwapValue
)
"""The union of all operations, which :mod:`msgspec` needs to decode one."""


def _note_read(table: TableInfo, work: RowWork, conditions: Sequence[RowCondition]) -> None:
    keys = find_keys(table, conditions)
    if keys is None:
        work.add_table(table.ref.id, writes=False)
    else:
        work.add_keys(table.ref.id, [(key,) for key in keys], writes=False)


def _read_for_change(
    table: TableInfo, pending: PendingRows, work: RowWork, key: Any
) -> dict[str, Any]:
    """Return the row with a key; without one, a row that has only the key."""
    work.add_keys(table.ref.id, [(key,)], writes=True)
    found = pending.read(work, key)
    return {table.require_key(): key} if found is None else table.to_record(found)


def _convert(conditions: Sequence[RowCondition], convert: Convert) -> list[RowCondition]:
    return [
        msgspec.structs.replace(
            each,
            value=[convert(each.column, value) for value in each.value]
            if each.comparison is RowComparison.ONE_OF
            else convert(each.column, each.value),
        )
        for each in conditions
    ]
