"""Files of a dataset as a table of a query: Arrow reads what DuckDB needs of their columns and partitions.

A file is opened only when conditions on the fields of the partition key allow its partition.

For Avro, ORC and text files, DuckDB hands the conditions of a query to a ``pyarrow.dataset.Dataset``, as it
does for Parquet files. Arrow then finds the partitions that they allow, without opening a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.errors import QueryError, StageError
from localcdap.api.schema import Schema
from localcdap.files.arrow_files import read_file_batches
from localcdap.files.avro import read_avro_batches
from localcdap.files.formats import FileFormat, make_arrow_format
from localcdap.files.schemas import read_schema

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


TEXT: Final = Schema.record("line", [("body", Schema.STRING)])
"""The schema of a file of text: one row for each line."""
_SELF_DESCRIBING: Final = ("parquet", "orc", "avro")


class FilePart(msgspec.Struct, frozen=True):
    """A partition, or all files when there are none."""

    path: str
    """Relative to the folder; a folder or a file."""
    key: tuple[str | int, ...] = ()


class FileTable(msgspec.Struct, frozen=True):
    """The files of a dataset as a table."""

    folder: str
    format: str
    """avro, csv, json, orc, parquet or text."""
    document: str | None
    """The schema of the records as JSON; None for that of the files."""
    key: tuple[tuple[str, str], ...] = ()
    """The names and types, STRING, LONG or INT, of the fields of the partition key."""
    parts: tuple[FilePart, ...] = (FilePart("."),)
    delimiter: str = ","
    """Between the values of a CSV file."""
    has_header: bool = False
    """Whether the first line of a CSV file has names."""

    @property
    def has_columns(self) -> bool:
        """Whether the columns are known, or files can say what they are."""
        return self.document is not None or self.format in (*_SELF_DESCRIBING, "text")


def open_files(table: FileTable) -> Any:
    """Return what DuckDB reads as a table: a ``pyarrow.dataset.Dataset``.

    :raises QueryError: when a file leads out of the folder, or says no schema.
    """
    if table.format not in ("avro", "orc", "text"):
        return _open_dataset(table)
    return open_record_files(_open_dataset(table), table.format, _find_record_schema(table))


def describe_columns(table: FileTable) -> pa.Schema:
    """Return the columns, all nullable: those of the records, then those of the partition key.

    :raises QueryError: when only the files say what they are, and the first one cannot be read.
    """
    import pyarrow as pa

    from localcdap.api.arrow import to_arrow_schema

    types = {"STRING": pa.string(), "LONG": pa.int64(), "INT": pa.int32()}
    keys = [pa.field(name, types[type]) for name, type in table.key]
    if table.format == "text":
        fields = list(to_arrow_schema(TEXT))
    elif table.document is not None:
        fields = list(to_arrow_schema(Schema.parse(table.document)))
    else:
        fields = list(_read_file_schema(table))
    return pa.schema([*(each.with_nullable(True) for each in fields), *keys])


def _find_record_schema(table: FileTable) -> Schema | None:
    """Return the schema of the records of Avro and ORC files: the declared one, or that of the first file."""
    if table.format == "text":
        return None
    if table.document is not None:
        return Schema.parse(table.document)
    file = _find_first_file(table)
    return None if file is None else read_schema(file, table.format)


def _find_first_file(table: FileTable) -> str | None:
    return next((file for part in table.parts for file in _list_files(table, part)), None)


def _open_dataset(table: FileTable) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.dataset import FileSystemDataset
    from pyarrow.fs import LocalFileSystem

    schema = describe_columns(table)
    columns = pa.schema([schema.field(i) for i in range(len(schema) - len(table.key))])
    format = FileFormat(table.format, table.delimiter, table.has_header)
    file_format, files = make_arrow_format(format, columns), LocalFileSystem()
    fragments = []
    for part in table.parts:
        condition = None
        for (name, _), value in zip(table.key, part.key, strict=True):
            equal = pc.field(name) == value
            condition = equal if condition is None else condition & equal
        for file in _list_files(table, part):
            more = {} if condition is None else {"partition_expression": condition}
            fragments.append(file_format.make_fragment(file, files, **more))
    return FileSystemDataset(fragments, schema, file_format, files)


def _read_file_schema(table: FileTable) -> pa.Schema:
    import pyarrow as pa

    if table.format not in _SELF_DESCRIBING:
        raise QueryError(
            f"The columns of the files in {table.folder} are not known.",
            f"Declare the property 'schema' of the dataset: {table.format} files have none.",
        )
    file = _find_first_file(table)
    if file is None:
        return pa.schema([])
    try:
        if table.format in ("avro", "orc"):
            from localcdap.api.arrow import to_arrow_schema

            return to_arrow_schema(read_schema(file, table.format))
        import pyarrow.dataset as pd

        format = make_arrow_format(FileFormat(table.format), pa.schema([]))
        found: pa.Schema = pd.dataset(file, format=format).schema
        return found
    except (OSError, ValueError) as error:
        raise QueryError(f"The file {file} cannot be read: {error}") from error


def _list_files(table: FileTable, part: FilePart) -> Sequence[str]:
    """Return the files of a part, without those that begin with a dot or an underscore.

    :raises QueryError: when one leads out of the dataset's folder.
    """
    root = Path(os.path.realpath(table.folder))
    path = root / part.path
    found = [str(path)] if path.is_file() else sorted(_walk(path))
    for file in found:
        if not Path(os.path.realpath(file)).is_relative_to(root):
            raise QueryError(
                f"The file {file} is not in the folder {root} of its dataset.",
                "Remove the link, or copy the file into the folder.",
            )
    return found


def _walk(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith((".", "_"))]
        for file in files:
            if not file.startswith((".", "_")):
                yield str(Path(place) / file)


class UnnamedFiles:
    """Files that no statement or view names: they are listed with their columns, and cannot be read."""

    def __init__(self, name: str, read_columns: Callable[[], pa.Schema]) -> None:
        self._name = name
        self._read_columns = read_columns

    def __arrow_c_schema__(self) -> object:
        return self._read_columns().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise QueryError(
            f"File set '{self._name}' cannot be read.", "Write its name as it is in the statement."
        )
