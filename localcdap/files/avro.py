"""Writing of Avro data files."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import IO, Any

from localcdap.api import LogicalType, Schema, Type


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
