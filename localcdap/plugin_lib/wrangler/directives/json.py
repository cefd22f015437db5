"""Directives that read JSON in texts, or write rows as JSON or CSV."""

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
from localcdap.java import commons_csv
from localcdap.java.gson import JsonError, read_json, to_column_value, write_json
from localcdap.java.json_path import JsonPathError, NothingFoundError, parse_path, select
from localcdap.java.strings import TRIM_CHARACTERS, to_java_string
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    make_type_error,
    report_missing_column,
)


class FlattenDirective(Directive):
    """A directive that makes columns of the members of an object, and of the objects in it."""

    column: str
    depth: int | None

    def problem(self) -> str | None:
        if self.depth is None or self.depth == int(self.depth):
            return None
        return f"the depth {self.depth} is not a whole number"

    def flatten(self, value: Mapping[str, Any], name: str, row: Row) -> None:
        """Add the columns ``<name>_<member>`` to a row.

        :raises DirectiveError: for objects that are nested too deeply for Python.
        """
        try:
            _flatten(value, name, None if self.depth is None else int(self.depth), row)
        except RecursionError:
            raise DirectiveError(
                f"column '{name}': objects are nested too deeply; give a depth"
            ) from None


def _flatten(members: Mapping[str, Any], name: str, depth: int | None, row: Row) -> None:
    """Add the members of an object, and of objects in it, to a row as columns ``<name>_<member>``.

    Arrays stay whole, as do objects below the depth.

    :param depth: how many levels are flattened: 1 for the members alone, None for all.
    :raises RecursionError: for objects that are nested a thousand times.
    """
    if depth is not None and depth < 1:
        row.put(name, dict(members))
        return
    below = None if depth is None else depth - 1
    for member, value in members.items():
        column = f"{name}_{member}"
        if isinstance(value, Mapping):
            _flatten(value, column, below, row)
        else:
            row.add(column, to_column_value(value))


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


@plugin(name="write-as-csv", description="Writes the whole row as a line of CSV into a column.")
class WriteAsCsv(Directive):
    categories = ("writer", "csv")
    examples = ("write-as-csv :body",)
    whole_row = True
    makes = ("column",)
    column: str = argument.column("The column for the line; an existing one stays.")

    def propagate(self, columns: Columns) -> None:
        if columns.find(self.column) is None:
            columns.add(self.column, Schema.STRING)

    def change(self, row: Row, context: RowContext) -> None:
        fields = ["" if value is None else to_java_string(value) for value in row.values()]
        if row.find(self.column) is None:
            row.add(self.column, commons_csv.DEFAULT.format_row(fields))


@plugin(
    name="write-as-json-map",
    description="Writes the whole row as JSON into a column; null is left out.",
)
class WriteAsJsonMap(Directive):
    categories = ("writer", "json")
    examples = ("write-as-json-map :body",)
    whole_row = True
    makes = ("column",)
    column: str = argument.column("The column for the JSON.")

    def propagate(self, columns: Columns) -> None:
        columns.put(self.column, Schema.STRING)

    def change(self, row: Row, context: RowContext) -> None:
        row.put(self.column, write_json(row))


@plugin(name="write-as-json-object", description="Puts a JSON object of columns into a column.")
class WriteAsJsonObject(Directive):
    categories = ("writer", "json")
    examples = ("write-as-json-object :body :number,:text,:address",)
    makes = ("column",)
    column: str = argument.column("The column for the object.")
    col: list[str] = argument.columns("The columns of the object, null ones included.", default=())

    def problem(self) -> str | None:
        return None if self.col else "the columns that the object is made of are missing"

    def propagate(self, columns: Columns) -> None:
        for name in self.col:
            report_missing_column(columns, name, "write", fails=False)
        columns.put(self.column, None)

    def change(self, row: Row, context: RowContext) -> None:
        members: dict[str, Any] = {name: row.value(name) for name in self.col}
        row.put(self.column, members)
