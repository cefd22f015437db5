"""Directives for the texts of a column: their case, blanks around them, fixed and random values."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.directive import Columns, Directive, Frame, Row, RowContext, argument, plugin
from localcdap.api.schema import Schema
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    ColumnMap,
    TextMap,
    as_text,
    is_text,
    report_missing_column,
    require_text_column,
)
from localcdap.plugin_lib.wrangler.values.text_edits import unescape_java
from localcdap.text import nearest_name

if TYPE_CHECKING:
    from pyspark.sql import Column


SPACES: Final = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters that the trimming directives remove."""

_WORD_START: Final = re.compile(
    r"(?:^|(?<=[ \t\n\x0b\f\r\x1c-\x1f\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000])).",
    re.DOTALL,
)


class _SparkText(TextMap):
    """A change of texts for which Spark has a function."""

    spark: str
    """The name of the function in :mod:`pyspark.sql.functions`."""
    spark_arguments: tuple[str, ...] = ()

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions

        schema = frame.columns.schema(self.column)
        if schema is None or not is_text(schema):
            return
        given = [functions.lit(each) for each in self.spark_arguments]
        changed = getattr(functions, self.spark)(frame.column(self.column), *given)
        frame.put(self.column, changed, schema)


@plugin(name="uppercase", description="Changes texts to upper case.")
class Uppercase(_SparkText):
    categories = ("transform",)
    examples = ("uppercase :name",)
    spark = "upper"

    def map_text(self, text: str) -> str:
        return text.upper()


@plugin(name="lowercase", description="Changes texts to lower case.")
class Lowercase(_SparkText):
    categories = ("transform",)
    examples = ("lowercase :email",)
    spark = "lower"

    def map_text(self, text: str) -> str:
        return text.lower()


@plugin(
    name="titlecase",
    description="Changes the first letter of each word to upper case, the others to lower case.",
)
class Titlecase(TextMap):
    categories = ("transform",)
    examples = ("titlecase :title",)

    def map_text(self, text: str) -> str:
        return _WORD_START.sub(lambda first: _to_title_case(first.group()), text.lower())


def _to_title_case(letter: str) -> str:
    """Change a letter as ``Character.toTitleCase``: one whose title case is several letters stays."""
    titled = letter.title()
    return titled if len(titled) == 1 else letter


@plugin(name="trim", description="Removes the spaces at both ends of texts.")
class Trim(_SparkText):
    categories = ("transform",)
    examples = ("trim :name",)
    spark = "btrim"
    spark_arguments = (SPACES,)

    def map_text(self, text: str) -> str:
        return text.strip(SPACES)


@plugin(name="ltrim", description="Removes the spaces at the start of texts.")
class LeftTrim(_SparkText):
    categories = ("transform",)
    examples = ("ltrim :name",)
    spark = "ltrim"
    spark_arguments = (SPACES,)

    def map_text(self, text: str) -> str:
        return text.lstrip(SPACES)


@plugin(name="rtrim", description="Removes the spaces at the end of texts.")
class RightTrim(_SparkText):
    categories = ("transform",)
    examples = ("rtrim :name",)
    spark = "rtrim"
    spark_arguments = (SPACES,)

    def map_text(self, text: str) -> str:
        return text.rstrip(SPACES)


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
