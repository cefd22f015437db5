"""Directives that write rows as CSV or JSON."""

from __future__ import annotations

from typing import Any

from localcdap.api.directive import Columns, Directive, Row, RowContext, argument, plugin
from localcdap.api.schema import Schema
from localcdap.java import commons_csv
from localcdap.java.gson import write_json
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column


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
