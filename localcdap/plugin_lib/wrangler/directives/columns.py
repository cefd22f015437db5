"""Directives that rename, copy, swap, drop or keep columns: single ones, or all at once."""

from __future__ import annotations

import re
from abc import abstractmethod
from functools import cached_property
from typing import Any, Final

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
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.wrangler.recipe.base_directives import find_column, report_missing_column
from localcdap.plugin_lib.wrangler.values.text_edits import Sed, find_syntax_problem


@plugin(name="rename", description="Renames a column.")
class Rename(Directive):
    categories = ("column",)
    examples = ("rename :fname :first_name",)
    makes = ("target",)
    source: str = argument.column("The column to rename.")
    target: str = argument.column("Its new name.")

    def propagate(self, columns: Columns) -> None:
        found = columns.find(self.source)
        if found is None:
            if not report_missing_column(columns, self.source, "rename", fails=False):
                columns.open_for(self.target)
            return
        taken = columns.find(self.target)
        if taken is not None and taken != found:
            columns.fail(
                f"Column '{self.source}' cannot be renamed: there is a column '{taken}' already.",
                f"Drop it first: drop :{taken}",
            )
            return
        columns.rename({found: self.target})

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.source)
        if found is None:
            return
        taken = row.find(self.target)
        if taken is not None and taken != found:
            raise DirectiveError(
                f"column '{self.target}' exists already; drop it before '{self.source}' is renamed"
            )
        row.rename({found: self.target})

    def native(self, frame: Frame) -> None:
        found = frame.columns.find(self.source)
        if found is None:
            return
        taken = frame.columns.find(self.target)
        if taken is not None and taken != found:
            raise NoNativeFormError(f"column '{self.target}' exists already")
        frame.rename({found: self.target})


@plugin(name="copy", description="Copies the values of a column to another one.")
class Copy(Directive):
    categories = ("column",)
    examples = ("copy :name :original_name", "copy :name :backup true")
    makes = ("destination",)
    copies = True
    source: str = argument.column("The column to copy.")
    destination: str = argument.column("The column that gets the values.")
    force: bool = argument.boolean(
        "Whether a destination that exists is overwritten.", default=False
    )

    def propagate(self, columns: Columns) -> None:
        if report_missing_column(columns, self.source, "copy"):
            return
        source, destination = columns.find(self.source), columns.find(self.destination)
        if destination is not None and destination != source and not self.force:
            columns.fail(
                f"Column '{self.source}' cannot be copied: there is a column '{destination}' already.",
                f"Overwrite it: copy :{self.source} :{self.destination} true",
            )
            return
        columns.put(self.destination, columns.schema(self.source))

    def change(self, row: Row, context: RowContext) -> None:
        source = find_column(row, self.source)
        destination = row.find(self.destination)
        if destination == source:
            return
        if destination is not None and not self.force:
            raise DirectiveError(
                f"column '{self.destination}' exists already; the argument 'force' overwrites it"
            )
        row[destination or self.destination] = row[source]

    def native(self, frame: Frame) -> None:
        source, destination = frame.columns.find(self.source), frame.columns.find(self.destination)
        if source is None or (destination not in (None, source) and not self.force):
            raise NoNativeFormError("it fails on every row")
        schema = frame.columns.schema(source)
        if schema is not None and destination != source:
            frame.put(self.destination, frame.column(source), schema)


@plugin(name="swap", description="Gives each of two columns the name of the other.")
class Swap(Directive):
    categories = ("column",)
    examples = ("swap :first_name :last_name",)
    left: str = argument.column("One column.")
    right: str = argument.column("The other one.")

    def propagate(self, columns: Columns) -> None:
        for name in (self.left, self.right):
            report_missing_column(columns, name, "swap")
        known = {columns.find(self.left): self.right, columns.find(self.right): self.left}
        columns.rename({found: name for found, name in known.items() if found is not None})
        for found, name in known.items():
            if found is None:
                columns.add(name, None)

    def change(self, row: Row, context: RowContext) -> None:
        left, right = find_column(row, self.left), find_column(row, self.right)
        row.rename({left: self.right, right: self.left})

    def native(self, frame: Frame) -> None:
        left, right = frame.columns.find(self.left), frame.columns.find(self.right)
        if left is None or right is None:
            raise NoNativeFormError("it fails on every row")
        frame.rename({left: self.right, right: self.left})


@plugin(name="drop", description="Drops columns.")
class Drop(Directive):
    categories = ("column",)
    examples = ("drop :body", "drop :body,:id")
    column: list[str] = argument.columns("The columns to drop; missing ones are ignored.")

    def propagate(self, columns: Columns) -> None:
        for name in self.column:
            columns.remove(name)

    def change(self, row: Row, context: RowContext) -> None:
        for name in self.column:
            if name in row:
                del row[name]
            else:
                row.remove(name)

    def native(self, frame: Frame) -> None:
        for name in self.column:
            frame.remove(name)


@plugin(name="keep", description="Keeps columns and drops all others.")
class Keep(Directive):
    categories = ("column",)
    examples = ("keep :id,:name",)
    keeps_values = True
    column: list[str] = argument.columns("The columns to keep, spelt exactly.")

    def propagate(self, columns: Columns) -> None:
        for name in self.column:
            report_missing_column(columns, name, "keep", fails=False)
        for name in list(columns):
            if name not in self.column:
                columns.remove(name)
        if columns.open:
            for name in self.column:
                columns.add(name, None)

    def change(self, row: Row, context: RowContext) -> None:
        for name in [name for name in row if name not in self.column]:
            del row[name]

    def native(self, frame: Frame) -> None:
        for name in list(frame.columns):
            if name not in self.column:
                frame.remove(name)


_UNCLEAN: Final = re.compile(r"[^a-zA-Z0-9_]")


class RenameDirective(Directive):
    """A directive that computes the new name of every column from its name."""

    whole_row = True

    @abstractmethod
    def rename(self, name: str) -> str:
        """Return the new name of a column."""

    def _map_names(self, present: Any) -> dict[str, str]:
        found = ((name, self.rename(name)) for name in present)
        return {name: new for name, new in found if new != name}

    def propagate(self, columns: Columns) -> None:
        columns.rename(self._map_names(columns))
        if columns.open:
            columns.open = (
                True  # for any names: those of the columns that only the data know change too
            )

    def change(self, row: Row, context: RowContext) -> None:
        row.rename(self._map_names(row))

    def native(self, frame: Frame) -> None:
        frame.rename(self._map_names(frame.columns))


@plugin(
    name="change-column-case", description="Changes all column names to lower case or upper case."
)
class ChangeColumnCase(RenameDirective):
    categories = ("column",)
    examples = ("change-column-case upper", "change-column-case lowercase")
    case: str = argument.identifier(
        "upper or uppercase for upper case; any other word for lower case.", default="lower"
    )

    def rename(self, name: str) -> str:
        return name.upper() if self.case.lower() in ("upper", "uppercase") else name.lower()


@plugin(
    name="cleanse-column-names",
    description="Trims column names, lowers their case, and replaces all but letters and digits by _.",
)
class CleanseColumnNames(RenameDirective):
    categories = ("column",)
    examples = ("cleanse-column-names",)

    def rename(self, name: str) -> str:
        return _UNCLEAN.sub("_", name.strip(TRIM_CHARACTERS).lower())


@plugin(name="columns-replace", description="Changes all names with a sed expression.")
class ColumnsReplace(RenameDirective):
    categories = ("column",)
    examples = ("columns-replace s/^data_//g",)
    sed_expression: str = argument.text("The expression, such as s/^data_//g.")

    def problem(self) -> str | None:
        return find_syntax_problem(Sed, self.sed_expression)

    @cached_property
    def _sed(self) -> Sed:
        return Sed(self.sed_expression)

    def rename(self, name: str) -> str:
        return self._sed.run(name)


@plugin(name="set-headers", description="Renames the columns in their order.")
class SetHeaders(Directive):
    categories = ("column",)
    examples = ("set-headers :id,:first_name,:last_name",)
    whole_row = True
    makes = ("column",)
    column: list[str] = argument.columns("The names; columns beyond them keep theirs.")

    def propagate(self, columns: Columns) -> None:
        if not columns.open:
            self._report_unused(columns)
            columns.rename(self._map_names(columns))
            return
        # Columns that only the data know follow the known ones, and the names apply to both.
        known = columns.items()
        schemas = [schema for _, schema in known] + [None] * (len(self.column) - len(known))
        names = self.column + [name for name, _ in known][len(self.column) :]
        columns.replace(zip(names, schemas, strict=True))

    def change(self, row: Row, context: RowContext) -> None:
        row.rename(self._map_names(row))

    def native(self, frame: Frame) -> None:
        frame.rename(self._map_names(frame.columns))

    def _report_unused(self, columns: Columns) -> None:
        unused = self.column[len(columns) :]
        if unused:
            listed = ", ".join(f"'{name}'" for name in unused)
            columns.warn(f"There is no column for {listed}: the rows have {len(columns)}.")

    def _map_names(self, present: Any) -> dict[str, str]:
        return {name: new.strip() for name, new in zip(present, self.column, strict=False)}
