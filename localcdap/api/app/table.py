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
"""Values of key fields: a tuple in the order of the primary key, or a dict that names them in that order."""


class Bound(StrEnum):
    """Whether a row that equals an end of a range is in it."""

    INCLUSIVE = "INCLUSIVE"
    EXCLUSIVE = "EXCLUSIVE"


class Range(msgspec.Struct, frozen=True):
    """The rows between two points; without ``begin`` from the first row on, without ``end`` up to the last.

    A point is a tuple of the first values of the primary key, or a dict of any fields with their values.
    Rows compare with it as tuples of just these fields, in the order given. So an exclusive begin
    ``(5,)`` leaves out every row whose first key is 5, and an inclusive end ``(5,)`` takes them all in.
    Nulls are in no range that names their field. As in Python, the end is exclusive unless said otherwise.

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
        """Every row."""
        return cls()

    @classmethod
    def singleton(cls, key: Key) -> Range:
        """The rows whose fields have just these values: one row if it is a full key."""
        return cls(key, key, Bound.INCLUSIVE, Bound.INCLUSIVE)


Record = Mapping[str, Any]
"""Values by field."""
Filter = tuple[str, Any]
"""An index field and the value it shall have; None stands for null."""
_ALL = (Range.all(),)


class SortOrder(StrEnum):
    ASC = "ASC"
    DESC = "DESC"


class QueryOption(StrEnum):
    """Hints for databases of many machines. They never change a result; DuckDB needs none of them."""

    STALE_READ = "STALE_READ"
    PARTITIONED_UPDATE = "PARTITIONED_UPDATE"
    PREFER_UNION_FOR_DISJUNCTION = "PREFER_UNION_FOR_DISJUNCTION"


class StructuredTable(ABC):
    """Rows, told apart and ordered by their primary key.

    Every method checks its arguments before it does anything; a transaction in which one was refused can
    go on. All raise InvalidTableFieldError for a field that does not exist, a value that does not fit its
    field, or a key that is incomplete, in another order, or null; TransactionError outside their
    transaction; TransactionTimeoutError when its time is over; TransactionConflictError, which the runner
    answers with another try, when somebody else's transaction got in the way.
    """

    @property
    @abstractmethod
    def specification(self) -> StructuredTableSpecification:
        """What the table looks like."""

    @abstractmethod
    def upsert(self, record: Record) -> None:
        """Make a row, or change those fields of the existing one that the record names.

        :param record: the whole primary key and any other fields.
        """

    @abstractmethod
    def upsert_all(self, records: Iterable[Record]) -> None:
        """:meth:`upsert` each, in their order, but about fifty times as fast."""

    @abstractmethod
    def update(self, record: Record) -> None:
        """:meth:`upsert`, but only of a row that exists; else nothing happens."""

    @abstractmethod
    def read(self, key: Key, columns: Collection[str] | None = None) -> StructuredRow | None:
        """The row with this key; None when there is none.

        :param columns: fields to read beside the key; all by default.
        :raises InvalidTableFieldError: also when ``columns`` is empty.
        """

    @abstractmethod
    def multi_read(self, keys: Iterable[Key]) -> list[StructuredRow]:
        """The rows with these keys that exist, in no certain order."""

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
        """The rows of a range, in the order of the primary key.

        :param range: one that names fields must begin with the first field of the key.
        :param limit: at most so many rows; None for all.
        :param filters: index fields with values, at least one of which a row must have.
        :param order_by: an index to order by instead; rows with equal values are in the key's order.
        :param order: DESC turns each field of the order round.
        :raises InvalidTableFieldError: also when ``filters`` or ``order_by`` names no index.
        :raises TableUsageError: when the limit is negative.
        """

    @abstractmethod
    def multi_scan(self, ranges: Iterable[Range], *, limit: int | None = None) -> StructuredRows:
        """The rows that are in any of the ranges, each once, in the order of the primary key."""

    @abstractmethod
    def compare_and_swap(self, key: Key, column: str, old: Any, new: Any) -> bool:
        """Set a field to ``new`` if it is ``old``; returns whether it was.

        :param old: None matches a null, and a row that does not exist, which is then made.
        :raises TableUsageError: when the field is part of the key.
        """

    @abstractmethod
    def increment(self, key: Key, column: str, amount: int) -> None:
        """Add to a LONG field. A null counts as 0, and a row that does not exist is made.

        :raises TableUsageError: when the field is no LONG or part of the key, or the sum has over 64 bits.
        """

    @abstractmethod
    def delete(self, key: Key) -> None:
        """Remove a row; nothing happens when there is none."""

    @abstractmethod
    def delete_all(self, range: Range, *, options: Collection[QueryOption] = ()) -> None:
        """Remove the rows of a range, which must be of the first fields of the key."""

    @abstractmethod
    def scan_delete_all(self, range: Range) -> None:
        """Remove the rows of a range of any fields."""

    @abstractmethod
    def update_all(self, range: Range, values: Record) -> None:
        """Set fields of the rows of a range, which must be of the first fields of the key.

        :param values: not of the key.
        """

    @abstractmethod
    def count(
        self,
        ranges: Sequence[Range] = _ALL,
        *,
        filters: Collection[Filter] = (),
        options: Collection[QueryOption] = (),
    ) -> int:
        """How many rows are in any of the ranges and, if there are filters, pass one of them."""
