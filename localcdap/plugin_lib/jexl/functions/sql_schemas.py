"""Schemas in the notation ``name string not null, ids array<long>``: CDAP's ``SQLSchemaParser``."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api.schema import Field, Schema

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
