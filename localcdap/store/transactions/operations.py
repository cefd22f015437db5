"""The operations on the rows of structured tables and of datasets, as values that can be sent.

An operation is first checked against its table (:meth:`Operation.prepare`). That needs no database and
raises what is wrong with the arguments. The action that it returns is then executed in a transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from localcdap.api.app.table import Key
from localcdap.api.dataset.access import AccessKind
from localcdap.store.transactions.pending_rows import PendingRows, RowBatch, StoredRows
from localcdap.store.transactions.selections import (
    Convert,
    RowSelection,
    convert_key,
    to_comparable,
)
from localcdap.store.transactions.table import KeyValues, OpenedTable

ALL_ROWS = RowSelection()


class Rows(msgspec.Struct, array_like=True):
    """Rows that were read."""

    columns: tuple[str, ...]
    values: list[Any]
    """The rows: for each a sequence with one value per column, a tuple, or a list after decoding."""
    rest: int | None = None
    """The number under which the host keeps further rows; None when ``values`` holds all rows."""


Result = Rows | bool | int | None


TableRows = StoredRows | PendingRows
"""The rows of a structured table, which change at once, or of a dataset, which change at the commit."""
Action = Callable[[TableRows], Result]


class Operation(msgspec.Struct, frozen=True, tag=True):
    """One method call on a table."""

    access: ClassVar[AccessKind] = AccessKind.WRITE
    """What it does with the rows."""
    adds: ClassVar[bool] = False
    """Whether it can add a row."""

    @property
    def writes(self) -> bool:
        return self.access is not AccessKind.READ

    def prepare(self, table: OpenedTable) -> Action:
        """Check the operation, and return the action that executes it.

        :raises BadRequestError: when the operation does not fit the table.
        """
        raise NotImplementedError

    def convert(self, table: OpenedTable, convert: Convert) -> Operation:
        """Return the operation with all values of columns converted."""
        return self


class _Selecting(Operation, frozen=True):
    """An operation on selected rows."""

    selection: RowSelection = ALL_ROWS

    def convert(self, table: OpenedTable, convert: Convert) -> Operation:
        return msgspec.structs.replace(self, selection=self.selection.convert(table, convert))


class Read(_Selecting, frozen=True, tag=True):
    """Returns rows. Those of a structured table come in the order of ``order_by``, then of the key."""

    access = AccessKind.READ
    columns: list[str] | None = None
    """The columns to read besides the key; None: all."""
    order_by: list[str] = []
    descending: bool = False
    limit: int | None = None

    def prepare(self, table: OpenedTable) -> Action:
        limit = table.check_limit(self.limit)
        selection = self.selection.check(table)
        columns = table.check_columns(self.columns)
        for column in self.order_by:
            table.check_order(column)

        def read(rows: TableRows) -> Rows:
            _note(rows, selection.keys, writes=False)
            values = rows.read(selection, columns, self.order_by, self.descending, limit)
            return Rows(columns, values)

        return read


class Count(_Selecting, frozen=True, tag=True):
    """Returns the number of rows."""

    access = AccessKind.READ

    def prepare(self, table: OpenedTable) -> Action:
        selection = self.selection.check(table)

        def count(rows: TableRows) -> int:
            _note(rows, selection.keys, writes=False)
            return rows.count(selection)

        return count


class Write(Operation, frozen=True, tag=True):
    """Adds rows, or changes those with the same keys."""

    adds = True
    rows: list[dict[str, Any]]
    replaces: bool = False
    """Whether columns that a row lacks become null; otherwise they keep their values."""

    def prepare(self, table: OpenedTable) -> Action:
        batch = RowBatch(table, table.check_rows(self.rows, whole=self.replaces))

        def write(rows: TableRows) -> None:
            if table.key:
                _note(rows, batch.keys, writes=True)
            elif rows.watch is not None:
                rows.watch.add_appends(table.id)
            rows.write(batch)

        return write

    def convert(self, table: OpenedTable, convert: Convert) -> Operation:
        return Write([_convert_values(row, convert) for row in self.rows], self.replaces)


class Update(_Selecting, frozen=True, tag=True):
    """Sets columns of rows that exist."""

    values: dict[str, Any] = {}

    def prepare(self, table: OpenedTable) -> Action:
        table.check_not_key(self.values)
        values = {name: table.check_value(name, value) for name, value in self.values.items()}
        selection = self.selection.check(table)

        def update(rows: TableRows) -> None:
            _note(rows, selection.keys, writes=True)
            if values:
                rows.update(selection, values)

        return update

    def convert(self, table: OpenedTable, convert: Convert) -> Operation:
        selection = self.selection.convert(table, convert)
        return Update(selection, _convert_values(self.values, convert))


class Delete(_Selecting, frozen=True, tag=True):
    """Removes rows, and returns their number."""

    def prepare(self, table: OpenedTable) -> Action:
        selection = self.selection.check(table)

        def delete(rows: TableRows) -> int:
            _note(rows, selection.keys, writes=True)
            return rows.delete(selection)

        return delete


class _Changing(Operation, frozen=True):
    """Reads the row with a key, and writes it, which adds the row if there is none."""

    access = AccessKind.READ_WRITE
    adds = True
    key: Key


class Increment(_Changing, frozen=True, tag=True):
    """Adds to columns, and returns the new row; a missing value counts as 0."""

    amounts: dict[str, int]

    def prepare(self, table: OpenedTable) -> Action:
        key = table.check_key(self.key)
        bits = {column: table.check_number(column) for column in self.amounts}
        for column, amount in self.amounts.items():
            is_int = isinstance(amount, int) and not isinstance(amount, bool)
            if not is_int or not -(2**63) <= amount < 2**63:
                raise table.make_error(
                    f"Column '{column}' cannot be incremented by {amount!r}.", columns=[column]
                )

        def increment(rows: TableRows) -> Rows:
            row = _read_for_change(rows, key)
            sums = {name: (row[name] or 0) + amount for name, amount in self.amounts.items()}
            for name, total in sums.items():
                if not -(2 ** (bits[name] - 1)) <= total < 2 ** (bits[name] - 1):
                    raise table.make_error(
                        f"Column '{name}' of table '{table.ref.table}' cannot be incremented by "
                        f"{self.amounts[name]}: the sum has more than {bits[name]} bits.",
                        columns=[name],
                    )
            _write_change(rows, key, sums)
            return Rows(table.columns, [tuple({**row, **sums}.values())])

        return increment

    def convert(self, table: OpenedTable, convert: Convert) -> Operation:
        return Increment(convert_key(table, self.key, convert), self.amounts)


class CompareAndSwap(_Changing, frozen=True, tag=True):
    """Sets a column if it has a value, and returns whether it had; a missing row has null everywhere."""

    column: str
    old: Any
    new: Any

    def prepare(self, table: OpenedTable) -> Action:
        key = table.check_key(self.key)
        table.check_not_key([self.column])
        old, new = (table.check_value(self.column, value) for value in (self.old, self.new))

        def swap(rows: TableRows) -> bool:
            row = _read_for_change(rows, key)
            if to_comparable(row[self.column]) != to_comparable(old):
                return False
            _write_change(rows, key, {self.column: new})
            return True

        return swap

    def convert(self, table: OpenedTable, convert: Convert) -> Operation:
        old, new = (convert(self.column, value) for value in (self.old, self.new))
        return CompareAndSwap(convert_key(table, self.key, convert), self.column, old, new)


AnyOperation = Read | Count | Write | Update | Delete | Increment | CompareAndSwap
"""The union of all operations, which :mod:`msgspec` needs to decode one."""


def _note(rows: TableRows, keys: list[KeyValues] | None, *, writes: bool) -> None:
    """Note the rows that an operation uses, for the detection of conflicts."""
    if rows.watch is None:
        return
    if keys is None:
        rows.watch.add_table(rows.table.id, writes=writes)
    else:
        rows.watch.add_keys(rows.table.id, keys, writes=writes)


def _read_for_change(rows: TableRows, key: KeyValues) -> dict[str, Any]:
    """Return the row with a key; without one, a row that has only the key."""
    _note(rows, [key], writes=True)
    table = rows.table
    found = rows.read(RowSelection(keys=[key]).check(table), table.columns)
    if found:
        return dict(zip(table.columns, found[0], strict=True))
    return {**dict.fromkeys(table.columns), **dict(zip(table.key, key, strict=True))}


def _write_change(rows: TableRows, key: KeyValues, values: dict[str, Any]) -> None:
    table = rows.table
    rows.write(RowBatch(table, [{**dict(zip(table.key, key, strict=True)), **values}]))


def _convert_values(row: dict[str, Any], convert: Convert) -> dict[str, Any]:
    return {name: convert(name, value) for name, value in row.items()}
