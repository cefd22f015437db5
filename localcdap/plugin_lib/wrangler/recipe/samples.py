"""Runs a recipe on sampled records, and proposes the schema of its rows.

Types that the directives know are used; the others are inferred from the values, all of them nullable
(wrangler ``SchemaConverter``).
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
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure

_MAX_DIGITS: Final = 38


class RecipeSampleResult(msgspec.Struct):
    """The output of a recipe for sampled records."""

    rows: list[dict[str, Any]]
    """:class:`Row` unless they are converted."""
    failures: list[tuple[int, RowFailure]]
    """Each with the index of its record."""
    schema: Schema | None
    """None if there are no columns."""


def run_sample(
    directives: Sequence[Directive],
    records: Iterable[Mapping[str, Any]],
    columns: Columns,
    arguments: Mapping[str, str],
    output: Schema | None = None,
) -> RecipeSampleResult:
    """Run directives on records.

    :param columns: what is known of the columns after the directives.
    :param output: the schema to which the rows are converted; None to leave the rows, and propose one.
    """
    executor = RecipeExecutor(directives, arguments, output)
    executor.start()
    rows: list[Any] = []
    failures: list[tuple[int, RowFailure]] = []
    for index, record in enumerate(records):
        made = executor.run(record)
        if isinstance(made, RowFailure):
            failures.append((index, made))
        else:
            rows += made
    executor.end()
    return RecipeSampleResult(rows, failures, output or infer_schema(rows, columns))


def infer_schema(rows: Sequence[Row], columns: Columns) -> Schema | None:
    """Infer the schema of rows: first the known columns, then the other columns of the rows.

    A column without a known type that no row has is left out.
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
        (name, columns.schema(name) or _replace_null(_infer_type(row.value(name) for row in rows)))
        for name in names.values()
    ]
    return Schema.record("etlSchemaBody", fields)


def _infer_type(values: Iterable[Any]) -> Schema:
    """Infer the nullable schema of all values; text if they have nothing in common.

    The null type is the type of values that are all null.
    """
    found = Schema.NULL
    for value in values:
        found = _merge(found, _infer_value_type(value))
    return found.as_nullable


def _replace_null(schema: Schema) -> Schema:
    """Return a schema with text in place of the null type."""
    one = schema.non_nullable
    if one.type is Type.NULL:
        return Schema.STRING.as_nullable
    if one.items is not None:
        return Schema.array(_replace_null(one.items)).as_nullable
    if one.fields is not None:
        fields = [(field.name, _replace_null(field.schema)) for field in one]
        return Schema.record("record", fields).as_nullable
    return schema


def _infer_value_type(value: Any) -> Schema:
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
                _MAX_DIGITS, max(0, -exponent) if isinstance(exponent, int) else 0
            )
        case bytes():
            return Schema.BYTES
        case list() | tuple():
            return Schema.array(_infer_type(value))
        case dict():
            return _infer_record(value)
    return _infer_time_type(value)


def _infer_time_type(value: Any) -> Schema:
    if isinstance(value, datetime.datetime):
        return Schema.DATETIME if value.tzinfo is None else Schema.TIMESTAMP
    if isinstance(value, datetime.date):
        return Schema.DATE
    return Schema.TIME if isinstance(value, datetime.time) else Schema.STRING


def _infer_record(value: dict[Any, Any]) -> Schema:
    if not value:
        return Schema.map(Schema.STRING, Schema.STRING.as_nullable)
    return Schema.record(
        "record", [(str(name), _infer_type([each])) for name, each in value.items()]
    )


_WIDTHS: Final = (Schema.LONG, Schema.DOUBLE)


def _merge(one: Schema, other: Schema) -> Schema:
    if one == other or other.type is Type.NULL:
        return one
    if one.type is Type.NULL:
        return other
    if one in _WIDTHS and other in _WIDTHS:
        return max(one, other, key=_WIDTHS.index)
    if one.items is not None and other.items is not None:
        items = _merge(one.items.non_nullable, other.items.non_nullable)
        return Schema.array(items.as_nullable)
    if one.scale is not None and other.scale is not None:
        return Schema.decimal(_MAX_DIGITS, max(one.scale, other.scale))
    if one.fields is not None and other.fields is not None:
        return _merge_records(one, other)
    if {one.type, other.type} == {Type.MAP, Type.RECORD}:
        return one if one.type is Type.RECORD else other  # the map is an object without members
    return Schema.STRING


def _merge_records(one: Schema, other: Schema) -> Schema:
    fields = {field.name: field.schema for field in one}
    for field in other:
        known = fields.get(field.name)
        if known is None:
            fields[field.name] = field.schema
        else:
            both = _merge(known.non_nullable, field.schema.non_nullable)
            fields[field.name] = both.as_nullable
    return Schema.record("record", fields.items())
