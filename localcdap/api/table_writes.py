"""How rows get into a table that has no key of its own."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from localcdap.api.schema import Schema


class Order(msgspec.Struct, frozen=True):
    """A field to sort by."""

    field: str
    descending: bool = False


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


class TableLoading(msgspec.Struct, frozen=True):
    """Rows that are written into one of several tables."""

    name: str
    schema: Schema
    how: TableWrite = TableWrite()


class TableResult(msgspec.Struct, frozen=True):
    """What SQL statements on tables did."""

    rows: int
    """Rows that the last statement found, or changed."""
    first: dict[str, Any] | None
    """The first row that the last query found, as Python values; None when there is none."""
