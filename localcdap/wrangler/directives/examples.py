"""Two directives to learn the form from; they move to the modules of their families."""

from __future__ import annotations

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
from localcdap.api.schema import Type
from localcdap.wrangler.recipe.declaration import TextMap


@plugin(type="directive", name="rename", description="Renames a column.")
class Rename(Directive):
    categories = ("column",)
    examples = ("rename :fname :first_name",)
    source: str = argument.column("The column to rename.")
    target: str = argument.column("Its new name.")

    def propagate(self, columns: Columns) -> None:
        found = columns.find(self.source)
        if found is None:
            if not columns.open:
                columns.fail(
                    f"There is no column '{self.source}' to rename.",
                    f"Rename one of: {', '.join(columns)}.",
                )
            return
        columns.rename({found: self.target})

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.source)
        if found is None:
            return
        taken = row.find(self.target)
        if taken is not None and taken != found:
            raise DirectiveError(f"column '{self.target}' exists already")
        row.rename({found: self.target})

    def native(self, frame: Frame) -> None:
        found = frame.columns.find(self.source)
        if found is None:
            return
        taken = frame.columns.find(self.target)
        if taken is not None and taken != found:
            raise NoNativeFormError(f"column '{self.target}' exists already")
        frame.rename({found: self.target})


@plugin(type="directive", name="uppercase", description="Changes a text to upper case.")
class Uppercase(TextMap):
    categories = ("transform",)
    examples = ("uppercase :name",)

    def map_text(self, text: str) -> str:
        return text.upper()

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        schema = frame.columns.schema(self.column)
        if schema is None or schema.non_nullable.type is not Type.STRING:
            return
        frame.put(self.column, f.upper(frame.column(self.column)), schema)
