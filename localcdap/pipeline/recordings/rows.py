"""The rows of a recording: of a file, a folder of files, or a dataset."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec, from_arrow_schema
from localcdap.api.errors import BadRequestError, SchemaError
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.files.arrow_files import ArrowFiles, read_table_batches
from localcdap.files.avro import read_avro_records
from localcdap.files.delimited import UnreadableRow, read_named_records
from localcdap.files.encodings import READ_ERRORS, READ_HERE, open_text, strip_compression
from localcdap.files.json_records import read_json_records
from localcdap.files.schemas import read_avro_schema
from localcdap.files.types import guess_schema_of_rows

if TYPE_CHECKING:
    import pyarrow as pa

Rows = Iterator[Any]
"""Rows as decoded JSON; those of CSV files have only texts."""
SUFFIXES: Final = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".orc", ".avro")
_GUESSED: Final = 1000
"""The first rows, from which the schema of a text file is guessed."""
_BATCH: Final = 10_000


class RecordedRows:
    """The rows of a recording, with their own schema.

    :param open_rows: returns the rows from the first one on; it may be called several times.
    :param schema: None for rows that say no types, whose schema is guessed.
    :param is_text: whether all values are texts, as in CSV files.
    """

    def __init__(
        self, open_rows: Callable[[], Rows], schema: Schema | None = None, *, is_text: bool = False
    ) -> None:
        self.open: Final = open_rows
        self.is_text: Final = is_text
        self.schema: Final = schema or guess_schema_of_rows(
            itertools.islice(open_rows(), _GUESSED), is_text=is_text
        )


def open_file(path: Path) -> RecordedRows:
    """Return the rows of a file, or of all files of a folder in the order of their names.

    :raises BadRequestError: when there is no such file, or it cannot be read, is empty, or has a suffix of
        no known format.
    """
    files = _list_files(path)
    suffix = get_suffix(files[0])
    if suffix not in SUFFIXES:
        raise BadRequestError(
            f"'{files[0].name}' is of no format that recordings have.",
            f"Name a file that ends with {', '.join(SUFFIXES)}; {', '.join(READ_HERE)} may follow a text.",
        )
    if not any(each.stat().st_size for each in files):
        raise BadRequestError(
            f"The recording '{path}' is empty.",
            "Record it again, or generate records: generate:100",
        )
    try:
        return _open_format(files, suffix)
    except (*READ_ERRORS, ValueError, SchemaError) as error:
        raise BadRequestError(f"The recording '{path}' cannot be read: {error}") from None


def _open_format(files: list[Path], suffix: str) -> RecordedRows:
    match suffix:
        case ".csv" | ".tsv":
            delimiter = "," if suffix == ".csv" else "\t"
            return RecordedRows(_chain(files, lambda f: _read_csv(f, delimiter)), is_text=True)
        case ".parquet" | ".orc":
            return _open_arrow_files([str(file) for file in files], suffix.removeprefix("."))
        case ".avro":
            schema = read_avro_schema(str(files[0]))
            return RecordedRows(_chain(files, lambda file: _read_avro(file, schema)), schema)
    return RecordedRows(_chain(files, _read_json))


def open_table(table: pa.Table) -> RecordedRows:
    """Return the rows of an Arrow table.

    :raises SchemaError: for a column of a type that no schema has.
    """
    schema = from_arrow_schema(table.schema)
    codec = RecordCodec(schema)
    return RecordedRows(lambda: _decode(read_table_batches(table, schema, _BATCH), codec), schema)


def _open_arrow_files(files: list[str], format: str) -> RecordedRows:
    arrow_files = ArrowFiles(files, format)
    schema = arrow_files.schema
    codec = RecordCodec(schema)
    return RecordedRows(lambda: _decode(arrow_files.read_batches(_BATCH), codec), schema)


def _decode(batches: Iterator[pa.RecordBatch], codec: RecordCodec) -> Rows:
    try:
        for batch in batches:
            yield from map(encode_json_record, codec.decode(batch))
    except BadRequestError as error:
        raise BadRequestError(
            f"The recording cannot be read. {error.message}", error.corrective_action
        ) from None


def _read_avro(file: Path, schema: Schema) -> Rows:
    return map(encode_json_record, read_avro_records(str(file), schema))


def get_suffix(file: Path) -> str:
    """Return the suffix of a file in lower case, without that of a compression."""
    return Path(strip_compression(file.name.lower())).suffix


def _list_files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(
            f for f in path.rglob("*") if f.is_file() and not f.name.startswith(("_", "."))
        )
        if not found:
            raise BadRequestError(f"The folder '{path}' of a recording has no files.")
        return found
    if not path.is_file():
        raise BadRequestError(
            f"There is no recording '{path}'.",
            "Correct the path, or make the file: localcdap record PIPELINE STAGE -o FILE",
        )
    return [path]


def _chain(files: list[Path], read: Callable[[Path], Rows]) -> Callable[[], Rows]:
    def read_all() -> Rows:
        for file in files:
            try:
                yield from read(file)
            except (*READ_ERRORS, ValueError) as error:
                raise BadRequestError(f"The recording '{file}' cannot be read: {error}") from None

    return read_all


def _read_csv(file: Path, delimiter: str) -> Rows:
    with open_text(file) as text:
        yield from read_named_records(text, str(file), delimiter)


def _read_json(file: Path) -> Rows:
    with open_text(file) as text:
        for record in read_json_records(text):
            if isinstance(record, UnreadableRow):
                raise BadRequestError(f"The recording '{file}': {record.message}")
            yield record
