"""Structured tables as a run sees them: read as snapshots, written at the end by the host."""

from __future__ import annotations

from typing import Protocol

import msgspec

from localcdap.api.schema import Schema
from localcdap.api.table_writes import TableWrite


class TableFiles(msgspec.Struct):
    """A snapshot of a table."""

    schema: Schema
    files: list[str]
    """Parquet files; none for a table without rows."""


class TableSource(Protocol):
    """Where a run gets the rows of tables from."""

    def export(self, namespace: str, name: str) -> TableFiles:
        """The rows of a table as they are now, in files that stay until the run has ended.

        :raises NotFoundError: when there is no such table.
        """


class TableLoad(msgspec.Struct):
    """Rows that wait to be written into a table."""

    namespace: str
    name: str
    schema: Schema
    key: str | None
    """Name of the field that is the primary key, by which they are upserted; None for a table without one."""
    directory: str
    """Directory of Parquet files."""
    how: TableWrite = TableWrite()
    """How they get into a table without a key."""
