"""Tables made ready for lookups: one file of rows sorted by key for each table and run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import StageError
from localcdap.api.tables import TableShape
from localcdap.engine.driver.tables import TableFiles, size_of
from localcdap.engine.tasks.lookups import LookupFile, found_schema

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES: Final = 512 * 2**20
"""Of the rows of a table: sorting them takes three times as much of this process."""
_FILE: Final = "rows.arrow"


def lookup_file(name: str, snapshot: TableFiles, directory: Path) -> LookupFile:
    """Write the rows of a snapshot sorted by key; its own files are not needed any more, and removed.

    A million rows take about a second.

    :param directory: for the file; made when it is not there.
    :raises StageError: (without a stage) when the table has no key or is too large; the message begins with
        the table.
    """
    import pyarrow as pa

    shape = TableShape(snapshot.schema, snapshot.key)
    found_schema(name, shape)
    _check_size(name, snapshot)
    batch = sorted_batch(name, _rows(snapshot), shape)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / _FILE
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as file:
        file.write_batch(batch)
    for used in snapshot.files:
        Path(used).unlink(missing_ok=True)
    return LookupFile(name, shape, str(path))


def sorted_batch(name: str, rows: pa.Table, shape: TableShape) -> pa.RecordBatch:
    """The rows as :class:`localcdap.engine.tasks.lookups.SortedRows` takes them.

    :param rows: with the columns of the table.
    :raises StageError: (without a stage) when the keys are no plain values.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    key = shape.lookup_key
    assert key is not None
    keys = _texts(name, key, rows.column(key))
    order = pc.sort_indices(keys)  # stable: of equal keys the first row stays the first
    order = order.slice(0, len(keys) - keys.null_count)  # nulls are at the end
    keys = _one(keys.take(order), pa.large_binary())
    if len(keys) > 1:
        is_first = pa.concat_arrays([pa.array([True]), pc.not_equal(keys[1:], keys[:-1])])
        keys, order = keys.filter(is_first), order.filter(is_first)
    rest = [field.name for field in shape.schema if field.name != key]
    columns = [_one(rows.column(each).take(order), rows.column(each).type) for each in rest]
    names = [f"c{number}" for number in range(len(columns) + 1)]  # a column may have any name
    return pa.RecordBatch.from_arrays([keys, *columns], names=names)


def _check_size(name: str, snapshot: TableFiles) -> None:
    size = size_of(snapshot)
    if size > MOST_BYTES:
        raise StageError(
            f"table '{name}' has {size / 2**20:.0f} MiB of rows; at most {MOST_BYTES >> 20} MiB can be "
            "looked into.",
            "Read it with a source, and join it.",
        )


def _rows(snapshot: TableFiles) -> pa.Table:
    import pyarrow.parquet as pq

    from localcdap.api.arrow import to_arrow_schema

    schema = to_arrow_schema(snapshot.schema)
    if not snapshot.files:
        return schema.empty_table()
    return pq.read_table(snapshot.files).cast(schema)


def _texts(name: str, key: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Keys as the bytes of their texts; bytes are what they are."""
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


def _one(values: pa.ChunkedArray | pa.Array, type: pa.DataType) -> pa.Array:
    """A column as one array."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], type)
    return values
