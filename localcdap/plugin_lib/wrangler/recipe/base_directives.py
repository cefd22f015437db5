"""How the shipped directives are declared.

A directive is a class in a module of :mod:`localcdap.plugin_lib.wrangler.directives`, marked as a
plugin of type ``directive`` and written as :mod:`localcdap.api.directive` says::

    @plugin(type="directive", name="rename", description="Renames a column.")
    class Rename(Directive):
        categories = ("column",)
        source: str = argument.column("The column to rename.", name="source")
        ...

Each module there is looked through, so that a new one needs no entry anywhere. Heavy libraries, pyspark
among them, are imported inside the functions that use them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from localcdap.api.directive import Columns, Directive, Row, RowContext, argument
from localcdap.api.schema import Schema


class ColumnMap(Directive):
    """A directive that replaces the values of one column one by one. A missing column is passed over."""

    column: str = argument.column("The column that is changed.")

    @abstractmethod
    def map(self, value: Any) -> Any:
        """What becomes of a value, None included.

        :raises DirectiveError: when it cannot be changed.
        """

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is not None:
            row[found] = self.map(row[found])


class TextMap(ColumnMap):
    """A directive that replaces the texts of one column; values of other types are left as they are."""

    @abstractmethod
    def map_text(self, text: str) -> str:
        """What becomes of a text."""

    def map(self, value: Any) -> Any:
        return self.map_text(value) if isinstance(value, str) else value


def schema_like(columns: Columns, name: str, made: Schema) -> Schema:
    """The schema of what is made of a column, null where the column is.

    :param made: without null.
    """
    before = columns.schema(name)
    is_certain = before is not None and not before.is_nullable
    return made if is_certain else made.as_nullable


def text_like(columns: Columns, name: str) -> Schema:
    """The schema of a text that is null where the column is."""
    return schema_like(columns, name, Schema.STRING)
