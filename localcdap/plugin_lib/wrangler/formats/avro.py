"""Records of Avro as rows, as the original sees them: dates and decimals are numbers and bytes."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator
from typing import Any, Final

from localcdap.api.directive.rows import Row
from localcdap.java.gson import write_json

_MOST: Final = 1_000_000
"""Records of one value; more are a bomb rather than data."""

_HEADER: Final[Any] = {
    "type": "record",
    "name": "Header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": 16}},
    ],
}


class AvroError(ValueError):
    """Bytes are no Avro of the schema, or the schema is none."""


class AvroSchema:
    """Reads records of a schema.

    :param text: the schema as JSON.
    :raises AvroError: when it is none, or not of a record.
    """

    def __init__(self, text: str) -> None:
        import fastavro

        try:
            plain = _plain(json.loads(text))
            self._schema: Any = fastavro.parse_schema(plain)
        except (
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
            fastavro.schema.SchemaParseException,
        ) as error:
            raise AvroError(f"the schema is none of Avro: {_told(error)}") from None
        if not isinstance(self._schema, dict) or self._schema.get("type") != "record":
            raise AvroError("the schema is not of a record")

    def binary(self, content: bytes) -> Iterator[Row]:
        """The records that stand one behind the other; a last one that is cut off does not count.

        :raises AvroError: when they are not of the schema.
        """
        import fastavro

        stream = io.BytesIO(content)
        while stream.tell() < len(content):
            start = stream.tell()
            try:
                record = fastavro.schemaless_reader(stream, self._schema, None)
            except EOFError:
                return
            except Exception as error:
                raise AvroError(_told(error)) from None
            yield _top(record)
            if stream.tell() == start:
                return

    def from_json(self, content: bytes) -> Iterator[Row]:
        """Records in Avro's JSON, one a line.

        :raises AvroError: when they are not of the schema.
        """
        import fastavro

        try:
            for record in fastavro.json_reader(io.StringIO(content.decode("utf-8")), self._schema):
                yield _top(record)
        except Exception as error:
            raise AvroError(_told(error)) from None


def read_avro_rows(content: bytes) -> Iterator[Row]:
    """The records of a data file; records within become columns ``<name>_<field>``, lists and maps JSON.

    :raises AvroError: when it is no such file, or holds more than a million records.
    """
    import fastavro

    try:
        reader = fastavro.reader(_without_logical_types(content))
        schema = reader.writer_schema
        names: dict[str, Any] = {}
        _named(schema, names)
        for count, record in enumerate(reader):
            if count >= _MOST:
                raise AvroError(f"there are more than {_MOST} records")
            row = Row()
            _flatten(record, schema, "", row, names)
            yield row
    except AvroError:
        raise
    except (Exception, zlib.error) as error:
        raise AvroError(f"it is no Avro data file: {_told(error)}") from None


def _without_logical_types(content: bytes) -> io.BytesIO:
    """A data file with a header that says nothing of dates and decimals."""
    import fastavro

    stream = io.BytesIO(content)
    header: Any = fastavro.schemaless_reader(stream, _HEADER, None)
    schema = header["meta"]["avro.schema"]
    if b"logicalType" not in schema:
        return io.BytesIO(content)
    header["meta"]["avro.schema"] = json.dumps(_plain(json.loads(schema))).encode()
    made = io.BytesIO()
    fastavro.schemaless_writer(made, _HEADER, header)
    made.write(content[stream.tell() :])
    made.seek(0)
    return made


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _top(record: Any) -> Row:
    """A record as a row: lists and objects are texts in JSON."""
    if not isinstance(record, dict):
        raise AvroError(f"a record is needed, not {type(record).__name__}")
    return Row({name: _text(value) for name, value in record.items()})


def _text(value: Any) -> Any:
    return write_json(value) if isinstance(value, dict | list) else value


def _flatten(record: Any, schema: Any, prefix: str, row: Row, names: dict[str, Any]) -> None:
    for field in schema["fields"]:
        value = record[field["name"]]
        inner = _record_of(field["type"], value, names)
        name = prefix + field["name"]
        if inner is not None:
            _flatten(value, inner, f"{name}_", row, names)
        else:
            row.add(name, _text(value))


def _record_of(type_: Any, value: Any, names: dict[str, Any]) -> Any:
    """The schema of a record that a value is of, None where it is none."""
    if not isinstance(value, dict):
        return None
    for each in type_ if isinstance(type_, list) else [type_]:
        schema = names.get(each) if isinstance(each, str) else each
        if not isinstance(schema, dict) or schema.get("type") != "record":
            continue
        if value.keys() == {field["name"] for field in schema["fields"]}:
            return schema
    return None


def _plain(schema: Any) -> Any:
    """A schema without logical types, which the original does not read."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if isinstance(schema, dict):
        return {
            key: _plain(value) if key in ("type", "items", "values", "fields") else value
            for key, value in schema.items()
            if key != "logicalType"
        }
    return schema


def _named(schema: Any, names: dict[str, Any]) -> None:
    if isinstance(schema, list):
        for each in schema:
            _named(each, names)
    elif isinstance(schema, dict):
        if "name" in schema and "fields" in schema:
            names[schema["name"]] = schema
        for field in schema.get("fields", ()):
            _named(field["type"], names)
        for key in ("type", "items", "values"):
            if isinstance(schema.get(key), dict | list):
                _named(schema[key], names)
