"""``ddl:``: schemas and parts of records (CDAP's ``DDL``). A record is a map of its fields."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import re
from typing import Any

from localcdap.api.schema import Field, Schema, Type
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace
from localcdap.plugin_lib.jexl.functions.sql_schemas import parse_sql_schema

ddl = FunctionNamespace("ddl")

_STEP = re.compile(r"([^\[]+)(?:\[(.*)\])?")


def _steps(path: str | None) -> list[tuple[str, str | None]]:
    """Return the names of a path with their indexes: ``a.b[0]`` is [(a, None), (b, "0")]."""
    steps = []
    for part in (path or "").split("."):
        found = _STEP.fullmatch(part)
        if found is None:
            raise ValueError(f"Invalid field '{part}': a '[' must end with a ']'")
        steps.append((found.group(1), found.group(2)))
    return steps


@ddl("O -> O")
def parse(document: Any) -> Any:
    return Schema.parse(document) if isinstance(document, str) else document


@ddl("S -> O!")
def parsesql(text: str | None) -> Schema:
    if text is None:
        raise ValueError("the text is null")
    return parse_sql_schema(text)


@ddl("O S -> B")
def hasField(record: Any, name: str | None) -> bool:
    if isinstance(record, Schema):
        return record.field(name or "") is not None
    return isinstance(record, dict) and name in record


@ddl("O -> O")
def toJson(record: Any) -> Any:
    return record.to_json() if isinstance(record, Schema) else record


@ddl("O S -> O")
def select(start: Any, path: str | None) -> Any:
    """Return the schema or the value at a path."""
    if isinstance(start, Schema):
        for name, key in _steps(path):
            start = _sub_schema(start.non_nullable, name, key, path)
        return start
    for name, key in _steps(path):
        start = _sub_value(start, name, key, path)
    return start


def _sub_schema(schema: Schema, name: str, key: str | None, path: str | None) -> Schema:
    field = schema.field(name)
    if field is None:
        raise ValueError(f"Nested field '{name}' in path '{path}' does not exist")
    if key is None:
        return field.schema
    inner = field.schema.non_nullable
    if inner.type is Type.ARRAY and inner.items is not None and key.isdigit():
        return inner.items
    if inner.type is Type.MAP and inner.values is not None:
        return inner.values
    raise ValueError(
        f"'{name}[{key}]' in path '{path}' is not an element: '{name}' is of type {inner.type.value}"
    )


def _sub_value(record: Any, name: str, key: str | None, path: str | None) -> Any:
    if not isinstance(record, dict) or name not in record:
        raise ValueError(f"Nested field '{name}' in path '{path}' does not exist")
    value = record[name]
    if key is None:
        return value
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and key.isdigit() and int(key) < len(value):
        return value[int(key)]
    raise ValueError(f"There is no '{name}[{key}]' in path '{path}'")


@ddl("O S S* -> O")
def drop(start: Any, path: str | None, *paths: str | None) -> Any:
    """Return a schema without the fields at some paths; a record is returned unchanged, as in the
    original.
    """
    if not isinstance(start, Schema):
        return start
    for one in (path, *paths):
        start = _without(start, _steps(one))
    return start


def _without(schema: Schema, steps: list[tuple[str, str | None]]) -> Schema:
    if schema.is_nullable:
        return _without(schema.non_nullable, steps).as_nullable
    if schema.type is Type.ARRAY and schema.items is not None:
        return Schema.array(_without(schema.items, steps))
    if schema.type is not Type.RECORD:
        return schema
    (name, _), rest = steps[0], steps[1:]
    fields = []
    for field in schema:
        if field.name != name:
            fields.append(field)
        elif rest:
            fields.append(Field(name, _without(field.schema, rest)))
    return Schema.record(schema.name or "record", fields)
