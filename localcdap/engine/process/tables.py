"""Structured tables as a run sees them: read as snapshots, written at the end by the host."""

from __future__ import annotations

from typing import Protocol

import msgspec

from localcdap.api.schema import Schema


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
    """Rows that wait to be upserted into a table."""

    namespace: str
    name: str
    schema: Schema
    key: str
    """Name of the field that is the primary key."""
    directory: str
    """Directory of Parquet files."""
