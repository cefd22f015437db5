"""Directives for records and lists in columns."""

from __future__ import annotations

from collections.abc import Iterable

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema, Type
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column


@plugin(name="create-record", description="Makes a record of columns, in a new column.")
class CreateRecord(Directive):
    categories = ("column",)
    examples = ("create-record :address :street,:city",)
    makes = ("target_column",)
    target_column: str = argument.column("The column for the record.", name="target_column")
    columns: list[str] = argument.columns("The columns of the record; null is left out.")

    def propagate(self, columns: Columns) -> None:
        fields: list[tuple[str, Schema]] = []
        for name in self.columns:
            schema = columns.schema(name)
            if schema is not None:
                fields.append((name, schema.as_nullable))
            elif not columns.is_missing(name):
                columns.put(self.target_column, None)
                return
        columns.put(
            self.target_column, Schema.record(self.target_column, fields) if fields else None
        )

    def change(self, row: Row, context: RowContext) -> None:
        record = Row()
        for name in self.columns:
            value = row.value(name)
            if value is not None:
                record.put(name, value)
        row.put(self.target_column, record)


@plugin(
    name="flatten-record",
    description="Puts the values of a record into the columns <column>_<name>.",
)
class FlattenRecord(Directive):
    categories = ("column",)
    examples = ("flatten-record :address",)
    whole_row = True
    keeps_values = True
    columns: list[str] = argument.columns("The columns with records; null is ignored.")

    def propagate(self, columns: Columns) -> None:
        for column in self.columns:
            schema = columns.schema(column)
            if schema is None:
                columns.open = columns.open or columns.find(column) is not None
            elif schema.non_nullable.type is not Type.RECORD:
                columns.fail(f"Column '{column}' is {schema.display_name}, not a record.")
            else:
                for field in schema.non_nullable:
                    columns.put(f"{column}_{field.name}", field.schema.as_nullable)

    def change(self, row: Row, context: RowContext) -> None:
        for column in self.columns:
            record = row.value(column)
            if record is None:
                continue
            if not isinstance(record, dict):
                raise DirectiveError(
                    f"column '{column}' is a {type(record).__name__}, not a record"
                )
            for name, value in record.items():
                row.put(f"{column}_{name}", value)

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        for column in self.columns:
            schema = frame.columns.schema(column)
            if schema is None:
                continue
            if schema.non_nullable.type is not Type.RECORD:
                raise NoNativeFormError(f"column '{column}' is not a record")
            record = frame.column(column)
            for field in schema.non_nullable:
                name = f"{column}_{field.name}"
                if frame.columns.find(name) is not None:
                    raise NoNativeFormError(f"there is a column '{name}' already")
                value = f.when(record.isNotNull(), record.getField(field.name))
                frame.put(name, value, field.schema.as_nullable)


@plugin(
    name="flatten",
    description="Makes a row of each element of lists; the other columns are repeated.",
)
class Flatten(Directive):
    categories = ("row",)
    examples = ("flatten :codes", "flatten :codes,:names")
    column: list[str] = argument.columns(
        "The columns with lists, read in parallel; null fills up a shorter list."
    )

    def propagate(self, columns: Columns) -> None:
        missing = [name for name in self.column if columns.is_missing(name)]
        for name in missing[:1] if len(missing) == len(self.column) else missing:
            report_missing_column(columns, name, "flatten", fails=False)
        for name in self.column:
            schema = columns.schema(name)
            if schema is not None and schema.non_nullable.type is Type.ARRAY:
                items = schema.non_nullable.items
                columns.put(name, None if items is None else items.as_nullable)
            elif schema is None or len(self.column) > 1:
                columns.put(name, None if schema is None else schema.as_nullable)

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = [row.find(name) for name in self.column]
        lists = {name: row[name] for name in found if name is not None}
        if not lists:
            return []
        count = max(len(value) if isinstance(value, list) else 1 for value in lists.values())
        missing = [n for n, f in zip(self.column, found, strict=True) if f is None]
        return [self._make_row(row, lists, missing, number) for number in range(max(1, count))]

    def _make_row(self, row: Row, lists: dict[str, object], missing: list[str], number: int) -> Row:
        made = Row(row)
        for name, value in lists.items():
            if isinstance(value, list):
                made[name] = value[number] if number < len(value) else None
        for name in missing:
            made.put(name, None)
        return made
