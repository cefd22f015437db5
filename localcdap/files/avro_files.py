"""Avro files, read record by record."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import LogicalType, Schema, StageError
from localcdap.api.arrow import RecordCodec

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS: Final = 4096


def read_avro_records(file: str) -> Iterator[Any]:
    """Yield the records of a file as Avro's reader gives them.

    :raises ValueError: when the file is not Avro.
    :raises OSError: when it cannot be read.
    """
    import fastavro

    with open(file, "rb") as stream:  # noqa: PTH123
        yield from fastavro.reader(stream)


def read_avro_batches(
    file: str, schema: Schema, constants: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Yield the fields of a schema that the records of a file have; fields that they lack are null.

    :param constants: values of fields that are not in the file.
    :raises StageError: when the file is not Avro, or a value does not fit; it names the file and the records.
    """
    codec = RecordCodec(schema)
    parsed = [f.name for f in schema if f.schema.non_nullable.logical_type is LogicalType.DATETIME]
    count = 0
    try:
        records = read_avro_records(file)
        while chunk := list(itertools.islice(records, _ROWS)):
            for record in chunk:
                if not isinstance(record, dict):
                    raise StageError(f"A record is needed, not {record!r}.")
                for name in parsed:
                    if isinstance(record.get(name), str):
                        record[name] = datetime.datetime.fromisoformat(record[name])
                record.update(constants)
            yield codec.encode(chunk)
            count += len(chunk)
    except StageError as error:
        raise StageError(
            f"{error.message} File: {file}; records {count + 1} to {count + _ROWS}.",
            error.corrective_action,
        ) from None
    except Exception as error:
        raise StageError(
            f"File '{file}' cannot be read as Avro after {count} records: {error}.",
            "Check 'path' and 'format'.",
        ) from error
