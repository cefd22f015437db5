"""The rows of a file on their way to Spark and back: numbered Parquet rows, and what a recipe makes of them.

Reading, messages and writing stay those of :mod:`.jobs`: Spark only says which rows a recipe makes of which
row of the input, and for which it fails.
"""

from __future__ import annotations

import bisect
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema, StageError
from localcdap.api.arrow import RecordCodec

if TYPE_CHECKING:
    import pyarrow as pa

FAILED: Final = "failed"
"""The column of the made rows that is true for a row of the input for which the recipe fails."""
_NUMBER: Final = "row"
_GROUP: Final = 100_000
"""Rows of a row group: Spark reads each in one task."""
_BATCH: Final = 4096
_ROWS_FILE: Final = "rows.parquet"


class SparkWork(msgspec.Struct):
    """What Spark has to do before a job goes on: the stage RecipeRows on a file, into a folder."""

    rows: str
    """The Parquet file of the rows."""
    schema: Schema
    """Of the rows, with their numbers."""
    number: str
    """The column of their numbers."""
    result: Schema
    """Of the rows that the recipe makes."""
    user_directives: list[str]
    made: str
    """The folder that is to be written."""


def plan_work(
    folder: str, row_schema: Schema, result: Schema, user_directives: Sequence[str]
) -> SparkWork:
    """Return the work for rows of a schema.

    :param folder: takes all files of the work; what a lost process had made there is removed.
    """
    number = make_number_name(row_schema.field_names)
    fields = [(field.name, field.schema) for field in row_schema]
    schema = Schema.record("row", [*fields, (number, Schema.LONG)])
    path = Path(folder)
    shutil.rmtree(path / "made", ignore_errors=True)
    return SparkWork(
        str(path / _ROWS_FILE), schema, number, result, list(user_directives), str(path / "made")
    )


def make_number_name(taken: Collection[str]) -> str:
    """Return a name for the column of numbers that no column has, in whatever case."""
    lower = {name.lower() for name in taken}
    name = _NUMBER
    while name in lower:
        name = f"_{name}"
    return name


def build_made_schema(number: str, result: Schema) -> Schema:
    """Return the schema of the made rows: the number, whether the row fails, and the columns by position."""
    columns = [(f"c{index}", field.schema.as_nullable) for index, field in enumerate(result)]
    fields = [(number, Schema.LONG.as_nullable), (FAILED, Schema.BOOLEAN.as_nullable), *columns]
    return Schema.record("made", fields)


class RowsFile:
    """Writes the rows of the input with their numbers.

    :raises StageError: when the file cannot be written.
    """

    def __init__(self, work: SparkWork) -> None:
        import pyarrow.parquet as pq

        self._number: Final = work.number
        self._codec: Final = RecordCodec(work.schema)
        self._batches: list[pa.RecordBatch] = []
        self._waiting = 0
        self._writer: Final = pq.ParquetWriter(work.rows, self._codec.arrow)

    def write(self, rows: Sequence[tuple[int, dict[str, Any]]]) -> None:
        """Append rows."""
        for number, row in rows:
            row[self._number] = number
        self._batches.append(self._codec.encode([row for _, row in rows]))
        self._waiting += len(rows)
        if self._waiting >= _GROUP:
            self._flush()

    def close(self) -> None:
        """Complete the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        try:
            if self._waiting:
                self._writer.write_table(pa.Table.from_batches(self._batches), self._waiting)
        except OSError as error:
            raise StageError(f"The rows cannot be stored for Spark: {error}.") from None
        self._batches, self._waiting = [], 0


class MadeRows:
    """What Spark has made: the good rows in the order of the input, and the numbers of rows that fail."""

    def __init__(self, work: SparkWork) -> None:
        self._number: Final = work.number
        self._codec: Final = RecordCodec(
            Schema.record(
                "made", [(f"c{i}", field.schema.as_nullable) for i, field in enumerate(work.result)]
            )
        )
        self._names: Final = work.result.field_names
        self._parts: Final = sorted(Path(work.made).glob("part-*"))

    def list_failed(self) -> list[int]:
        """Return the numbers of the rows of the input that fail, in ascending order."""
        found: list[int] = []
        for batch in self._read([self._number, FAILED]):
            found += batch.filter(batch.column(FAILED)).column(self._number).to_pylist()
        return sorted(found)

    def list_good(self) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
        """Yield records of the result with the numbers of their rows, a batch at a time.

        In a batch of a Python worker, rows that fail come after the others; the others keep their order.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in self._read(None):
            kept = batch.filter(pc.invert(batch.column(FAILED)))
            made = kept.select([f.name for f in self._codec.arrow])
            for part in pa.Table.from_batches([made]).cast(self._codec.arrow).to_batches():
                values = self._codec.decode_values(part)
                records = [dict(zip(self._names, each, strict=True)) for each in values]
                yield kept.column(self._number).to_pylist(), records

    def merge(
        self, left_out: Sequence[int]
    ) -> Iterator[tuple[list[int], list[dict[str, Any]]] | int]:
        """Yield good rows as :meth:`list_good`, and between them the numbers of rows that are left out."""
        at = 0
        for numbers, records in self.list_good():
            start = 0
            while at < len(left_out) and numbers and left_out[at] <= numbers[-1]:
                cut = bisect.bisect(numbers, left_out[at], start)
                if cut > start:
                    yield numbers[start:cut], records[start:cut]
                yield left_out[at]
                start, at = cut, at + 1
            if start < len(numbers):
                yield numbers[start:], records[start:]
        yield from left_out[at:]

    def _read(self, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        for part in self._parts:
            with pq.ParquetFile(part) as file:
                yield from file.iter_batches(_BATCH, columns=columns)


class RowFinder:
    """Finds rows of the input by their numbers, in ascending order."""

    def __init__(self, work: SparkWork) -> None:
        self._work: Final = work
        self._batches = self._read()
        self._numbers: list[int] = []
        self._batch: pa.RecordBatch | None = None
        fields = [(f.name, f.schema) for f in work.schema if f.name != work.number]
        self._codec: Final = RecordCodec(Schema.record("row", fields))

    def find(self, number: int) -> dict[str, Any]:
        """Return the row of a number that the file has."""
        while self._batch is None or number > self._numbers[-1]:
            self._batch = next(self._batches)
            self._numbers = self._batch.column(self._work.number).to_pylist()
        at = bisect.bisect_left(self._numbers, number)
        assert self._numbers[at] == number
        return self._codec.decode(self._batch.slice(at, 1))[0]

    def _read(self) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(self._work.rows) as file:
            yield from file.iter_batches(_BATCH)
