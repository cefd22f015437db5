"""Parquet and ORC files, read with Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowFiles:
    """The rows of files of one format, and of their schema: that of the first one.

    :param format: parquet or orc.
    :raises ValueError: or an OSError, when the files cannot be read.
    """

    def __init__(self, files: Sequence[str], format: str) -> None:
        import pyarrow.dataset as pd

        self._dataset = pd.dataset(list(files), format=format)
        self.schema: pa.Schema = self._dataset.schema

    def count_rows(self) -> int:
        """Return the number of rows, which the footers of the files have."""
        return int(self._dataset.count_rows())

    def read_batches(self, codec: RecordCodec, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows with the types of a schema, at most so many at once.

        :raises BadRequestError: as :func:`cast_batches`.
        """
        return cast_batches(self._dataset.to_batches(batch_size=size), codec)


def cast_batches(batches: Iterator[pa.RecordBatch], codec: RecordCodec) -> Iterator[pa.RecordBatch]:
    """Yield batches with the types of a schema.

    :raises BadRequestError: when a value would change, such as nanoseconds that become microseconds; it says
        which.
    """
    import pyarrow as pa

    done = 0
    for batch in batches:
        columns = [_cast_column(batch.column(field.name), field, done) for field in codec.arrow]
        yield pa.RecordBatch.from_arrays(columns, schema=codec.arrow)
        done += batch.num_rows


def _cast_column(column: pa.Array, field: pa.Field, done: int) -> pa.Array:
    import pyarrow as pa

    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        row = _find_uncastable(column, field.type)
        raise BadRequestError(
            f"Row {done + row + 1:,}: field '{field.name}' has the value {column[row]}, which does not fit "
            f"the type {field.type} unchanged: {error}",
            f"Round the field, or keep it as text; in the file it is of type {column.type}.",
        ) from None


def _find_uncastable(column: pa.Array, type: pa.DataType) -> int:
    """Return the first position of a column at which a value does not fit a type."""
    import pyarrow as pa

    first, end = 0, len(column)
    while end - first > 1:
        middle = (first + end) // 2
        try:
            column[first:middle].cast(type)
            first = middle
        except pa.ArrowInvalid:
            end = middle
    return first
