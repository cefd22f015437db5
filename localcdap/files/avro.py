"""Avro data files, read and written record by record."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Final

from localcdap.api import LogicalType, Schema, StageError, Type
from localcdap.api.arrow import RecordCodec

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS: Final = 4096


def write_avro_records(
    stream: IO[bytes], schema: Schema, records: Iterable[Any], codec: str = "null"
) -> None:
    """Write records as an Avro data file. A datetime without a zone, which Avro does not have, is text.

    :param codec: one of fastavro's, such as ``null``, ``deflate`` and ``snappy``.
    """
    import fastavro

    document = fastavro.parse_schema(to_avro_schema(schema))
    fastavro.writer(stream, document, map(_to_avro_value, records), codec=codec)


def _to_avro_value(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _to_avro_value(part) for key, part in value.items()}
    return [_to_avro_value(part) for part in value] if isinstance(value, list) else value


def to_avro_schema(schema: Schema) -> Any:
    """Return the Avro schema document of a record schema: enums with names, maps of strings."""
    return _AvroNames().build_document(schema, schema.name or "record")


class _AvroNames:
    """Gives each record and enum of a schema a unique name, as Avro requires."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def build_document(self, schema: Schema, path: str) -> Any:
        if schema.type is Type.UNION:
            return [
                self.build_document(m, f"{path}_{i}")
                for i, m in enumerate(_sort_null_first(schema))
            ]
        if schema.logical_type is not None:
            return _build_logical_type(schema)
        match schema.type:
            case Type.ENUM:
                return {
                    "type": "enum",
                    "name": self._make_name(path),
                    "symbols": list(schema.symbols),
                }
            case Type.ARRAY if schema.items is not None:
                return {"type": "array", "items": self.build_document(schema.items, f"{path}_item")}
            case Type.MAP if schema.values is not None:
                return {
                    "type": "map",
                    "values": self.build_document(schema.values, f"{path}_value"),
                }
            case Type.RECORD:
                fields = [
                    {"name": f.name, "type": self.build_document(f.schema, f"{path}_{f.name}")}
                    for f in schema
                ]
                return {"type": "record", "name": self._make_name(path), "fields": fields}
        return schema.type.value

    def _make_name(self, path: str) -> str:
        base = "".join(c if c.isascii() and c.isalnum() else "_" for c in path)
        name = base if not base[:1].isdigit() else f"_{base}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _sort_null_first(union: Schema) -> list[Schema]:
    return sorted(union.members, key=lambda member: member.type is not Type.NULL)


def _build_logical_type(schema: Schema) -> Any:
    if schema.logical_type is None or schema.logical_type is LogicalType.DATETIME:
        return "string"
    made: dict[str, Any] = {"type": schema.type.value, "logicalType": schema.logical_type.value}
    if schema.logical_type is LogicalType.DECIMAL:
        made |= {"precision": schema.precision, "scale": schema.scale or 0}
    return made


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
