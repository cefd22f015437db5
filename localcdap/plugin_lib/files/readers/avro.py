"""Avro files, read record by record in Spark's Python workers."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import LogicalType, Schema, SourceContext, StageError
from localcdap.api.arrow import RecordCodec
from localcdap.plugin_lib.files.inputs import require_file_system
from localcdap.plugin_lib.files.readers.lines import PathField

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_ROWS: Final = 4096


@dataclasses.dataclass(frozen=True)
class AvroFile:
    """A file to read, and the value of the path field of its records."""

    file: str
    shown: str


def read_avro_files(
    context: SourceContext,
    files: Sequence[str],
    schema: Schema,
    path: PathField,
) -> DataFrame:
    """Read the fields of the schema from Avro files; fields that a file lacks are null."""
    require_file_system(context, files)
    tasks = [AvroFile(f, path.format_path(f)) for f in files]
    read = functools.partial(read_avro, schema=str(schema), path_field=path.name)
    return context.generate(schema, tasks, read)


def read_avro(task: AvroFile, schema: str, path_field: str | None) -> Iterator[pa.RecordBatch]:
    """Yield the records of a file in batches.

    :raises StageError: when the file is not Avro, or a value does not fit; it names the file and the records.
    """
    import fastavro

    wanted = Schema.parse(schema)
    codec = RecordCodec(wanted)
    parsed = [f.name for f in wanted if f.schema.non_nullable.logical_type is LogicalType.DATETIME]
    first = 0
    try:
        with open(task.file, "rb") as stream:  # noqa: PTH123
            records: Iterator[Any] = iter(fastavro.reader(stream))
            while chunk := list(itertools.islice(records, _ROWS)):
                rows = [_convert_record(record, parsed, task, path_field) for record in chunk]
                yield codec.encode(rows)
                first += len(rows)
    except StageError as error:
        last = first + _ROWS
        raise StageError(
            f"{error.message} File: {task.file}; records {first + 1} to {last}.",
            error.corrective_action,
        ) from None
    except Exception as error:
        raise StageError(
            f"File '{task.file}' cannot be read as Avro after {first} records: {error}.",
            "Check 'path' and 'format'.",
        ) from error


def _convert_record(
    record: Any, parsed: Sequence[str], task: AvroFile, path_field: str | None
) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise StageError(f"A record is needed, not {record!r}.")
    for name in parsed:
        if isinstance(record.get(name), str):
            record[name] = datetime.datetime.fromisoformat(record[name])
    if path_field is not None:
        record[path_field] = task.shown
    return record
