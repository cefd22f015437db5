"""Tables of a namespace as plugins use them: their columns, lookups by key, and writes.

Sinks write these tables and sources read them. The structured tables of system applications are in
:mod:`localcdap.api.app`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import msgspec

from localcdap.api.schema import Schema
from localcdap.moved import build_getattr

if TYPE_CHECKING:
    import pyarrow as pa


class SortField(msgspec.Struct, frozen=True):
    """A field to sort by."""

    field: str
    descending: bool = False


class Partitioning(msgspec.Struct, frozen=True):
    """The partitioning of a table (BigQuery). All rows are stored together; readers filter by it."""

    kind: Literal["time", "integer"] = "time"
    field: str | None = None
    """A column of the table; None for the ingestion time of a row, which is not stored."""


class TableWrite(msgspec.Struct, frozen=True):
    """How a write changes the existing rows and columns of a table (BigQuery sink of CDAP 6)."""

    operation: Literal["insert", "update", "upsert"] = "insert"
    """``insert`` adds rows; ``update`` changes the rows with equal keys; ``upsert`` does both."""
    keys: tuple[str, ...] = ()
    """The key fields of an update or upsert. Null equals nothing."""
    dedupe_by: tuple[SortField, ...] = ()
    """The order in which the first of several written rows with equal keys takes effect."""
    truncate: bool = False
    """Whether an insert first removes the existing rows and columns."""
    relaxes: bool = False
    """Whether columns may be added to the table, and its columns may become nullable."""
    among: str | None = None
    """The rows that an update or upsert may match: a condition in the SQL of DuckDB on the columns of
    ``held``, a row of the table, and ``given``, a written row."""
    partitioning: Partitioning | None = None
    """The partitioning of a created table. An existing table keeps its own while it has that column."""


class TableLoading(msgspec.Struct, frozen=True):
    """The write of rows into one of several tables."""

    name: str
    schema: Schema
    how: TableWrite = TableWrite()


class CreatedTable(msgspec.Struct, frozen=True):
    """A table that an SQL statement creates."""

    name: str
    partitioning: Partitioning | None
    only_missing: bool = False
    """Whether an existing table stays unchanged."""


class TableResult(msgspec.Struct, frozen=True):
    """The result of SQL statements on tables."""

    rows: int
    """The number of rows that the last statement returned or changed."""
    first: dict[str, Any] | None
    """The first row of the last query, as Python values; None when there is none."""


KEY: Final = "key"
VALUE: Final = "value"
"""The columns of a key-value table."""


class TableShape(msgspec.Struct):
    """The columns of a table or view."""

    schema: Schema
    key: str | None = None
    """The key column; None for a table to which rows are appended."""
    partitioning: Partitioning | None = None
    is_view: bool = False
    """Whether this is a view: a query, which can be read but not written."""
    problem: str | None = None
    """Why a view cannot be read, such as a table that does not exist; None when it can be read."""
    has_table: bool = True
    """False for a dataset that has a schema and no table, such as a file set."""

    @property
    def lookup_key(self) -> str | None:
        """The key column of lookups; None when there is none.

        The key of the table; in a table without a key the column ``key``, or the first of two columns.
        """
        names = self.schema.field_names
        if self.key is not None:
            return self.key
        if KEY in names:
            return KEY
        return names[0] if len(names) == 2 else None

    @property
    def found(self) -> Schema | None:
        """The schema of a lookup result: all columns except the key; None when there is no key."""
        key = self.lookup_key
        if key is None:
            return None
        rest = [field for field in self.schema if field.name != key]
        return Schema.record(self.schema.name or "row", rest)

    @property
    def is_key_value(self) -> bool:
        """Whether this is a key-value table, with the columns ``key`` and ``value``, looked up by ``key``."""
        return sorted(self.schema.field_names) == [KEY, VALUE] and self.lookup_key == KEY


class TableFile(msgspec.Struct):
    """The rows of a table or dataset of a namespace in a file, for lookups outside of a run."""

    name: str
    schema: Schema | None = None
    """None when the table cannot be read."""
    key: str | None = None
    """The key column, as in :class:`TableShape`."""
    path: str = ""
    """A Parquet file with the rows."""
    problem: str = ""
    """Why there are no rows, as a clause."""


def keep_table(found: TableShape | None) -> TableShape | None:
    """Return the columns of a table or view; None for a dataset without a table."""
    return None if found is None or not found.has_table else found


class Lookup(Protocol):
    """The rows of a table, found by key, as they were when the run began to read the table.

    Keys are compared as text. Of several rows with one key the first is found; a row whose key is null is
    never found.
    """

    name: str
    shape: TableShape
    schema: Schema
    """The schema of the results: see :attr:`TableShape.found`."""

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the values of a row by column, as in a record; None when no row has the key.

        Do not change the result: other callers may get the same object.
        """

    def get_all(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the rows that are found, by key."""

    def sorted_rows(self) -> tuple[pa.Array, pa.RecordBatch]:
        """Return all keys, as sorted ``large_binary`` of UTF-8, and the rows in the same order.

        The columns of the rows are those of :attr:`schema`, by position. For plugins that search themselves;
        the workers of a machine share the memory.
        """


__getattr__ = build_getattr(__name__)
