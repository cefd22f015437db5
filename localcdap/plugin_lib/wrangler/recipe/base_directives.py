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

from abc import abstractmethod
from typing import Any

from localcdap.api.directive import Columns, Directive, Row, RowContext, argument
from localcdap.api.schema import Schema


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
