"""``ddl:``: schemas and parts of records (CDAP's ``DDL``). A record is a map of its fields.

Schemas in the notation ``name string not null, ids array<long>``: CDAP's ``SQLSchemaParser``.
"""

# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import re
from typing import Any, Final

from localcdap.api.schema import Field, Schema, Type
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

_SIMPLE: Final = {
    "boolean": Schema.BOOLEAN,
    "int": Schema.INT,
    "long": Schema.LONG,
    "float": Schema.FLOAT,
    "double": Schema.DOUBLE,
    "bytes": Schema.BYTES,
    "string": Schema.STRING,
    "null": Schema.NULL,
}
_TOKEN: Final = re.compile(r"[^\s:,<>]*")
_NOT_NULL: Final = "not null"
_DEEPEST: Final = 100


def parse_sql_schema(text: str) -> Schema:
    """Return the record that columns of SQL describe; a type without ``not null`` is nullable.

    :raises ValueError: for a text that is not in the notation.
    """
    parser = _Parser(text.strip().lower())
    fields = []
    while not parser.is_at_end:
        name = parser.read_token()
        parser.require_space("a space between column name and type")
        fields.append(Field(name, parser.read_type(0)))
        if parser.is_at_end:
            break
        parser.pass_comma("a comma between columns")
    return Schema.record("rec", fields)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._records = 0

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._text)

    def read_token(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return found[0]

    def require_space(self, expected: str) -> None:
        before = self._at
        self._skip_space()
        if self._at == before or self.is_at_end:
            self._fail(expected)

    def pass_comma(self, expected: str) -> None:
        self._skip_space()
        self._pass(",", expected)
        self._skip_space()

    def read_type(self, depth: int) -> Schema:
        if depth > _DEEPEST:
            raise ValueError(f"schema is malformed: it has more than {_DEEPEST} levels")
        name = self.read_token()
        if name in _SIMPLE:
            schema = _SIMPLE[name]
        elif name in ("array", "map", "record", "union"):
            self._pass("<", f"a '<' after {name}")
            self._skip_space()
            schema = self._read_inner(name, depth + 1)
        else:
            raise ValueError(f"Unknown data type {name}")
        self._skip_space()
        if self._text.startswith(_NOT_NULL, self._at):
            self._at += len(_NOT_NULL)
            return schema
        return schema.as_nullable

    def _read_inner(self, name: str, depth: int) -> Schema:
        if name == "record":
            return self._read_record(depth)
        if name == "union":
            types = [self.read_type(depth)]
            while not self._pass_bracket():
                self.pass_comma("a comma between the types of a union")
                types.append(self.read_type(depth))
            return Schema.union(types)
        first = self.read_type(depth)
        if name == "map":
            self.pass_comma("a comma between the types of keys and values")
            schema = Schema.map(first, self.read_type(depth))
        else:
            schema = Schema.array(first)
        self._skip_space()
        self._pass(">", f"a '>' after the types of {name}")
        return schema

    def _read_record(self, depth: int) -> Schema:
        self._records += 1
        record = f"rec{self._records}"
        fields = []
        while True:
            name = self.read_token()
            self._pass(":", "a ':' between field name and type")
            fields.append(Field(name, self.read_type(depth)))
            if self._pass_bracket():
                return Schema.record(record, fields)
            self.pass_comma("a comma between the fields of a record")

    def _pass_bracket(self) -> bool:
        self._skip_space()
        is_there = self._text.startswith(">", self._at)
        self._at += is_there
        return is_there

    def _skip_space(self) -> None:
        while not self.is_at_end and self._text[self._at].isspace():
            self._at += 1

    def _pass(self, character: str, expected: str) -> None:
        if not self._text.startswith(character, self._at):
            self._fail(expected)
        self._at += 1

    def _fail(self, expected: str) -> None:
        raise ValueError(f"schema is malformed at character {self._at + 1}: expected {expected}")


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
