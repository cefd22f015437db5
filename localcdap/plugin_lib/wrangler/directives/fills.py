"""Directives that fill columns: with a fixed value, two joined columns, or a random identifier."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from localcdap.api.directive import Columns, Directive, Frame, Row, RowContext, argument, plugin
from localcdap.api.schema import Schema
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.native_helpers import (
    as_text,
    is_text,
    require_text_column,
)
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap
from localcdap.plugin_lib.wrangler.values.text_edits import unescape_java
from localcdap.text import nearest_name

if TYPE_CHECKING:
    from pyspark.sql import Column


@plugin(
    name="fill-null-or-empty", description="Puts a value where a column is null, empty or missing."
)
class FillNullOrEmpty(ColumnMap):
    categories = ("transform",)
    examples = ("fill-null-or-empty :city 'unknown'",)
    column: str = argument.column("The column to fill.")
    value: str = argument.text("The text to fill in.")

    def problem(self) -> str | None:
        return None if self.value else "the value must not be empty"

    def propagate(self, columns: Columns) -> None:
        schema = columns.schema(self.column)
        if columns.is_missing(self.column) and nearest_name(self.column, columns) is not None:
            report_missing_column(columns, self.column, "fill", fails=False)
        if is_text(schema) or columns.is_missing(self.column):
            columns.put(self.column, Schema.STRING)
        else:
            columns.put(self.column, None if schema is None or schema.is_nullable else schema)

    def change(self, row: Row, context: RowContext) -> None:
        if row.find(self.column) is None:
            row[self.column] = self.value
        else:
            super().change(row, context)

    def map(self, value: Any) -> Any:
        return self.value if value is None or value == "" else value

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        if frame.columns.find(self.column) is None:
            frame.put(self.column, f.lit(self.value), Schema.STRING)
            return
        require_text_column(frame, self.column)
        value = frame.column(self.column)
        filled = f.when(value.isNull() | (value == ""), f.lit(self.value)).otherwise(value)
        frame.put(self.column, filled, Schema.STRING)


@plugin(name="merge", description="Joins two columns to a third one.")
class Merge(Directive):
    categories = ("column",)
    examples = ("merge :first :last :fullname ' '",)
    makes = ("destination",)
    column1: str = argument.column("The column whose text comes first.")
    column2: str = argument.column("The column whose text comes last.")
    destination: str = argument.column("The new column.")
    separator: str = argument.text(
        r"The text between the two; the escapes \n, \t and \u000A are read."
    )

    @cached_property
    def _between(self) -> str:
        return unescape_java(self.separator)

    def propagate(self, columns: Columns) -> None:
        missing = [
            report_missing_column(columns, name, "merge", fails=False)
            for name in (self.column1, self.column2)
        ]
        if not any(missing) and columns.find(self.destination) is None:
            columns.add(
                self.destination, Schema.STRING.as_nullable if columns.open else Schema.STRING
            )

    def change(self, row: Row, context: RowContext) -> None:
        first, last = row.find(self.column1), row.find(self.column2)
        if first is not None and last is not None and row.find(self.destination) is None:
            joined = f"{to_java_string(row[first])}{self._between}{to_java_string(row[last])}"
            row[self.destination] = joined

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        def read_text_or_null(name: str) -> Column:
            return f.coalesce(as_text(frame, name), f.lit("null"))

        joined = f.concat(
            read_text_or_null(self.column1), f.lit(self._between), read_text_or_null(self.column2)
        )
        if frame.columns.find(self.destination) is None:
            frame.put(self.destination, joined, Schema.STRING)


@plugin(name="generate-uuid", description="Puts a random identifier into a column.")
class GenerateUuid(Directive):
    categories = ("transform", "uuid")
    examples = ("generate-uuid :id",)
    makes = ("column",)
    column: str = argument.column("The column for the identifier, new or existing.")

    def propagate(self, columns: Columns) -> None:
        columns.put(self.column, Schema.STRING)

    def change(self, row: Row, context: RowContext) -> None:
        import uuid

        row.put(self.column, str(uuid.uuid4()))

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        frame.put(self.column, f.uuid(), Schema.STRING)
