"""Bases of shipped directives, and how these are declared.

A directive is a class in a module of :mod:`localcdap.plugin_lib.wrangler.directives`, marked as a
plugin of type ``directive`` and written as :mod:`localcdap.api.directive` says::

    @plugin(name="rename", description="Renames a column.")
    class Rename(Directive):
        categories = ("column",)
        source: str = argument.column("The column to rename.", name="source")
        ...

The registry finds the directives in all modules of that package. Heavy libraries such as pyspark are imported
inside the functions that use them.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    ErrorRow,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
)
from localcdap.api.schema import Schema
from localcdap.plugin_lib.suggestions import suggest_name

if TYPE_CHECKING:
    from pyspark.sql import Column


class ColumnMap(Directive):
    """A directive that replaces each value of one column. A missing column is ignored."""

    column: str = argument.column("The column that is changed.")

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Return the new value for a value, which may be None.

        :raises DirectiveError: for a value that cannot be changed.
        """

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is not None:
            row[found] = self.map(row[found])


class TextMap(ColumnMap):
    """A directive that replaces the texts of one column; values of other types stay."""

    @abstractmethod
    def map_text(self, text: str) -> str:
        """Return the new text for a text."""

    def map(self, value: Any) -> Any:
        return self.map_text(value) if isinstance(value, str) else value


def make_schema_like(columns: Columns, name: str, made: Schema) -> Schema:
    """Return a schema that is nullable unless the column is known without null.

    :param made: the schema without null.
    """
    before = columns.schema(name)
    is_certain = before is not None and not before.is_nullable
    return made if is_certain else made.as_nullable


def make_text_schema_like(columns: Columns, name: str) -> Schema:
    """Return the schema of a text that is null where the column is null."""
    return make_schema_like(columns, name, Schema.STRING)


def describe_value(value: object) -> str:
    """Return the type of a value for messages: ``null``, ``a float``."""
    return "null" if value is None else f"a {type(value).__name__}"


def format_type_mismatch(column: str, value: object, wanted: str = "a text is needed") -> str:
    """Return the message for a value of another type than the wanted one."""
    return f"column '{column}' is {describe_value(value)}; {wanted}"


def make_type_error(column: str, value: object, wanted: str = "a text is needed") -> DirectiveError:
    """Return the error with which a row fails, see :func:`format_type_mismatch`."""
    return DirectiveError(format_type_mismatch(column, value, wanted))


def format_error_record(message: str, code: int, directive: str) -> str:
    """Return the message of an error record, with its code and directive as in the original."""
    return f"{message} (ecode: {code}, directive: {directive})"


def make_error_row(message: str, code: int, directive: str) -> ErrorRow:
    """Return the error that sends a row to the error port, see :func:`format_error_record`."""
    return ErrorRow(format_error_record(message, code, directive), code)


WHOLE_NUMBERS: Final = (Schema.INT, Schema.LONG)

_PLAIN_REGEX: Final = re.compile(
    r"""(?x)
    (?: [^\\\[\](){}*+?|^$]                                  # a character that stands for itself
      | \\[dDwWsStnr] | \\[^\w\s]                            # a class, a quoted character
      | \[\^?(?: [^\\\[\]&^] | \\[dDwWsStnr] | \\[^\w\s] )+\]   # a class in brackets
      | [()|^$] | \(\?: | [*+?] | \{\d+(?:,\d*)?\}
    )*"""
)
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]|[*+?}][*+{]")


def is_text(schema: Schema | None) -> bool:
    """Whether a schema is text, nullable or not."""
    return schema is not None and schema.non_nullable == Schema.STRING


def require_column(frame: Frame, name: str) -> Schema:
    """Return the schema of a column that must exist.

    :raises NoNativeFormError: for a missing column: the batch form reports it for each row.
    """
    schema = frame.columns.schema(name)
    if schema is None:
        raise NoNativeFormError(f"there is no column '{name}'")
    return schema


def require_text_column(frame: Frame, name: str) -> Schema:
    """Return the schema of a column that must exist and hold texts."""
    schema = require_column(frame, name)
    if not is_text(schema):
        raise NoNativeFormError(f"column '{name}' is {schema.non_nullable.display_name}, not text")
    return schema


def as_text(frame: Frame, name: str) -> Column:
    """Return a column of texts or whole numbers as texts; null stays null.

    :raises NoNativeFormError: for any other type: Java formats it differently from Spark.
    """
    schema = require_column(frame, name)
    if is_text(schema):
        return frame.column(name)
    if schema.non_nullable in WHOLE_NUMBERS:
        return frame.column(name).cast("string")
    raise NoNativeFormError(
        f"column '{name}' is {schema.non_nullable.display_name}, neither text nor whole number"
    )


def require_plain_regex(pattern: str) -> None:
    """Reject patterns that may take very long in Spark, which has no time limit, or that Spark's Java reads
    differently from :mod:`localcdap.java.regex`.
    """
    if not _PLAIN_REGEX.fullmatch(pattern) or _REPEATED_GROUP.search(pattern):
        raise NoNativeFormError("the regular expression needs the time limit of batches")
    if len(re.findall(r"[*+}]", pattern)) > 2:
        raise NoNativeFormError(
            "the regular expression may need long, and Spark has no limit of time"
        )


def report_missing_column(columns: Columns, name: str, purpose: str, *, fails: bool = True) -> bool:
    """Report a column that is certainly missing; return whether it was reported.

    :param fails: whether rows without the column fail; otherwise the report is a warning.
    """
    if not columns.is_missing(name):
        return False
    report = columns.fail if fails else columns.warn
    report(f"There is no column '{name}' to {purpose}.", suggest_name(name, columns))
    return True


def find_column(row: Row, name: str) -> str:
    """Return the name of a column as the row spells it.

    :raises DirectiveError: for a missing column.
    """
    found = row.find(name)
    if found is None:
        raise DirectiveError(f"column '{name}' does not exist")
    return found


def require_text(row: Row, name: str) -> str:
    """Return the text in a column.

    :raises DirectiveError: for a column that is missing, null or not a text.
    """
    value = row[find_column(row, name)]
    if isinstance(value, str):
        return value
    raise make_type_error(name, value)
