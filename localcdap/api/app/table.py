"""A structured table inside a transaction, and the ranges of its rows."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from localcdap.api.errors import InvalidTableFieldError, TableUsageError, TransactionError
from localcdap.api.serialization.value_types import is_unicode

_LARGEST_FLOAT: Final = 3.4028234663852886e38


class FieldType(StrEnum):
    """The type of a field; a field that is not part of the primary key may also be None."""

    INTEGER = "INTEGER"
    """``int`` of 32 bits."""
    LONG = "LONG"
    """``int`` of 64 bits."""
    FLOAT = "FLOAT"
    """``float`` of 32 bits, to which written values are rounded."""
    DOUBLE = "DOUBLE"
    """``float``."""
    STRING = "STRING"
    """``str``, ordered by code points, which is also the order of UTF-8 bytes."""
    BYTES = "BYTES"
    """``bytes``."""
    BOOLEAN = "BOOLEAN"
    """``bool``, which is not an ``int`` here."""

    @classmethod
    def of(cls, value: Any) -> FieldType | None:
        """Return the narrowest type of a value; None when no field can hold it.

        An ``int`` is never a float: as in CDAP, 3 is rejected where 3.0 is expected.
        """
        match value:
            case bool():
                return cls.BOOLEAN
            case int():
                if -(2**31) <= value < 2**31:
                    return cls.INTEGER
                return cls.LONG if -(2**63) <= value < 2**63 else None
            case float():
                fits = not _LARGEST_FLOAT < abs(value) < float("inf")
                return cls.FLOAT if fits else cls.DOUBLE
            case str():
                return cls.STRING if is_unicode(value) else None
            case bytes():
                return cls.BYTES
            case _:
                return None

    def accepts(self, actual: FieldType | None) -> bool:
        """Return whether a field can hold all values of another type: LONG of INTEGER, DOUBLE of FLOAT.

        CDAP ``FieldType.Type.isCompatible``.
        """
        return actual is self or (self, actual) in _WIDENINGS


_WIDENINGS: Final = {
    (FieldType.LONG, FieldType.INTEGER),
    (FieldType.DOUBLE, FieldType.FLOAT),
}
KEY_TYPES: Final = (FieldType.INTEGER, FieldType.LONG, FieldType.STRING)
"""The types of fields in a primary key."""
INDEX_TYPES: Final = (*KEY_TYPES, FieldType.BOOLEAN)
"""The types of indexed fields."""


_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
_RULE: Final = "Only alphanumeric and _ characters allowed, and should begin with an alphabet"


class StructuredTableSpecification(msgspec.Struct, frozen=True):
    """The name, fields, primary key and indexes of a table.

    The rules and their order are those of CDAP's ``StructuredTableSpecification.Builder``. Beyond them,
    field names must differ in more than case.

    :raises TableUsageError: when a name is invalid, or there is no field or no key.
    :raises InvalidTableFieldError: when a field of the key or an index does not exist or has an unsupported
        type.
    """

    table: str
    """The id of the table, which is ``app_<table>`` in DuckDB."""
    fields: Mapping[str, FieldType]
    primary_key: Sequence[str]
    """Fields of type INTEGER, LONG or STRING, in the order by which rows are sorted."""
    indexes: Collection[str] = ()
    """Fields for filters and sorting, of the types of keys or BOOLEAN."""

    def __post_init__(self) -> None:
        # Specifications that differ only in the types of collections must be equal.
        msgspec.structs.force_setattr(self, "fields", dict(self.fields))
        msgspec.structs.force_setattr(self, "primary_key", tuple(self.primary_key))
        msgspec.structs.force_setattr(self, "indexes", tuple(sorted(set(self.indexes))))
        self._check_names()
        self._check_keys()
        self._check_indexes()

    def _check_names(self) -> None:
        if not self.table:
            raise TableUsageError("StructuredTableId cannot be empty")
        if not _NAME.fullmatch(self.table):
            raise TableUsageError(f"Invalid table name {self.table}. {_RULE}")
        if not self.fields:
            raise TableUsageError(f"No fieldTypes specified for the table {self.table}")
        if not self.primary_key:
            raise TableUsageError(f"No primary keys specified for the table {self.table}")
        seen: dict[str, str] = {}
        for name in self.fields:
            if not _NAME.fullmatch(name):
                raise TableUsageError(f"Invalid field name {name}. {_RULE}")
            other = seen.setdefault(name.lower(), name)
            if other != name:
                raise TableUsageError(
                    f"Fields {other} and {name} of table {self.table} differ only in case, which the "
                    "database does not distinguish"
                )

    def _check_keys(self) -> None:
        for name in self.primary_key:
            if name not in self.fields:
                raise InvalidTableFieldError(
                    f"Field {name} is not part of the schema of table {self.table}",
                    table=self.table,
                    fields=[name],
                )
            if self.fields[name] not in KEY_TYPES:
                raise InvalidTableFieldError(
                    f"Field {name} of table {self.table} has wrong type for a primary key. "
                    f"Valid types are: {', '.join(KEY_TYPES)}",
                    table=self.table,
                    fields=[name],
                )
        if len(set(self.primary_key)) < len(self.primary_key):
            raise TableUsageError(f"A primary key of table {self.table} is named twice")

    def _check_indexes(self) -> None:
        for name in self.indexes:
            if name not in self.fields:
                raise InvalidTableFieldError(
                    f"Field {name} of table {self.table} is not defined as an index column",
                    table=self.table,
                    fields=[name],
                )
            if self.fields[name] not in INDEX_TYPES:
                raise InvalidTableFieldError(
                    f"Field {name} of table {self.table} has wrong type for an index column. "
                    f"Valid types are: {', '.join(INDEX_TYPES)}",
                    table=self.table,
                    fields=[name],
                )


if TYPE_CHECKING:

    class _Mapping(Mapping[str, Any]):
        def __init__(self, values: Sequence[Any], /) -> None: ...

else:

    class _Mapping(msgspec.Struct, eq=False, gc=False):
        """A Mapping that msgspec creates in C, because a large scan creates many rows.

        Inheriting from both classes would lose that speed, since a Struct has another metaclass.
        """

        keys = Mapping.keys
        items = Mapping.items
        values = Mapping.values
        __eq__ = Mapping.__eq__
        __hash__ = None

    Mapping.register(_Mapping)


class StructuredRow(_Mapping):
    """A row: a read-only mapping from the fields that were read to their values.

    It stays valid after its transaction. ``dict(row)`` is a record that can be changed and upserted.
    """

    _values: Sequence[Any]
    _indexes: ClassVar[Mapping[str, int]] = {}
    _key: ClassVar[tuple[int, ...]] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """The values of the primary key, in order."""
        return tuple(self._values[index] for index in self._key)

    def __getitem__(self, field: str) -> Any:
        """Return the value of a field.

        :raises InvalidTableFieldError: when the field was not read or does not exist.
        """
        try:
            return self._values[self._indexes[field]]
        except KeyError:
            raise InvalidTableFieldError(
                f"Field {field} is not in this row. It has: {', '.join(self._indexes)}.",
                fields=[field],
            ) from None

    def __contains__(self, field: object) -> bool:
        return field in self._indexes

    def get(self, field: str, default: Any = None) -> Any:
        """Return the value of a field, or ``default`` when the row does not have it; a null is None."""
        index = self._indexes.get(field)
        return default if index is None else self._values[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._indexes)

    def __len__(self) -> int:
        return len(self._indexes)

    def __repr__(self) -> str:
        return f"StructuredRow({dict(self)})"


@lru_cache(maxsize=256)
def create_row_class(columns: tuple[str, ...], primary_key: tuple[str, ...]) -> type[StructuredRow]:
    """Return the class of rows with these fields, for implementations of tables."""
    indexes = {name: index for index, name in enumerate(columns)}
    members = {"_indexes": indexes, "_key": tuple(indexes[name] for name in primary_key)}
    return new_class(
        "StructuredRow", (StructuredRow,), exec_body=lambda names: names.update(members)
    )


class StructuredRows(Iterator[StructuredRow]):
    """An iterator over the rows that existed when a scan was called.

    It can be closed, also as a context manager, and cannot be used outside of its transaction.
    """

    def __init__(self, row: type[StructuredRow], values: list[Sequence[Any]]) -> None:
        """Create the iterator; the table closes it at the end of the transaction.

        :param values: the values of the rows, cleared on closing.
        """
        self._row = row
        self._values = values
        self._remaining = iter(values)
        self._is_closed = False

    def __iter__(self) -> Iterator[StructuredRow]:
        # Chained C iterators: Python code per row would take longer than the database in a large scan.
        return chain(map(self._row, self._remaining), self._check_end())

    def __next__(self) -> StructuredRow:
        """Return the next row.

        :raises TransactionError: when the iterator is closed, or its transaction is over.
        """
        for values in self._remaining:
            return self._row(values)
        self._require_open()
        raise StopIteration

    def close(self) -> None:
        """Release the remaining rows."""
        self._is_closed = True
        self._values.clear()

    def _check_end(self) -> Iterator[StructuredRow]:
        """Yield nothing; raise when there are no more rows because the iterator was closed."""
        self._require_open()
        yield from ()

    def _require_open(self) -> None:
        if self._is_closed:
            raise TransactionError(
                "These rows were closed, or their transaction is over.",
                "Read them inside the transaction, or scan again.",
            )

    def __enter__(self) -> StructuredRows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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


class FieldCondition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition on one field, which need not be indexed. A null meets none but ``is_null=True``."""

    field: str
    values: list[Any] | None = None
    """The field has one of these values."""
    excluded: list[Any] | None = None
    """The field has none of these values."""
    minimum: Any = None
    """The least value, inclusive; None: no limit."""
    maximum: Any = None
    """The value that all values are below; None: no limit."""
    is_null: bool | None = None
    """Whether the field is null; None: see the others."""


class Grouping(msgspec.Struct, frozen=True):
    """Numbers of rows, and sums of fields, by the values of fields."""

    by: list[str] = []
    """The fields; empty: one group of all rows."""
    measured: list[str] = []
    """Fields of numbers, of which the least, the largest and the average value are wanted."""


class Measure(msgspec.Struct, frozen=True):
    """What is known of the values of a field in a group; all are None when the field is null in all rows."""

    minimum: int | float | None
    maximum: int | float | None
    average: float | None


class RowGroup(msgspec.Struct, frozen=True):
    """A group of rows."""

    values: list[Any]
    """The values of the fields that make the group."""
    count: int
    measures: dict[str, Measure] = {}


class ExportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The rows and the fields of a table that are wanted, in one state of the database."""

    table: str
    columns: list[str]
    where: list[list[FieldCondition]] = []
    """A row must meet at least one condition of each list."""
    order_by: str | None = None
    """A field, nulls last; rows with equal values are in the order of the key."""
    order: SortOrder = SortOrder.ASC
    groupings: list[Grouping] = []


class ExportedRows(msgspec.Struct, frozen=True):
    """What was exported."""

    count: int
    groups: list[list[RowGroup]]
    """The groups of each grouping, ordered by their values."""
