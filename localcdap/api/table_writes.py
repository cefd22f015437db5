"""How rows get into a table that has no key of its own."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from localcdap.api.schema import Schema


class Order(msgspec.Struct, frozen=True):
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
    dedupe_by: tuple[Order, ...] = ()
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


class MadeTable(msgspec.Struct, frozen=True):
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
