"""Structured tables as a run sees them: read as snapshots, written at the end by the host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape, TableWrite


class TableFiles(msgspec.Struct):
    """A snapshot of a table."""

    schema: Schema
    files: list[str]
    """Parquet files; none for a table without rows."""
    key: str | None = None
    """The field that tells rows apart; None where rows were appended."""


def size_of(snapshot: TableFiles) -> int:
    """Bytes of the rows of a snapshot once they are read."""
    import pyarrow.parquet as pq

    files = [pq.ParquetFile(file).metadata for file in snapshot.files]
    return sum(
        f.row_group(index).total_byte_size for f in files for index in range(f.num_row_groups)
    )


def repeated_key(directory: Path, keys: Sequence[str]) -> tuple[dict[str, Any], int] | None:
    """Keys that several rows of Parquet files have, and how many these are; null is equal to nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    files = sorted(directory.glob("*.parquet"))
    columns = [pq.read_table(file, columns=list(keys)) for file in files]
    if not columns:
        return None
    rows = pa.concat_tables(columns).drop_null()
    counted = rows.group_by(list(keys)).aggregate([([], "count_all")])
    found = counted.filter(pc.greater(counted["count_all"], 1)).slice(0, 1).to_pylist()
    if not found:
        return None
    count: int = found[0].pop("count_all")
    return found[0], count


class TableSource(Protocol):
    """Where a run gets the rows of tables from."""

    def export(self, namespace: str, name: str) -> TableFiles:
        """The rows of a table as they are now, in files that stay until the run has ended.

        :raises NotFoundError: when there is no such table.
        """

    def find(self, namespace: str, name: str) -> TableShape | None:
        """The columns of a table as they are now; None when there is no such table."""


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
