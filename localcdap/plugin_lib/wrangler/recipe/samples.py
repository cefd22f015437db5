"""A recipe tried on sampled records, and the schema that its rows propose.

Types that the directives tell are taken; those that only data can tell are read off the values, all of them
nullable (wrangler ``SchemaConverter``).
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.directive import Directive
from localcdap.api.directive.rows import Columns, Row
from localcdap.api.schema import Schema, Type
from localcdap.plugin_lib.wrangler.recipe.batch import Executor, RowFailure

_MOST_DIGITS: Final = 38


class Sampled(msgspec.Struct):
    """What a recipe makes of records."""

    rows: list[Row]
    failures: list[tuple[int, RowFailure]]
    """With the place of the record among those that were given."""
    schema: Schema | None
    """None when there are no columns."""


def sample(
    directives: Sequence[Directive],
    records: Iterable[Mapping[str, Any]],
    columns: Columns,
    arguments: Mapping[str, str],
) -> Sampled:
    """Run directives on records.

    :param columns: what is known of the columns behind the directives.
    """
    executor = Executor(directives, arguments)
    executor.start()
    rows: list[Row] = []
    failures: list[tuple[int, RowFailure]] = []
    for place, record in enumerate(records):
        made = executor.run(record)
        if isinstance(made, RowFailure):
            failures.append((place, made))
        else:
            rows += made
    executor.end()
    return Sampled(rows, failures, proposed(rows, columns))


def proposed(rows: Sequence[Row], columns: Columns) -> Schema | None:
    """The schema of rows: the columns that are known first, then those that rows have besides.

    Columns of which only data tell the type, and that no row has, are left out.
    """
    present = {name.lower() for row in rows for name in row}
    names = {
        name.lower(): name
        for name in columns
        if not rows or name.lower() in present or columns.schema(name) is not None
    }
    for row in rows:
        for name in row:
            names.setdefault(name.lower(), name)
    if not names:
        return None
    fields = [
        (name, columns.schema(name) or _settled(_type_of(row.value(name) for row in rows)))
        for name in names.values()
    ]
    return Schema.record("etlSchemaBody", fields)


def _type_of(values: Iterable[Any]) -> Schema:
    """The schema that all values fit, with null; text where they have nothing in common.

    The null type stands where all values are null.
    """
    found = Schema.NULL
    for value in values:
        found = _common(found, _schema_of(value))
    return found.as_nullable


def _settled(schema: Schema) -> Schema:
    """A schema with texts where nothing is known."""
    one = schema.non_nullable
    if one.type is Type.NULL:
        return Schema.STRING.as_nullable
    if one.items is not None:
        return Schema.array(_settled(one.items)).as_nullable
    if one.fields is not None:
        fields = [(field.name, _settled(field.schema)) for field in one]
        return Schema.record("record", fields).as_nullable
    return schema


def _schema_of(value: Any) -> Schema:
    match value:
        case None:
            return Schema.NULL
        case bool():
            return Schema.BOOLEAN
        case int():
            return Schema.LONG  # of what JSON holds, however small the samples are
        case float():
            return Schema.DOUBLE
        case decimal.Decimal():
            exponent = value.as_tuple().exponent
            return Schema.decimal(
                _MOST_DIGITS, max(0, -exponent) if isinstance(exponent, int) else 0
            )
        case bytes():
            return Schema.BYTES
        case list() | tuple():
            return Schema.array(_type_of(value))
        case dict():
            return _record_of(value)
    return _moment_of(value)


def _moment_of(value: Any) -> Schema:
    if isinstance(value, datetime.datetime):
        return Schema.DATETIME if value.tzinfo is None else Schema.TIMESTAMP
    if isinstance(value, datetime.date):
        return Schema.DATE
    return Schema.TIME if isinstance(value, datetime.time) else Schema.STRING


def _record_of(value: dict[Any, Any]) -> Schema:
    if not value:
        return Schema.map(Schema.STRING, Schema.STRING.as_nullable)
    return Schema.record("record", [(str(name), _type_of([each])) for name, each in value.items()])


_WIDTHS: Final = (Schema.LONG, Schema.DOUBLE)


def _common(one: Schema, other: Schema) -> Schema:
    if one == other or other.type is Type.NULL:
        return one
    if one.type is Type.NULL:
        return other
    if one in _WIDTHS and other in _WIDTHS:
        return max(one, other, key=_WIDTHS.index)
    if one.items is not None and other.items is not None:
        items = _common(one.items.non_nullable, other.items.non_nullable)
        return Schema.array(items.as_nullable)
    if one.scale is not None and other.scale is not None:
        return Schema.decimal(_MOST_DIGITS, max(one.scale, other.scale))
    if one.fields is not None and other.fields is not None:
        return _common_record(one, other)
    if {one.type, other.type} == {Type.MAP, Type.RECORD}:
        return one if one.type is Type.RECORD else other  # the map is an object without members
    return Schema.STRING


def _common_record(one: Schema, other: Schema) -> Schema:
    fields = {field.name: field.schema for field in one}
    for field in other:
        known = fields.get(field.name)
        if known is None:
            fields[field.name] = field.schema
        else:
            both = _common(known.non_nullable, field.schema.non_nullable)
            fields[field.name] = both.as_nullable
    return Schema.record("record", fields.items())
