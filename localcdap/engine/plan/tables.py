"""Tables on their way into Spark and out of it, and as files for lookups.

A run reads tables as snapshots that the host writes (:class:`TableSource`), and leaves rows for the host in
Parquet files. A cluster does not see the files of this machine: rows pass through this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape, TableWrite
from localcdap.engine.messages.host import TableFiles, TableLoad
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.engine.spark_internals import read_in_batches
from localcdap.engine.tasks.lookups import LookupFile, get_lookup_schema
from localcdap.store.table_merge import merge_table_schema, refuse_relaxation

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_MOST_UPLOADED: Final = 1024**3
"""Bytes of a table that is sent to a cluster: they are in the memory of this process and of Spark's
driver.
"""
MOST_LOOKUP_BYTES: Final = 512 * 2**20
"""Bytes of a table for lookups: sorting them takes three times as much memory of this process."""
_LOOKUP_FILE: Final = "rows.arrow"


class TableSource(Protocol):
    """Provides the rows of tables for a run."""

    def export(self, namespace: str, name: str) -> TableFiles:
        """Write the current rows of a table into files that stay until the run has ended.

        :raises NotFoundError: when the table does not exist.
        """

    def find(self, namespace: str, name: str) -> TableShape | None:
        """Return the current columns of a table; None when it does not exist."""


def measure_rows(snapshot: TableFiles) -> int:
    """Return the bytes of the rows of a snapshot, uncompressed."""
    import pyarrow.parquet as pq

    files = [pq.ParquetFile(file).metadata for file in snapshot.files]
    return sum(
        f.row_group(index).total_byte_size for f in files for index in range(f.num_row_groups)
    )


def find_repeated_key(directory: Path, keys: Sequence[str]) -> tuple[dict[str, Any], int] | None:
    """Find a key that several rows of Parquet files have, and how many rows have it.

    A key with a null equals no other, as in SQL.
    """
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


def find_new_table(name: str, loads: Sequence[TableLoad]) -> TableShape | None:
    """Return the columns that writes give a table which does not exist; None when none of them is for it."""
    shape = None
    for load in loads:
        if load.name != name:
            continue
        if shape is None or load.how.truncate:
            shape = TableShape(load.schema, load.key, load.how.partitioning)
        else:
            shape.schema = merge_table_schema(name, shape.schema, load.schema)
    return shape


def check_new_table(new: TableShape, name: str, schema: Schema, how: TableWrite) -> None:
    """Check that a table with these columns takes rows.

    :raises StoreError: when it lacks a column, or has one of another type.
    """
    if not how.truncate:
        merged = merge_table_schema(name, new.schema, schema)
        if not how.relaxes:
            refuse_relaxation(name, new.schema, schema, merged)


# -- to and from a cluster ------------------------------------------------------------------


def upload_rows(spark: SparkSession, snapshot: TableFiles) -> DataFrame:
    """Send the rows of a snapshot to a cluster.

    :raises StageError: (without a stage) when they are too many; the message continues the table's name.
    """
    import pyarrow.parquet as pq

    from localcdap.api.arrow import to_arrow_schema

    size = measure_rows(snapshot)
    if size > _MOST_UPLOADED:
        raise StageError(
            f"has {size / 1024**3:.1f} GiB of rows; through this machine at most "
            f"{_MOST_UPLOADED // 1024**3} GiB go to a cluster.",
            "Write the table to files that the cluster can read, and read those.",
        )
    rows = pq.read_table(snapshot.files).cast(to_arrow_schema(snapshot.schema))
    return spark.createDataFrame(rows, spark_schema(snapshot.schema))


def download_rows(rows: DataFrame, directory: Path) -> None:
    """Write the rows that a cluster computes into a Parquet file on this machine, batch by batch."""
    import pyarrow.parquet as pq

    directory.mkdir(parents=True)
    writer: Any = None
    try:
        for batch in read_in_batches(rows):
            writer = writer or pq.ParquetWriter(directory / "rows.parquet", batch.schema)
            writer.write_table(batch)
    finally:
        if writer is not None:
            writer.close()


# -- for lookups ----------------------------------------------------------------------------


def write_lookup_file(name: str, snapshot: TableFiles, directory: Path) -> LookupFile:
    """Write the rows of a snapshot into one file, sorted by key, and remove the files of the snapshot.

    A million rows take about a second.

    :param directory: created when it does not exist.
    :raises StageError: (without a stage) when the table has no key or is too large; the message begins with
        the table.
    """
    import pyarrow as pa

    shape = TableShape(snapshot.schema, snapshot.key)
    get_lookup_schema(name, shape)
    size = measure_rows(snapshot)
    if size > MOST_LOOKUP_BYTES:
        raise StageError(
            f"table '{name}' has {size / 2**20:.0f} MiB of rows; at most "
            f"{MOST_LOOKUP_BYTES >> 20} MiB can be looked into.",
            "Read it with a source, and join it.",
        )
    batch = sort_rows(name, _read_snapshot(snapshot), shape)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / _LOOKUP_FILE
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as file:
        file.write_batch(batch)
    for used in snapshot.files:
        Path(used).unlink(missing_ok=True)
    return LookupFile(name, shape, str(path))


def sort_rows(name: str, rows: pa.Table, shape: TableShape) -> pa.RecordBatch:
    """Return rows in the form that :class:`localcdap.engine.tasks.lookups.SortedRows` takes.

    :param rows: with the columns of the table.
    :raises StageError: (without a stage) when the keys are arrays, maps or records.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    key = shape.lookup_key
    assert key is not None
    keys = _encode_keys(name, key, rows.column(key))
    order = pc.sort_indices(keys)  # stable: of equal keys the first row stays the first
    order = order.slice(0, len(keys) - keys.null_count)  # nulls are at the end
    keys = _combine_chunks(keys.take(order), pa.large_binary())
    if len(keys) > 1:
        is_first = pa.concat_arrays([pa.array([True]), pc.not_equal(keys[1:], keys[:-1])])
        keys, order = keys.filter(is_first), order.filter(is_first)
    rest = [field.name for field in shape.schema if field.name != key]
    columns = [
        _combine_chunks(rows.column(each).take(order), rows.column(each).type) for each in rest
    ]
    names = [f"c{number}" for number in range(len(columns) + 1)]  # a column may have any name
    return pa.RecordBatch.from_arrays([keys, *columns], names=names)


def _read_snapshot(snapshot: TableFiles) -> pa.Table:
    import pyarrow.parquet as pq

    from localcdap.api.arrow import to_arrow_schema

    schema = to_arrow_schema(snapshot.schema)
    if not snapshot.files:
        return schema.empty_table()
    return pq.read_table(snapshot.files).cast(schema)


def _encode_keys(name: str, key: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return keys as the UTF-8 bytes of their texts; keys that are bytes stay as they are."""
    import pyarrow as pa

    try:
        if not pa.types.is_binary(values.type):
            values = values.cast(pa.large_string())
        return values.cast(pa.large_binary())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise StageError(
            f"table '{name}' cannot be looked into: its key '{key}' is of type {values.type}.",
            "Only keys that are plain values can be looked up.",
        ) from None


def _combine_chunks(values: pa.ChunkedArray | pa.Array, type: pa.DataType) -> pa.Array:
    """Return a column as one array."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], type)
    return values
