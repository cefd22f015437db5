"""Avro data files, read and written record by record."""

from __future__ import annotations

import datetime
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Final

from localcdap.api import Schema, StageError, Type
from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import describe_reason
from localcdap.files.avro_values import AvroTypes, build_record_conversion
from localcdap.files.writers import format_local_time

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS: Final = 4096
_HEADER: Final[Any] = {
    "type": "record",
    "name": "Header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": 16}},
    ],
}
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.]")


# -- writing --------------------------------------------------------------------------------


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
        return format_local_time(value)
    if isinstance(value, dict):
        return {key: _to_avro_value(part) for key, part in value.items()}
    return [_to_avro_value(part) for part in value] if isinstance(value, list) else value


def to_avro_schema(schema: Schema) -> Any:
    """Return the Avro schema document of a record schema (CDAP 6 ``StructuredToAvroTransformer``).

    It is the schema's own document, with the names that Avro requires: each enum has one, each record one of
    its own, and characters that Avro's names do not have are underscores.
    """
    return _AvroNames().build_document(schema, schema.name or "record")


class _AvroNames:
    """Gives each record and enum of a schema a unique name, as Avro requires."""

    def __init__(self) -> None:
        self._named: dict[str, Schema | None] = {}

    def build_document(self, schema: Schema, path: str) -> Any:
        match schema.type:
            case Type.UNION:
                return [self.build_document(m, f"{path}_{i}") for i, m in enumerate(schema.members)]
            case Type.ENUM:
                return schema.to_json() | {"name": self._make_name(path, None)}
            case Type.ARRAY if schema.items is not None:
                return {"type": "array", "items": self.build_document(schema.items, f"{path}_item")}
            case Type.MAP if schema.keys is not None and schema.values is not None:
                values = self.build_document(schema.values, f"{path}_value")
                return {"type": "map", "keys": schema.keys.to_json(), "values": values}
            case Type.RECORD:
                if self._named.get(schema.name or "") == schema:
                    return schema.name
                name = self._make_name(schema.name or path, schema)
                fields = [
                    {"name": f.name, "type": self.build_document(f.schema, f"{path}_{f.name}")}
                    for f in schema
                ]
                return {"type": "record", "name": name, "fields": fields}
        return schema.to_json()

    def _make_name(self, path: str, schema: Schema | None) -> str:
        base = _NO_NAME.sub("_", path)
        name = base if not base[:1].isdigit() else f"_{base}"
        while name in self._named:
            name += "_"
        self._named[name] = schema
        return name


# -- reading --------------------------------------------------------------------------------


class _JoinedStream:
    """Bytes, then the rest of a stream; all that fastavro's reader needs of a file."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def read(self, size: int) -> bytes:
        content = self._head.read(size)
        return content + self._rest.read(size - len(content)) if len(content) < size else content


def open_stored_records(stream: IO[bytes]) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a data file as decoded JSON, and its records with the values of Avro's own types.

    fastavro by itself makes dates, decimals and UUIDs of what logical types tell. Avro's generic records,
    which CDAP reads, do not.

    :raises ValueError: or an EOFError, when the content is not Avro; iterating raises it, too.
    """
    import fastavro

    header: Any = fastavro.schemaless_reader(stream, _HEADER, None)
    document = json.loads(header["meta"]["avro.schema"])
    header["meta"]["avro.schema"] = json.dumps(drop_logical_types(document)).encode()
    head = io.BytesIO()
    fastavro.schemaless_writer(head, _HEADER, header)
    return document, iter(fastavro.reader(_JoinedStream(head.getvalue(), stream)))


def drop_logical_types(schema: Any) -> Any:
    """Return an Avro schema document without logical types."""
    if isinstance(schema, list):
        return [drop_logical_types(member) for member in schema]
    if isinstance(schema, dict):
        return {
            key: drop_logical_types(value)
            if key in ("type", "items", "values", "fields")
            else value
            for key, value in schema.items()
            if key != "logicalType"
        }
    return schema


def read_avro_records(file: str, schema: Schema) -> Iterator[dict[str, Any]]:
    """Yield the records of a file with the values of a schema; fields that the file lacks are null.

    :raises StageError: when a type of the file cannot become that of a field, or a value does not fit.
    :raises ValueError: when the file is not Avro.
    :raises OSError: when it cannot be read.
    """
    with open(file, "rb") as stream:  # noqa: PTH123
        document, records = open_stored_records(stream)
        convert = build_record_conversion(AvroTypes(document), schema)
        for record in records:
            yield convert(record)


def read_avro_batches(
    file: str, schema: Schema, constants: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Yield the fields of a schema that the records of a file have; fields that they lack are null.

    :param constants: values of fields that are not in the file.
    :raises StageError: when the file is not Avro, or a value does not fit; it names the file and the records.
    """
    codec = RecordCodec(schema)
    content = Schema.record("record", [f for f in schema if f.name not in constants])
    count = 0
    try:
        records = read_avro_records(file, content)
        while chunk := list(itertools.islice(records, _ROWS)):
            for record in chunk:
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
            f"File '{file}' cannot be read as Avro after {count} records: {describe_reason(error)}.",
            "Check 'path' and 'format'.",
        ) from error
