"""Reads Avro records as rows, as the original does: dates are numbers, and decimals bytes."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator
from typing import Any, Final

from localcdap.api.directive.rows import Row
from localcdap.files.avro import drop_logical_types, open_stored_records
from localcdap.java.gson import write_json

_MAX_RECORDS: Final = 1_000_000
"""Records of one value; more are an attack rather than data."""


class AvroError(ValueError):
    """Bytes are not Avro of the schema, or the schema is invalid."""


class AvroSchema:
    """Reads records of a schema.

    :param text: the schema as JSON.
    :raises AvroError: for an invalid schema, or one that is not of a record.
    """

    def __init__(self, text: str) -> None:
        import fastavro

        try:
            plain = drop_logical_types(json.loads(text))
            self._schema: Any = fastavro.parse_schema(plain)
        except (
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
            fastavro.schema.SchemaParseException,
        ) as error:
            raise AvroError(f"the schema is not one of Avro: {_describe(error)}") from None
        if not isinstance(self._schema, dict) or self._schema.get("type") != "record":
            raise AvroError("the schema is not of a record")

    def read_binary(self, content: bytes) -> Iterator[Row]:
        """Read consecutive records; a last record that is cut off is ignored.

        :raises AvroError: for records that do not match the schema.
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
                raise AvroError(_describe(error)) from None
            yield _to_row(record)
            if stream.tell() == start:
                return

    def read_json(self, content: bytes) -> Iterator[Row]:
        """Read records in Avro's JSON, one a line.

        :raises AvroError: for records that do not match the schema.
        """
        import fastavro

        try:
            for record in fastavro.json_reader(io.StringIO(content.decode("utf-8")), self._schema):
                yield _to_row(record)
        except Exception as error:
            raise AvroError(_describe(error)) from None


def read_avro_rows(content: bytes) -> Iterator[Row]:
    """Read the records of a data file. Nested records become columns ``<name>_<field>``, lists and maps JSON.

    :raises AvroError: for bytes that are not a data file, or hold more than a million records.
    """
    import fastavro

    try:
        document, records = open_stored_records(io.BytesIO(content))
        schema = fastavro.parse_schema(drop_logical_types(document))
        names: dict[str, Any] = {}
        _collect_names(schema, names)
        for count, record in enumerate(records):
            if count >= _MAX_RECORDS:
                raise AvroError(f"there are more than {_MAX_RECORDS} records")
            row = Row()
            _flatten(record, schema, "", row, names)
            yield row
    except AvroError:
        raise
    except (Exception, zlib.error) as error:
        raise AvroError(f"it is not an Avro data file: {_describe(error)}") from None


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _to_row(record: Any) -> Row:
    """Convert a record to a row; lists and objects become JSON."""
    if not isinstance(record, dict):
        raise AvroError(f"a record is needed, not {type(record).__name__}")
    return Row({name: _to_json(value) for name, value in record.items()})


def _to_json(value: Any) -> Any:
    return write_json(value) if isinstance(value, dict | list) else value


def _flatten(record: Any, schema: Any, prefix: str, row: Row, names: dict[str, Any]) -> None:
    for field in schema["fields"]:
        value = record[field["name"]]
        inner = _find_record_schema(field["type"], value, names)
        name = prefix + field["name"]
        if inner is not None:
            _flatten(value, inner, f"{name}_", row, names)
        else:
            row.add(name, _to_json(value))


def _find_record_schema(type_: Any, value: Any, names: dict[str, Any]) -> Any:
    """Return the record schema that a value matches; None if there is none."""
    if not isinstance(value, dict):
        return None
    for each in type_ if isinstance(type_, list) else [type_]:
        schema = names.get(each) if isinstance(each, str) else each
        if not isinstance(schema, dict) or schema.get("type") != "record":
            continue
        if value.keys() == {field["name"] for field in schema["fields"]}:
            return schema
    return None


def _collect_names(schema: Any, names: dict[str, Any]) -> None:
    if isinstance(schema, list):
        for each in schema:
            _collect_names(each, names)
    elif isinstance(schema, dict):
        if "name" in schema and "fields" in schema:
            names[schema["name"]] = schema
        for field in schema.get("fields", ()):
            _collect_names(field["type"], names)
        for key in ("type", "items", "values"):
            if isinstance(schema.get(key), dict | list):
                _collect_names(schema[key], names)
