"""Schemas as rows of a table, compared with the schemas that went in."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from localcdap.api.schema import Field, Schema, Type
from localcdap.tui.schema_text import format_schema_type


class FieldMark(enum.Enum):
    """The change of a field; the value is its glyph."""

    SAME = " "
    ADDED = "+"
    CHANGED = "~"
    DROPPED = "-"


class SchemaRow(NamedTuple):
    """A field, or a part of one."""

    mark: FieldMark
    depth: int
    """0 for a field of the record, 1 for a field of a record in it, and so on."""
    name: str
    type: str
    is_nullable: bool
    was: str
    """The type of the input, where it was another one."""


def compare_fields(schema: Schema, before: Iterable[Schema] | None = None) -> list[SchemaRow]:
    """Return the rows of a schema's fields, each followed by the fields of its record.

    :param before: the input schemas, to mark what is different; None to mark nothing. A field counts as the
        same when it is the same in one of them; those that are in none of the output come last.
    """
    found: list[SchemaRow] = []
    given: dict[str, list[Schema]] = {}
    for each in before or ():
        for field in each:
            given.setdefault(field.name, []).append(field.schema)
    for field in schema:
        mark, was = _compare_fields(field, given) if before is not None else (FieldMark.SAME, "")
        found += _list_rows(field, 0, mark, was)
    for name, schemas in given.items():
        if schema.field(name) is None:
            found += _list_rows(Field(name, schemas[0]), 0, FieldMark.DROPPED, "")
    return found


def _compare_fields(field: Field, given: dict[str, list[Schema]]) -> tuple[FieldMark, str]:
    schemas = given.get(field.name)
    if not schemas:
        return FieldMark.ADDED, ""
    if field.schema in schemas:
        return FieldMark.SAME, ""
    return FieldMark.CHANGED, format_schema_type(schemas[0])


def _list_rows(field: Field, depth: int, mark: FieldMark, was: str) -> Iterator[SchemaRow]:
    inner = _find_element(field.schema.non_nullable)
    is_record = inner.type is Type.RECORD and inner.fields is not None
    type = (
        _format_record_type(field.schema)
        if is_record
        else format_schema_type(field.schema).removesuffix("?")
    )
    yield SchemaRow(mark, depth, field.name, type, field.schema.is_nullable, was)
    if is_record and mark is not FieldMark.DROPPED:
        for part in inner:
            yield from _list_rows(part, depth + 1, FieldMark.SAME, "")


def _find_element(schema: Schema) -> Schema:
    """Return the innermost element schema of an array; any other schema unchanged."""
    while schema.type is Type.ARRAY and schema.items is not None:
        schema = schema.items.non_nullable
    return schema


def _format_record_type(schema: Schema) -> str:
    """Return the type of a record, or of an array of records, without the fields."""
    inner = schema.non_nullable
    if inner.type is Type.ARRAY and inner.items is not None:
        return f"array<{_format_record_type(inner.items)}>"
    return f"record {inner.name}" if inner.name else "record"
