"""The rows of a recording: of a file, a folder of files, or a dataset."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec, from_arrow_schema
from localcdap.api.errors import BadRequestError, SchemaError
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.files.types import guess_schema_of_rows

if TYPE_CHECKING:
    import pyarrow as pa

Rows = Iterator[Any]
"""Rows as decoded JSON; those of CSV files have only texts."""
SUFFIXES: Final = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".orc", ".avro")
_GZIP: Final = ".gz"
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
            f"Name a file that ends with {', '.join(SUFFIXES)}; .gz may follow a text format.",
        )
    if not any(each.stat().st_size for each in files):
        raise BadRequestError(
            f"The recording '{path}' is empty.",
            "Record it again, or generate records: generate:100",
        )
    try:
        return _open_format(files, suffix)
    except (OSError, ValueError, StopIteration, SchemaError) as error:
        raise BadRequestError(f"The recording '{path}' cannot be read: {error}") from None


def _open_format(files: list[Path], suffix: str) -> RecordedRows:
    match suffix:
        case ".csv" | ".tsv":
            delimiter = "," if suffix == ".csv" else "\t"
            return RecordedRows(_chain(files, lambda f: _read_csv(f, delimiter)), is_text=True)
        case ".parquet" | ".orc":
            return _open_arrow_files(files, suffix.removeprefix("."))
        case ".avro":
            return RecordedRows(_chain(files, _read_avro), _read_avro_schema(files[0]))
    return RecordedRows(_chain(files, _read_json))


def open_table(table: pa.Table) -> RecordedRows:
    """Return the rows of an Arrow table.

    :raises SchemaError: for a column of a type that no schema has.
    """
    schema = from_arrow_schema(table.schema)
    codec = RecordCodec(schema)

    def read() -> Rows:
        done = 0
        for batch in table.to_batches(_BATCH):
            yield from map(encode_json_record, codec.decode(_cast(batch, codec, done)))
            done += batch.num_rows

    return RecordedRows(read, schema)


def get_suffix(file: Path) -> str:
    """Return the suffix of a file in lower case, without that of a compression."""
    name = file.name.lower().removesuffix(_GZIP)
    return Path(name).suffix


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
            except (OSError, ValueError, StopIteration) as error:
                raise BadRequestError(f"The recording '{file}' cannot be read: {error}") from None

    return read_all


def _open_text(file: Path) -> IO[str]:
    if file.name.lower().endswith(_GZIP):
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _read_csv(file: Path, delimiter: str) -> Rows:
    def check_header(header: list[str]) -> None:
        if len(set(header)) < len(header) or "" in header:
            raise BadRequestError(
                f"The recording '{file}' has no header.",
                "The first line must name every column once.",
            )

    with _open_text(file) as stream:
        yield from read_csv(stream, file, delimiter, check_header)


def read_csv(
    stream: IO[str], file: Path, delimiter: str, check_header: Callable[[list[str]], None]
) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file with a header, without empty lines.

    :param file: for messages.
    :param check_header: raises a BadRequestError for a wrong header; that of an empty file is empty.
    :raises BadRequestError: when the file is not CSV, or a row has another number of values; it has the line.
    """
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        check_header(header)
        for row in reader:
            if row and len(row) != len(header):
                raise BadRequestError(
                    f"{file}:{reader.line_num}: {len(row)} values, but {len(header)} columns.",
                    "Write a value for each column in every line; put quotes around a value with a comma.",
                )
            if row:
                yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise BadRequestError(f"{file}:{reader.line_num}: {error}.") from None


def _read_json(file: Path) -> Rows:
    """Yield the objects of an array, or of lines."""
    with _open_text(file) as stream:
        first = next((line for line in stream if line.strip()), "")
        if first.lstrip().startswith("["):
            yield from _decode(first + stream.read(), f"{file}")
            return
        for number, line in enumerate(itertools.chain([first], stream), start=1):
            if line.strip():
                yield _decode(line, f"{file}, object {number}")


def _decode(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"{where} is not valid JSON: {error}.") from None


def _read_avro(file: Path) -> Rows:
    import fastavro

    with file.open("rb") as stream:
        yield from map(encode_json_record, fastavro.reader(stream))


def _read_avro_schema(file: Path) -> Schema:
    import fastavro

    with file.open("rb") as stream:
        return Schema.parse_record(json.dumps(fastavro.reader(stream).writer_schema))


def _open_arrow_files(files: list[Path], format: str) -> RecordedRows:
    import pyarrow.dataset as pd

    dataset = pd.dataset([str(file) for file in files], format=format)
    schema = from_arrow_schema(dataset.schema)
    codec = RecordCodec(schema)

    def read() -> Rows:
        done = 0
        for batch in dataset.to_batches(batch_size=_BATCH):
            yield from map(encode_json_record, codec.decode(_cast(batch, codec, done)))
            done += batch.num_rows

    return RecordedRows(read, schema)


def _cast(batch: pa.RecordBatch, codec: RecordCodec, done: int) -> pa.RecordBatch:
    """Return a batch with the types of a schema.

    :param done: the number of rows before the batch, for messages.
    :raises BadRequestError: when a value would change, such as nanoseconds that become microseconds.
    """
    import pyarrow as pa

    columns = [_cast_column(batch.column(each.name), each, done) for each in codec.arrow]
    return pa.RecordBatch.from_arrays(columns, schema=codec.arrow)


def _cast_column(column: pa.Array, field: pa.Field, done: int) -> pa.Array:
    import pyarrow as pa

    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        row = _find_uncastable(column, field.type)
        raise BadRequestError(
            f"Row {done + row + 1:,} of the recording: field '{field.name}' has the value "
            f"{column[row]}, which does not fit the type {field.type} unchanged: {error}",
            f"Round the field, or keep it as text; in the recording it is of type {column.type}.",
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
