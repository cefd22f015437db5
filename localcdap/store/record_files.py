"""Avro and text files as a table of a query, of which only the partitions that conditions allow are read.

DuckDB hands the conditions of a query to a ``pyarrow.dataset.Dataset``, as it does for Parquet files. Arrow
then finds the partitions that they allow, without opening a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as pd

from localcdap.api.errors import QueryError

_BATCH: Final = 10_000
"""Rows that are read at once."""


class RecordFiles(pd.Dataset):  # type: ignore[misc]  # Arrow has no types
    """The files of a dataset of Arrow, read by Python; each scan reads them again.

    :param files: knows the files with their partitions, and reads none of them.
    :param format: avro or text.
    """

    def __init__(self, files: pd.FileSystemDataset, format: str) -> None:
        # Arrow's constructor refuses to make an object of this class.
        self._files = files
        self._read_rows = _read_lines if format == "text" else _read_avro

    @property
    def schema(self) -> pa.Schema:
        return self._files.schema

    def scanner(
        self,
        columns: list[str] | None = None,
        filter: pd.Expression | None = None,
        **options: Any,
    ) -> pd.Scanner:
        """Return what reads the rows that fulfil a filter. DuckDB calls this."""
        rows = pa.RecordBatchReader.from_batches(self.schema, self._read(filter))
        return pd.Scanner.from_batches(rows, columns=columns, filter=filter, **options)

    def _read(self, filter: pd.Expression | None) -> Iterator[pa.RecordBatch]:
        for each in self._files.get_fragments(filter):
            key = pd.get_partition_keys(each.partition_expression)
            try:
                yield from self._read_file(each.path, key)
            except (OSError, ValueError, StopIteration) as error:
                raise QueryError(f"The file {each.path} cannot be read: {error}") from error

    def _read_file(self, file: str, key: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        rows = self._read_rows(file)
        while chunk := list(islice(rows, _BATCH)):
            columns = [
                pa.array([key[field.name]] * len(chunk), field.type)
                if field.name in key
                else pa.array([row.get(field.name) for row in chunk], field.type)
                for field in self.schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _read_lines(file: str) -> Iterator[dict[str, Any]]:
    with Path(file).open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield {"body": line.rstrip("\r\n")}


def _read_avro(file: str) -> Iterator[dict[str, Any]]:
    import fastavro

    with Path(file).open("rb") as stream:
        yield from fastavro.reader(stream)
