"""Directives that split texts to columns or rows, and those for records and lists in columns."""

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
from localcdap.java.regex import compile_regex
from localcdap.java.text_units import replace_halves, to_units
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    find_column,
    report_missing_column,
    require_text,
)
from localcdap.plugin_lib.wrangler.values.text_edits import find_syntax_problem

NULLABLE_TEXT = Schema.STRING.as_nullable


class _SplitDirective(Directive):
    """A directive whose last argument is the regular expression that separates the parts."""

    def problem(self) -> str | None:
        return find_syntax_problem(compile_regex, getattr(self, self.arguments[1].attribute))


@plugin(
    name="split-to-columns",
    description="Splits a text to the columns <column>_1, <column>_2 and so on.",
)
class SplitToColumns(_SplitDirective):
    categories = ("column",)
    examples = ("split-to-columns :codes '\\|'",)
    keeps_values = True
    column: str = argument.column("The column to split; rows without it are dropped.")
    regex: str = argument.text("The separator of the parts, a regular expression.")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "split", fails=False)
        columns.open_for(f"{self.column}_")

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        if row.find(self.column) is None:
            return ()
        parts = compile_regex(self.regex).split(require_text(row, self.column))
        for number, part in enumerate(parts, 1):
            row.add(f"{self.column}_{number}", part)
        return (row,)


@plugin(
    name="split-to-rows",
    description="Makes a row of each part of a text; the other columns are repeated.",
)
class SplitToRows(_SplitDirective):
    categories = ("row",)
    examples = ("split-to-rows :codes '\\|'",)
    column: str = argument.column("The column to split; rows without it are dropped.")
    regex: str = argument.text("The separator of the parts, a regular expression.")

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "split", fails=False):
            columns.put(self.column, Schema.STRING)

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None:
            return ()
        parts = compile_regex(self.regex).split(require_text(row, self.column))
        return [Row(row | {found: part}) for part in parts]


@plugin(
    name="set-record-delim",
    description="Makes a row of each part of a text and drops the other columns.",
)
class SetRecordDelimiter(_SplitDirective):
    categories = ("row",)
    examples = ("set-record-delim :body '\\n' 100",)
    whole_row = True
    column: str = argument.column("The column to split; rows without a text in it are dropped.")
    delimiter: str = argument.text("The separator of the rows, a regular expression.")
    limit: int | None = argument.number("The index of the last part to use, from 0.", default=None)

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "split", fails=False)
        columns.replace([(self.column, Schema.STRING)])
        columns.open = False

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        text = row.value(self.column)
        if not isinstance(text, str):
            return ()
        parts = compile_regex(self.delimiter).split(text)
        if self.limit is not None:
            # The original uses one part more than the limit says.
            parts = parts[: max(0, int(self.limit) + 1)]
        return [Row({self.column: part}) for part in parts]


@plugin(
    name="split",
    description="Splits a text in two. Deprecated: use split-to-columns or split-to-rows.",
)
class Split(_SplitDirective):
    categories = ("readable",)
    examples = ("split :name ',' :first :last",)
    makes = ("column1", "column2")
    source: str = argument.column("The column to split.")
    delimiter: str = argument.text("The separator of the two parts, a regular expression.")
    column1: str = argument.column(
        "The column for the first part, or for the second if the first is empty."
    )
    column2: str = argument.column("The column for the second part.")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "split")
        for name in (self.column1, self.column2):
            columns.add(name, NULLABLE_TEXT)

    def change(self, row: Row, context: RowContext) -> None:
        first: str | None = None
        last: str | None = None
        if row[find_column(row, self.source)] is not None:
            parts = compile_regex(self.delimiter).split(require_text(row, self.source), 2)
            if len(parts) < 2:
                raise DirectiveError(f"column '{self.source}' does not hold '{self.delimiter}'")
            first, last = (parts[0], parts[1]) if parts[0] else (parts[1], None)
        row.add(self.column1, first)
        row.add(self.column2, last)


@plugin(
    name="indexsplit",
    description="Cuts characters out by their positions. Deprecated: use cut-character.",
)
class IndexSplit(Directive):
    categories = ("transform",)
    examples = ("indexsplit :body 1 5 :start",)
    makes = ("destination",)
    source: str = argument.column("The column to cut from.")
    first: int = argument.number("The position of the first character, from 1.", name="start")
    end_position: int = argument.number("The position after the last character.", name="end")
    destination: str = argument.column("The new column.")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "take from")
        columns.add(self.destination, Schema.STRING)

    def change(self, row: Row, context: RowContext) -> None:
        text = to_units(require_text(row, self.source))
        start = max(0, int(self.first) - 1)
        end = min(int(self.end_position) - 1, len(text) - 1)
        if end < start:
            raise DirectiveError(
                f"column '{self.source}' has {len(text)} characters: too few to take from {self.first} "
                f"to {self.end_position}"
            )
        row.add(self.destination, replace_halves(text[start:end]))


@plugin(
    name="extract-regex-groups",
    description="Puts the groups of matches into the columns <column>_<match>_<group>.",
)
class ExtractRegexGroups(_SplitDirective):
    categories = ("transform",)
    examples = ("extract-regex-groups :title '[^(]+\\(([0-9]{4})\\).*'",)
    keeps_values = True
    column: str = argument.column("The column to match.")
    regex: str = argument.text("The regular expression, with groups.")

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "match", fails=False):
            columns.open_for(f"{self.column}_")

    def change(self, row: Row, context: RowContext) -> None:
        text = row.value(self.column)
        if not isinstance(text, str):
            return
        for count, match in enumerate(compile_regex(self.regex).find_all(text), 1):
            for number, group in enumerate(match.groups(), 1):
                row.add(f"{self.column}_{count}_{number}", group)


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
