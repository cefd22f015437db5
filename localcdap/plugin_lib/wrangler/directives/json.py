"""JSON within texts."""

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
from localcdap.plugin_lib.wrangler.directives.columns import no_column
from localcdap.plugin_lib.wrangler.directives.error_messages import mismatched
from localcdap.plugin_lib.wrangler.directives.flattener import FlattenDirective

_PARTS: Final = (Type.RECORD, Type.MAP, Type.ARRAY, Type.UNION)


@plugin(
    type="directive",
    name="parse-as-json",
    description="Opens JSON: an object becomes columns <column>_<name>, an array rows. Rows whose value is "
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
        if no_column(columns, self.column, "parse", fails=False):
            return
        not_readable(columns, self.column)
        columns.remove(self.column)  # it is there again where it held an array
        columns.open = True

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None or row[found] is None:
            return ()
        value = json_of(row[found], self.column)
        del row[found]
        if isinstance(value, Mapping):
            self.open(value, self.column, row)
            return (row,)
        if not isinstance(value, list):
            return ()
        return [self._with(row, each) for each in value] or (row,)

    def _with(self, row: Row, element: Any) -> Row:
        made = Row(row)
        made.add(self.column, to_column_value(element))
        return made


@plugin(
    type="directive",
    name="json-path",
    description="Puts what a JSON path selects into a column. Rows whose value is null or missing are "
    "dropped, as in the original.",
)
class JsonPath(Directive):
    categories = ("parser", "json")
    examples = ("json-path :body :title '$.book[0].title'", "json-path :body :titles '$..title'")
    source: str = argument.column("The column with JSON, or with an object or array of JSON.")
    destination: str = argument.column("The column that gets what is found.")
    json_path: str = argument.text(
        "The path, such as $.items[*].name. Where it can find one thing at most, finding none is an error.",
        name="json-path",
    )

    def problem(self) -> str | None:
        try:
            parse_path(self.json_path)
        except JsonPathError as error:
            return str(error)
        return None

    def propagate(self, columns: Columns) -> None:
        if not no_column(columns, self.source, "read", fails=False):
            not_readable(columns, self.source)
        columns.put(self.destination, None)

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        value = row.value(self.source)
        if value is None:
            return ()
        read = json_of(value, self.source)
        try:
            found = select(read, self.json_path)
        except NothingFoundError as error:
            raise DirectiveError(f"column '{self.source}': {error}") from None
        row.put(self.destination, to_column_value(found))
        return (row,)


def not_readable(columns: Columns, name: str) -> None:
    """Tell that a column can hold no JSON, where that is certain."""
    schema = columns.schema(name)
    if schema is None or schema.non_nullable == Schema.STRING:
        return
    if schema.non_nullable.type not in _PARTS:
        columns.fail(
            f"Column '{name}' is {schema.non_nullable.display_name}, not JSON.",
            "Choose a column with texts, or set-type it to string before.",
        )


def json_of(value: Any, column: str) -> Any:
    """A text read as JSON, a part of JSON as it is.

    :raises DirectiveError: when it is neither.
    """
    if isinstance(value, str):
        try:
            return read_json(value.strip(TRIM_CHARACTERS))
        except JsonError as error:
            raise DirectiveError(f"column '{column}': {error}") from None
    if not isinstance(value, Mapping | list):
        raise mismatched(column, value, "a text, object or array is needed")
    return value
