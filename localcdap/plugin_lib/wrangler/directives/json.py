"""Directives that read JSON in texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema, Type
from localcdap.java.gson import JsonError, read_json, to_column_value
from localcdap.java.json_path import JsonPathError, NothingFoundError, parse_path, select
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_type_error
from localcdap.plugin_lib.wrangler.directives.flattener import FlattenDirective

_JSON_TYPES: Final = (Type.RECORD, Type.MAP, Type.ARRAY, Type.UNION)


@plugin(
    name="parse-as-json",
    description="Parses JSON: an object becomes columns <column>_<name>, an array rows. Rows whose value is "
    "null, missing or a single value are dropped, as in the original.",
)
class ParseAsJson(FlattenDirective):
    categories = ("parser", "json")
    examples = ("parse-as-json :body", "parse-as-json :body 1")
    column: str = argument.column("The column with JSON, or with an object or array of JSON.")
    depth: int | None = argument.number(
        "How many levels of objects become columns; all without it.", default=None
    )

    def propagate(self, columns: Columns) -> None:
        if report_missing_column(columns, self.column, "parse", fails=False):
            return
        report_unreadable_json(columns, self.column)
        columns.remove(self.column)  # an array puts it back
        columns.open_for(self.column)

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None or row[found] is None:
            return ()
        value = read_json_value(row[found], self.column)
        del row[found]
        if isinstance(value, Mapping):
            self.flatten(value, self.column, row)
            return (row,)
        if not isinstance(value, list):
            return ()
        return [self._make_row(row, each) for each in value] or (row,)

    def _make_row(self, row: Row, element: Any) -> Row:
        made = Row(row)
        made.add(self.column, to_column_value(element))
        return made


@plugin(
    name="json-path",
    description="Puts the values that a JSON path selects into a column. Rows whose value is null or missing "
    "are dropped, as in the original.",
)
class JsonPath(Directive):
    categories = ("parser", "json")
    examples = ("json-path :body :title '$.book[0].title'", "json-path :body :titles '$..title'")
    makes = ("destination",)
    source: str = argument.column("The column with JSON, or with an object or array of JSON.")
    destination: str = argument.column("The column for the selected values.")
    json_path: str = argument.text(
        "The path, such as $.items[*].name. A path for one value at most must find it.",
        name="json-path",
    )

    def problem(self) -> str | None:
        try:
            parse_path(self.json_path)
        except JsonPathError as error:
            return str(error)
        return None

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.source, "read", fails=False):
            report_unreadable_json(columns, self.source)
        columns.put(self.destination, None)

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        value = row.value(self.source)
        if value is None:
            return ()
        read = read_json_value(value, self.source)
        try:
            found = select(read, self.json_path)
        except NothingFoundError as error:
            raise DirectiveError(f"column '{self.source}': {error}") from None
        row.put(self.destination, to_column_value(found))
        return (row,)


def report_unreadable_json(columns: Columns, name: str) -> None:
    """Report a column that certainly cannot hold JSON."""
    schema = columns.schema(name)
    if schema is None or schema.non_nullable == Schema.STRING:
        return
    if schema.non_nullable.type not in _JSON_TYPES:
        columns.fail(
            f"Column '{name}' is {schema.non_nullable.display_name}, not JSON.",
            "Choose a column with texts, or set-type it to string before.",
        )


def read_json_value(value: Any, column: str) -> Any:
    """Return a text parsed as JSON, and an object or array as it is.

    :raises DirectiveError: for any other value.
    """
    if isinstance(value, str):
        try:
            return read_json(value.strip(TRIM_CHARACTERS))
        except JsonError as error:
            raise DirectiveError(f"column '{column}': {error}") from None
    if not isinstance(value, Mapping | list):
        raise make_type_error(column, value, "a text, object or array is needed")
    return value
