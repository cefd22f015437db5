"""Runs a recipe on sampled records, and proposes the schema of its rows.

Types that the directives know are used; the others are inferred from the values, all of them nullable
(wrangler ``SchemaConverter``).
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from localcdap.api.directive import Directive
from localcdap.api.directive.rows import Columns, Row
from localcdap.api.schema import Schema, Type
from localcdap.api.tables import Lookup
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
    lookups: Mapping[str, Lookup] = MappingProxyType({}),
) -> RecipeSampleResult:
    """Run directives on records.

    :param columns: what is known of the columns after the directives.
    :param output: the schema to which the rows are converted; None to leave the rows, and propose one.
    :param lookups: the tables that the directives name, by name.
    """
    executor = RecipeExecutor(directives, arguments, output, lookups=lookups)
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
    """Infer the schema of rows; see :class:`SchemaInference`."""
    inference = SchemaInference(columns)
    inference.add(rows)
    return inference.find_schema()


class SchemaInference:
    """The schema of rows that come in parts.

    The columns have the order of the rows where rows may have more than the known ones; else the known ones
    come first. A column without a known type that no row has is left out, but for columns of no rows at all.

    :param columns: what is known of the columns of the rows.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._names: dict[str, str] = {}
        """The names of the rows' columns by their lower case, as first seen."""
        self._types: dict[str, Schema] = {}
        """The types of these columns so far; the null type for one without values."""
        self._is_empty = True

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take the types of more rows."""
        self._is_empty = self._is_empty and not rows
        values: dict[str, list[Any]] = {}
        for row in rows:
            for name, value in row.items():
                values.setdefault(name, []).append(value)
        for name, each in values.items():
            key = name.lower()
            self._names.setdefault(key, name)
            if self._columns.schema(name) is None:
                self._types[key] = _merge_values(self._types.get(key, Schema.NULL), each)

    def find_schema(self) -> Schema | None:
        """Return the schema of the rows so far; None when there are no columns."""
        known = {
            name.lower(): name
            for name in self._columns
            if self._is_empty
            or name.lower() in self._names
            or self._columns.schema(name) is not None
        }
        first, second = (self._names, known) if self._columns.open else (known, self._names)
        names = {key: known.get(key) or self._names[key] for key in {**first, **second}}
        fields = [
            (name, self._columns.schema(name) or self._find_type(key))
            for key, name in names.items()
        ]
        return Schema.record("etlSchemaBody", fields) if fields else None

    def _find_type(self, key: str) -> Schema:
        return _replace_null(self._types.get(key, Schema.NULL).as_nullable)


def infer_column_type(values: Sequence[Any]) -> Schema:
    """Infer the nullable type of the values of a column; text if they have nothing in common, or are null."""
    return _replace_null(_merge_values(Schema.NULL, values).as_nullable)


_SIMPLE: Final[dict[type, Schema]] = {
    type(None): Schema.NULL,
    bool: Schema.BOOLEAN,
    int: Schema.LONG,  # of what JSON holds, however small the samples are
    float: Schema.DOUBLE,
    str: Schema.STRING,
    bytes: Schema.BYTES,
}
"""The types of values whose class determines them."""


def _merge_values(found: Schema, values: Sequence[Any]) -> Schema:
    """Return the type of values that follow others of a type."""
    classes = set(map(type, values))
    if classes <= _SIMPLE.keys():
        for cls in classes:
            found = _merge(found, _SIMPLE[cls])
        return found
    for value in values:
        found = _merge(found, _infer_value_type(value))
    return found


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
    simple = next((schema for cls, schema in _SIMPLE.items() if isinstance(value, cls)), None)
    if simple is not None:
        return simple
    match value:
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
