"""Avro and text files as a table of a query, of which only the partitions that conditions allow are read.

DuckDB hands the conditions of a query to a ``pyarrow.dataset.Dataset``, as it does for Parquet files. Arrow
then finds the partitions that they allow, without opening a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import QueryError
from localcdap.files.avro import read_avro_records

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pd

ReadRows = Callable[[str], Iterator[dict[str, Any]]]
_BATCH: Final = 10_000
"""Rows that are read at once."""


def open_record_files(files: pd.FileSystemDataset, format: str) -> pd.Dataset:
    """Return files as a dataset of Arrow that Python reads; each scan reads them again.

    :param files: knows the files with their partitions, and reads none of them.
    :param format: avro or text.
    """
    import pyarrow as pa
    import pyarrow.dataset as pd

    read_rows = _read_lines if format == "text" else read_avro_records

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
            found = _read(files, read_rows, filter)
            rows = pa.RecordBatchReader.from_batches(files.schema, found)
            return pd.Scanner.from_batches(rows, columns=columns, filter=filter, **options)

    return RecordFiles()


def _read(
    files: pd.FileSystemDataset, read_rows: ReadRows, filter: pd.Expression | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all files in the partitions that a filter allows."""
    import pyarrow.dataset as pd

    for each in files.get_fragments(filter):
        key = pd.get_partition_keys(each.partition_expression)
        try:
            yield from _make_batches(read_rows(each.path), files.schema, key)
        except (OSError, ValueError, StopIteration) as error:
            raise QueryError(f"The file {each.path} cannot be read: {error}") from error


def _make_batches(
    rows: Iterator[dict[str, Any]], schema: pa.Schema, key: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while chunk := list(islice(rows, _BATCH)):
        columns = [
            pa.array([key[field.name]] * len(chunk), field.type)
            if field.name in key
            else pa.array([row.get(field.name) for row in chunk], field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _read_lines(file: str) -> Iterator[dict[str, Any]]:
    with Path(file).open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield {"body": line.rstrip("\r\n")}
