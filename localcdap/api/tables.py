"""Structured tables as plugins see them: their columns, lookups by key, and writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from localcdap.api.deprecation import build_getattr
from localcdap.api.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


from typing import Literal


class SortField(msgspec.Struct, frozen=True):
    """A field to sort by."""

    field: str
    descending: bool = False


class Partitioning(msgspec.Struct, frozen=True):
    """By what the rows of a table are parted (BigQuery). All are kept in one place here; readers heed it."""

    kind: Literal["time", "integer"] = "time"
    field: str | None = None
    """A column of the table; None for the time at which a row came in, which is not kept."""


class TableWrite(msgspec.Struct, frozen=True):
    """What becomes of the rows that are there, and of their columns (BigQuery sink of CDAP 6)."""

    operation: Literal["insert", "update", "upsert"] = "insert"
    """``insert`` adds rows; ``update`` changes those whose keys are equal; ``upsert`` does both."""
    keys: tuple[str, ...] = ()
    """The fields that tell rows apart, of an update or upsert. Null is equal to nothing."""
    dedupe_by: tuple[SortField, ...] = ()
    """Which of several written rows with equal keys counts: the first in this order."""
    truncate: bool = False
    """Whether the rows and columns that are there are removed first. Of an insert."""
    relaxes: bool = False
    """Whether the table may get new columns, and its columns may become nullable."""
    among: str | None = None
    """Which rows an update or upsert may match: a condition in the SQL of DuckDB on ``held``, a row of the
    table, and ``given``, one that is written; it computes with their columns only."""
    partitioning: Partitioning | None = None
    """Of a table that this makes; one that is there keeps its own, as long as it has the column."""


class TableLoading(msgspec.Struct, frozen=True):
    """Rows that are written into one of several tables."""

    name: str
    schema: Schema
    how: TableWrite = TableWrite()


class CreatedTable(msgspec.Struct, frozen=True):
    """A table that an SQL statement makes."""

    name: str
    partitioning: Partitioning | None
    only_missing: bool = False
    """Whether one that is there stays as it is."""


class TableResult(msgspec.Struct, frozen=True):
    """What SQL statements on tables did."""

    rows: int
    """Rows that the last statement found, or changed."""
    first: dict[str, Any] | None
    """The first row that the last query found, as Python values; None when there is none."""


KEY: Final = "key"
VALUE: Final = "value"
"""The columns of key-value tables."""


class TableShape(msgspec.Struct):
    """The columns of a structured table."""

    schema: Schema
    key: str | None = None
    """The column that tells rows apart; None where rows were appended."""
    partitioning: Partitioning | None = None

    @property
    def lookup_key(self) -> str | None:
        """The column by which rows are looked up; None when there is none.

        That is the table's key; of a table without one, the column ``key``, or the first of two columns.
        """
        names = self.schema.field_names
        if self.key is not None:
            return self.key
        if KEY in names:
            return KEY
        return names[0] if len(names) == 2 else None

    @property
    def found(self) -> Schema | None:
        """The schema of what a lookup gives: all columns but the key; None when there is no key."""
        key = self.lookup_key
        if key is None:
            return None
        rest = [field for field in self.schema if field.name != key]
        return Schema.record(self.schema.name or "row", rest)

    @property
    def is_key_value(self) -> bool:
        """Whether it is a key-value table: one with these two columns, looked up by the key."""
        return sorted(self.schema.field_names) == [KEY, VALUE] and self.lookup_key == KEY


class Lookup(Protocol):
    """The rows of a table as they were when the run began to read it, found by key.

    Keys are compared as text. Of several rows with one key the first counts; rows without a key are not
    found.
    """

    name: str
    shape: TableShape
    schema: Schema
    """Of what is found: see :attr:`TableShape.found`."""

    def get(self, key: str) -> dict[str, Any] | None:
        """The values of a row by column, as in a record; None where no row has the key.

        Other callers may get the same object: do not change it.
        """

    def get_all(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The rows of those keys that there are, by key."""

    def sorted_rows(self) -> tuple[pa.Array, pa.RecordBatch]:
        """All keys, as ``large_binary`` of UTF-8 in the order of their bytes, and the rows in that order.

        The columns of the rows are those of :attr:`schema`, by position. For plugins that search by their
        own means; the workers of a machine share the memory.
        """


__getattr__ = build_getattr(__name__, {"MadeTable": "CreatedTable", "Order": "SortField"})
