"""A structured table inside a transaction, and the ranges of its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from localcdap.api.app.rows import StructuredRow, StructuredRows
from localcdap.api.app.specification import StructuredTableSpecification

Key = Sequence[Any] | Mapping[str, Any]
"""Values of key fields: a tuple in the order of the primary key, or a dict in that order."""


class Bound(StrEnum):
    """Whether a range includes rows that equal its end point."""

    INCLUSIVE = "INCLUSIVE"
    EXCLUSIVE = "EXCLUSIVE"


class Range(msgspec.Struct, frozen=True):
    """The rows between two points; without ``begin`` from the first row, without ``end`` to the last.

    A point is a tuple of the first values of the primary key, or a dict of any fields with their values.
    Rows are compared with it as tuples of these fields, in this order. So an exclusive begin ``(5,)``
    excludes all rows whose first key is 5, and an inclusive end ``(5,)`` includes them. A null is in no
    range of its field. As in Python, the end is exclusive by default.

    >>> Range((1, 8), (3, 3), end_bound=Bound.INCLUSIVE).begin
    (1, 8)
    >>> Range.all()
    Range(begin=(), end=(), begin_bound=<Bound.INCLUSIVE: 'INCLUSIVE'>, \
end_bound=<Bound.EXCLUSIVE: 'EXCLUSIVE'>)
    """

    begin: Key = ()
    end: Key = ()
    begin_bound: Bound = Bound.INCLUSIVE
    end_bound: Bound = Bound.EXCLUSIVE

    @classmethod
    def all(cls) -> Range:
        """Return the range of all rows."""
        return cls()

    @classmethod
    def singleton(cls, key: Key) -> Range:
        """Return the range of the rows with these values: one row for a full key."""
        return cls(key, key, Bound.INCLUSIVE, Bound.INCLUSIVE)


RowValues = Mapping[str, Any]
"""Values by field."""
Filter = tuple[str, Any]
"""An indexed field and its required value; None for null."""
_ALL = (Range.all(),)


class SortOrder(StrEnum):
    """The direction of a sorted scan."""

    ASC = "ASC"
    DESC = "DESC"


class QueryOption(StrEnum):
    """Hints for distributed databases, which never change a result; DuckDB ignores them."""

    STALE_READ = "STALE_READ"
    PARTITIONED_UPDATE = "PARTITIONED_UPDATE"
    PREFER_UNION_FOR_DISJUNCTION = "PREFER_UNION_FOR_DISJUNCTION"


class StructuredTable(ABC):
    """A table of rows, identified and ordered by their primary key.

    Every method first checks its arguments; a transaction can continue after a rejected call. All methods
    raise InvalidTableFieldError for an unknown field, a value that does not fit its field, or a key that is
    incomplete, in another order, or null; TransactionError outside of their transaction;
    TransactionTimeoutError when its time is over; TransactionConflictError on a conflict with another
    transaction, after which the runner retries.
    """

    @property
    @abstractmethod
    def specification(self) -> StructuredTableSpecification:
        """The specification of the table."""

    @abstractmethod
    def upsert(self, record: RowValues) -> None:
        """Insert a row, or update the fields of the existing row that the record has.

        :param record: the whole primary key and any other fields.
        """

    @abstractmethod
    def upsert_all(self, records: Iterable[RowValues]) -> None:
        """Upsert records in order, about fifty times as fast as single calls of :meth:`upsert`."""

    @abstractmethod
    def update(self, record: RowValues) -> None:
        """Update the fields of a row that the record has; nothing happens when there is no such row."""

    @abstractmethod
    def read(self, key: Key, columns: Collection[str] | None = None) -> StructuredRow | None:
        """Return the row with this key; None when there is none.

        :param columns: the fields to read besides the key; all by default.
        :raises InvalidTableFieldError: also when ``columns`` is empty.
        """

    @abstractmethod
    def multi_read(self, keys: Iterable[Key]) -> list[StructuredRow]:
        """Return the existing rows with these keys, in no particular order."""

    @abstractmethod
    def scan(
        self,
        range: Range = _ALL[0],
        *,
        limit: int | None = None,
        filters: Collection[Filter] = (),
        order_by: str | None = None,
        order: SortOrder = SortOrder.ASC,
        options: Collection[QueryOption] = (),
    ) -> StructuredRows:
        """Return the rows of a range, in the order of the primary key.

        :param range: a range of named fields must begin with the first field of the key.
        :param limit: the most rows to return; None for all.
        :param filters: indexed fields with values; a row must match at least one.
        :param order_by: an indexed field to sort by instead; rows with equal values are in the order of the
            key.
        :param order: the direction of all sorted fields.
        :raises InvalidTableFieldError: also when ``filters`` or ``order_by`` names no index.
        :raises TableUsageError: when the limit is negative.
        """

    @abstractmethod
    def multi_scan(self, ranges: Iterable[Range], *, limit: int | None = None) -> StructuredRows:
        """Return the rows that are in any of the ranges, each once, in the order of the primary key."""

    @abstractmethod
    def compare_and_swap(self, key: Key, column: str, old: Any, new: Any) -> bool:
        """Set a field to ``new`` if it is ``old``, and return whether it was.

        :param old: None matches a null and a row that does not exist, which is then inserted.
        :raises TableUsageError: when the field is part of the key.
        """

    @abstractmethod
    def increment(self, key: Key, column: str, amount: int) -> None:
        """Add to a LONG field. A null counts as 0, and a row that does not exist is inserted.

        :raises TableUsageError: when the field is not a LONG, or part of the key, or the sum exceeds 64 bits.
        """

    @abstractmethod
    def delete(self, key: Key) -> None:
        """Delete a row; nothing happens when there is none."""

    @abstractmethod
    def delete_all(self, range: Range, *, options: Collection[QueryOption] = ()) -> None:
        """Delete the rows of a range, which must be of the first fields of the key."""

    @abstractmethod
    def scan_delete_all(self, range: Range) -> None:
        """Delete the rows of a range of any fields."""

    @abstractmethod
    def update_all(self, range: Range, values: RowValues) -> None:
        """Set fields of the rows of a range, which must be of the first fields of the key.

        :param values: the values by field; without fields of the key.
        """

    @abstractmethod
    def count(
        self,
        ranges: Sequence[Range] = _ALL,
        *,
        filters: Collection[Filter] = (),
        options: Collection[QueryOption] = (),
    ) -> int:
        """Return the number of rows in any of the ranges that match any of the filters, if there are any."""
