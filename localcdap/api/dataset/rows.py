"""The rows of a dataset's table, inside a transaction: what dataset classes build their methods on."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from localcdap.api.schema import Schema

Row = Mapping[str, Any]
"""The values of a row by column, which have the types of the values of records. A row that was read cannot be
changed; ``dict(row)`` is a copy that can."""


class RowComparison(enum.StrEnum):
    """How the value of a column is compared. A null matches none of these."""

    EQUAL = "="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    ONE_OF = "in"


class RowCondition(msgspec.Struct, frozen=True):
    """A condition on one column. Text and bytes are ordered by code points and byte values."""

    column: str
    comparison: RowComparison
    value: Any
    """A value of the column's type; a list of them for :attr:`RowComparison.ONE_OF`."""


def equal(column: str, value: Any) -> RowCondition:
    """Return the condition that a column has a value."""
    return RowCondition(column, RowComparison.EQUAL, value)


def one_of(column: str, values: Iterable[Any]) -> RowCondition:
    """Return the condition that a column has one of some values."""
    return RowCondition(column, RowComparison.ONE_OF, list(values))


def between(column: str, start: Any = None, end: Any = None) -> list[RowCondition]:
    """Return the conditions that a column is at least ``start`` and less than ``end``; None: no limit."""
    limits = ((RowComparison.AT_LEAST, start), (RowComparison.LESS, end))
    return [
        RowCondition(column, comparison, value) for comparison, value in limits if value is not None
    ]


class RowTable(Protocol):
    """One table of a dataset in a transaction. It cannot be used after the transaction.

    Changes are visible in the transaction at once, and to others when it has committed. Arguments are checked
    before anything happens. All methods raise BadRequestError for an unknown column or a value of another
    type than the column's, TransactionError outside of a transaction or for a change in a read-only one,
    UnauthorizedError when the principal may not read or write the dataset, and TransactionConflictError when
    another transaction has changed the same rows, after which the transaction is tried again.
    """

    schema: Schema
    """The schema of the rows."""
    key: str | None
    """The column that identifies a row; None for a table to which rows are only added."""

    def read(self, key: Any) -> Row | None:
        """Return the row with a key; None when there is none."""

    def select(
        self,
        conditions: Sequence[RowCondition] = (),
        *,
        order_by: Sequence[str] = (),
        descending: bool = False,
        limit: int | None = None,
    ) -> list[Row]:
        """Return the rows that fulfil all conditions.

        :param order_by: columns; nulls come last.
        :param limit: the most rows.
        """

    def select_values(
        self,
        columns: Sequence[str],
        conditions: Sequence[RowCondition] = (),
        *,
        order_by: Sequence[str] = (),
    ) -> list[tuple[Any, ...]]:
        """Return the values of some columns, two at least, of the rows that :meth:`select` returns.

        They take a third of the time of rows.
        """

    def count(self, conditions: Sequence[RowCondition] = ()) -> int:
        """Return the number of rows that fulfil all conditions."""

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows; in a table with a key they replace the rows with the same keys.

        Columns that a row lacks are null.
        """

    def update(self, key: Any, values: Mapping[str, Any]) -> None:
        """Change some columns of the row with a key, which is added when there is none."""

    def delete(self, conditions: Sequence[RowCondition]) -> int:
        """Remove the rows that fulfil all conditions, and return their number; without conditions, all."""

    def increment(self, key: Any, amounts: Mapping[str, int]) -> Row:
        """Add to columns of type int or long of the row with a key, and return the new row.

        A missing row is added; a missing value counts as 0.

        :raises BadRequestError: also when a sum does not fit the column.
        """

    def compare_and_swap(self, key: Any, column: str, old: Any, new: Any) -> bool:
        """Set a column of the row with a key if it has the value ``old``; return whether it had.

        A row that does not exist has null in all columns.
        """
