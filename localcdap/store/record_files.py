"""Avro, ORC and text files as a table of a query, which reads only the partitions that conditions allow.

DuckDB hands the conditions of a query to a ``pyarrow.dataset.Dataset``, as it does for Parquet files. Arrow
then finds the partitions that they allow, without opening a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import QueryError, StageError
from localcdap.api.schema import Schema
from localcdap.files.arrow_files import read_file_batches
from localcdap.files.avro import read_avro_batches

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pd

ReadBatches = Callable[[str], Iterator["pa.RecordBatch"]]
_BATCH: Final = 10_000
"""Rows that are read at once."""


def open_record_files(
    files: pd.FileSystemDataset, format: str, schema: Schema | None
) -> pd.Dataset:
    """Return files as a dataset of Arrow that Python reads; each scan reads them again.

    :param files: knows the files with their partitions, and reads none of them.
    :param format: avro, orc or text.
    :param schema: that of the records of Avro and ORC files; None for text.
    """
    import pyarrow as pa
    import pyarrow.dataset as pd

    read_batches: ReadBatches = _read_lines
    if schema is not None:
        nullable = Schema.record("record", [(f.name, f.schema.as_nullable) for f in schema])
        read_batches = (
            partial(read_avro_batches, schema=nullable, constants={})
            if format == "avro"
            else partial(read_file_batches, format=format, schema=nullable, size=_BATCH)
        )

    class RecordFiles(pd.Dataset):  # type: ignore[misc]  # Arrow has no types
        def __init__(self) -> None:
            """Do nothing: Arrow's constructor refuses to make an object of this class."""

        @property
        def schema(self) -> pa.Schema:
            return files.schema

        def scanner(
            self,
            columns: list[str] | None = None,
            filter: pd.Expression | None = None,
            **options: Any,
        ) -> pd.Scanner:
            """Return what reads the rows that fulfil a filter. DuckDB calls this."""
            found = _read(files, read_batches, filter)
            rows = pa.RecordBatchReader.from_batches(files.schema, found)
            return pd.Scanner.from_batches(rows, columns=columns, filter=filter, **options)

    return RecordFiles()


def _read(
    files: pd.FileSystemDataset, read_batches: ReadBatches, filter: pd.Expression | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all files in the partitions that a filter allows."""
    import pyarrow.dataset as pd

    for each in files.get_fragments(filter):
        key = pd.get_partition_keys(each.partition_expression)
        try:
            for batch in read_batches(each.path):
                yield _add_key(batch, files.schema, key)
        except (OSError, ValueError, StageError) as error:
            raise QueryError(f"The file {each.path} cannot be read: {error}") from error


def _add_key(batch: pa.RecordBatch, schema: pa.Schema, key: Mapping[str, Any]) -> pa.RecordBatch:
    """Return a batch with the columns of a schema, of which some are the key of the partition."""
    import pyarrow as pa

    columns = [
        pa.array([key[field.name]] * batch.num_rows, field.type)
        if field.name in key
        else batch.column(field.name)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _read_lines(file: str) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with Path(file).open(encoding="utf-8", newline="\n") as lines:
        while chunk := [line.rstrip("\r\n") for line in islice(lines, _BATCH)]:
            yield pa.RecordBatch.from_arrays([pa.array(chunk, pa.string())], names=["body"])
