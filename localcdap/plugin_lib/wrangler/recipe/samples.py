"""Runs a recipe on sampled records, and proposes the schema of its rows.

Types that the directives know are used; the others are inferred from the values, all of them nullable
(wrangler ``SchemaConverter``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from localcdap.api.directive import Directive, DirectiveError
from localcdap.api.directive.rows import Columns, Row
from localcdap.api.schema import Schema
from localcdap.api.tables import Lookup
from localcdap.files.types import EXACT_IN_DOUBLE, infer_value_type, merge_types, replace_unknown
from localcdap.java.strings import LiteralFloat
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure, make_failure
from localcdap.plugin_lib.wrangler.recipe.output import OutputConverter


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
    results = [executor.run(record) for record in records]
    executor.end()
    schema = output
    if output is None:
        schema = infer_schema([row for made in _list_made(results) for row in made], columns)
        if schema is not None:
            convert = OutputConverter(schema).convert
            results = [_check(made, convert) for made in results]
    failures = [(n, each) for n, each in enumerate(results) if isinstance(each, RowFailure)]
    return RecipeSampleResult(
        [row for made in _list_made(results) for row in made], failures, schema
    )


def _list_made(results: Iterable[list[Any] | RowFailure]) -> Iterator[list[Any]]:
    return (made for made in results if not isinstance(made, RowFailure))


def _check(
    made: list[Any] | RowFailure, convert: Callable[[Row], object]
) -> list[Any] | RowFailure:
    """Return the failure of a record whose rows cannot be converted to the output, else its rows."""
    try:
        for row in () if isinstance(made, RowFailure) else made:
            convert(row)
    except DirectiveError as error:
        return make_failure(str(error))
    return made


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
        return replace_unknown(self._types.get(key, Schema.NULL), all_nullable=True)


def infer_column_type(values: Sequence[Any]) -> Schema:
    """Infer the nullable type of the values of a column; text if they have nothing in common, or are null."""
    return replace_unknown(_merge_values(Schema.NULL, values), all_nullable=True)


def _merge_values(found: Schema, values: Sequence[Any]) -> Schema:
    """Return the type of values that follow others of a type."""
    kinds = set(map(type, values))
    if len(kinds - _SIMPLE) == 0:
        wide = [each for each in values if type(each) is int and abs(each) > EXACT_IN_DOUBLE]
        values = [*{type(value): value for value in values}.values(), *wide]
    for value in values:
        found = merge_types(found, infer_value_type(value))
    return found


_SIMPLE: Final = frozenset((type(None), bool, int, float, LiteralFloat, str, bytes))
"""Classes whose values all have the same type, but for large whole numbers."""
