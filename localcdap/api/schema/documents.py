"""Schema documents: CDAP's Avro-like JSON (CDAP 6 ``SchemaTypeAdapter``).

It differs from Avro in three ways: maps have ``keys``, enums have no name, and ``datetime`` is a logical type
of strings.
"""

from __future__ import annotations

import json
from typing import Any, Final

from localcdap.api.errors import SchemaError
from localcdap.api.schema.schema import Field, Schema
from localcdap.api.schema.types import LogicalType, Type

_TYPES: Final = {t.value: t for t in Type}
_LOGICAL: Final = {t.value: t for t in LogicalType}


def read_schema(document: str | dict[str, Any] | list[Any]) -> Schema:
    """See :meth:`Schema.parse`."""
    try:
        return _Reader().read(_decoded(document), "$")
    except RecursionError:
        raise SchemaError("The schema is nested too deeply.") from None


def schema_json(schema: Schema) -> Any:
    """See :meth:`Schema.to_json`."""
    return _write(schema, {})


def _decoded(document: str | dict[str, Any] | list[Any]) -> Any:
    """Plain JSON values; the bare name of a type stands for itself."""
    if not isinstance(document, str):
        return document
    text = document.strip()
    if text[:1] not in ("{", "[", '"'):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise SchemaError(f"The schema is not valid JSON: {error}.") from None


class _Reader:
    """One pass over one document; remembers the record names met so far."""

    def __init__(self) -> None:
        self._records: dict[str, Schema] = {}

    def read(self, node: Any, path: str) -> Schema:
        if isinstance(node, str):
            return self._named(node, path)
        if isinstance(node, list):
            return self._union(node, path)
        if isinstance(node, dict):
            return self._object(node, path)
        raise SchemaError(f"Expected a schema, got {json.dumps(node)} - at {path}.")

    def _named(self, name: str, path: str) -> Schema:
        if name in self._records:
            return self._records[name]
        type = _TYPES.get(name.lower())
        if type is None:
            raise SchemaError(f"Unknown type '{name}' - at {path}.")
        if not type.is_simple:
            raise SchemaError(f"Type '{name}' needs more than its name - at {path}.")
        return Schema(type)

    def _union(self, node: list[Any], path: str) -> Schema:
        if not node:
            raise SchemaError(f"A union needs at least one member - at {path}.")
        return Schema.union(self.read(m, f"{path}[{i}]") for i, m in enumerate(node))

    def _object(self, node: dict[str, Any], path: str) -> Schema:
        base = node.get("type")
        if base is None:
            raise SchemaError(f"Schema type cannot be null - at {path}.")
        if node.get("logicalType") is not None:
            return self._logical(node, path)
        if not isinstance(base, str):
            return self.read(base, f"{path}.type")
        match base.lower():
            case "enum":
                return self._enum(node, path)
            case "array":
                return Schema.array(self._part(node, "items", path))
            case "map":
                return self._map(node, path)
            case "record":
                return self._record(node, path)
            case _:
                return self._named(base, f"{path}.type")

    def _part(self, node: dict[str, Any], key: str, path: str) -> Schema:
        if node.get(key) is None:
            raise SchemaError(f"'{key}' is missing - at {path}.")
        return self.read(node[key], f"{path}.{key}")

    def _map(self, node: dict[str, Any], path: str) -> Schema:
        # Avro documents have no 'keys'; their keys are strings.
        keys = self._part(node, "keys", path) if "keys" in node else Schema.STRING
        return Schema.map(keys, self._part(node, "values", path))

    def _enum(self, node: dict[str, Any], path: str) -> Schema:
        symbols = node.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):
            raise SchemaError(f"An enum needs 'symbols', a list of strings - at {path}.")
        if len(set(symbols)) != len(symbols) or not symbols:
            raise SchemaError(f"The symbols of an enum must be unique, at least one - at {path}.")
        return Schema.enum(symbols)

    def _record(self, node: dict[str, Any], path: str) -> Schema:
        name = node.get("name")
        if not isinstance(name, str):
            raise SchemaError(f"A record needs a 'name' - at {path}.")
        fields = node.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"Record '{name}' needs 'fields', a list - at {path}.")
        self._records[name] = Schema.reference(name)  # inside itself; the whole record behind it
        seen: set[str] = set()
        made = []
        for i, field in enumerate(fields):
            here = f"{path}.fields[{i}]"
            if not isinstance(field, dict) or not isinstance(field.get("name"), str):
                raise SchemaError(f"A field needs a 'name' - at {here}.")
            if field["name"] in seen:
                raise SchemaError(f"Record '{name}' has two fields '{field['name']}' - at {here}.")
            seen.add(field["name"])
            made.append(Field(field["name"], self._part(field, "type", here)))
        self._records[name] = Schema.record(name, made)
        return self._records[name]

    def _logical(self, node: dict[str, Any], path: str) -> Schema:
        token = node["logicalType"]
        logical = _LOGICAL.get(token.lower()) if isinstance(token, str) else None
        if logical is None:
            raise SchemaError(f"Unknown logical type {json.dumps(token)} - at {path}.")
        if logical is not LogicalType.DECIMAL:
            return Schema(logical.base, logical_type=logical)
        return Schema.decimal(_digits(node, "precision", path), _digits(node, "scale", path))


def _digits(node: dict[str, Any], key: str, path: str) -> int:
    value = node.get(key, 0)
    try:
        digits = int(value)
    except (TypeError, ValueError, OverflowError):
        digits = None
    if digits is None or (isinstance(value, float) and digits != value):
        raise SchemaError(
            f"'{key}' of a decimal must be a whole number, not {json.dumps(value)} - at {path}."
        )
    return digits


def _write(schema: Schema, written: dict[str, Schema]) -> Any:
    if schema.logical_type is not None:
        out: dict[str, Any] = {
            "type": schema.type.value,
            "logicalType": schema.logical_type.value,
        }
        if schema.logical_type is LogicalType.DECIMAL:
            out |= {"precision": schema.precision, "scale": schema.scale}
        return out
    match schema.type:
        case Type.ENUM:
            return {"type": "enum", "symbols": list(schema.symbols)}
        case Type.ARRAY:
            return {"type": "array", "items": _write_part(schema.items, written)}
        case Type.MAP:
            keys = _write_part(schema.keys, written)
            return {"type": "map", "keys": keys, "values": _write_part(schema.values, written)}
        case Type.UNION:
            return [_write(member, written) for member in schema.members]
        case Type.RECORD:
            return _write_record(schema, written)
        case _:
            return schema.type.value


def _write_part(part: Schema | None, written: dict[str, Schema]) -> Any:
    return None if part is None else _write(part, written)


def _write_record(schema: Schema, written: dict[str, Schema]) -> Any:
    name = schema.name or ""
    if schema.fields is None or written.get(name) == schema:
        return name
    written[name] = schema
    fields = [{"name": f.name, "type": _write(f.schema, written)} for f in schema.fields]
    written[name] = schema  # a record of the same name within may have taken its place
    return {"type": "record", "name": name, "fields": fields}
