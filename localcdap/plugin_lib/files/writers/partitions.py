"""Files of the partitions of a DataFrame, written by Spark's Python workers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from localcdap.api import Schema
from localcdap.files.atomic import FileReplacement

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

WriteBatches = Callable[[IO[bytes], "Iterator[pa.RecordBatch]"], object]
"""Writes the batches of a partition into a file."""


def write_avro(df: DataFrame, schema: Schema, directory: str, codec: str) -> None:
    """Write an Avro file for each partition with records, and at least one file."""
    written = df.mapInArrow(
        _make_avro_writer(str(schema), directory, "null" if codec == "none" else codec),
        "records bigint",
    )
    written.write.format("noop").mode("overwrite").save()


def _make_avro_writer(
    schema: str, directory: str, codec: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    # A nested function is pickled by value; Spark's workers cannot import this module.
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Before fastavro: on a cluster, localcdap adds the folder of the packages that were sent to sys.path.
        from localcdap.api.arrow import RecordCodec
        from localcdap.api.schema import Schema
        from localcdap.files.avro import write_avro_records
        from localcdap.plugin_lib.files.writers.partitions import write_partition

        parsed = Schema.parse(schema)
        record_codec = RecordCodec(parsed)

        def write_batches(stream: IO[bytes], filled: Iterator[pa.RecordBatch]) -> None:
            records = (record for batch in filled for record in record_codec.decode(batch))
            write_avro_records(stream, parsed, records, codec)

        yield from write_partition(batches, directory, ".avro", write_batches)

    return write


def write_partition(
    batches: Iterator[pa.RecordBatch], directory: str, extension: str, write: WriteBatches
) -> Iterator[pa.RecordBatch]:
    """Write the batches of the current task into a file; that of another partition than the first only if
    it has records.

    :returns: a batch with their number as ``records``.
    """
    import pyarrow as pa
    from pyspark import TaskContext

    task = TaskContext.get()
    partition = task.partitionId() if task is not None else 0
    count = 0
    filled = (batch for batch in batches if batch.num_rows)
    first = list(itertools.islice(filled, 1))
    if not first and partition != 0:
        return

    def count_records() -> Iterator[Any]:
        nonlocal count
        for batch in itertools.chain(first, filled):
            count += batch.num_rows
            yield batch

    # The name of a file that a task has not finished is another one in each attempt, and hidden.
    path = Path(directory) / f"part-{partition:05d}{extension}"
    with (
        FileReplacement(path, is_synced=False) as replacement,
        replacement.new_file.open("wb") as stream,
    ):
        write(stream, count_records())
    yield pa.RecordBatch.from_arrays([pa.array([count], pa.int64())], names=["records"])
