"""Directives that rename all columns at once."""

from __future__ import annotations

import re
from abc import abstractmethod
from functools import cached_property
from typing import Any, Final

from localcdap.api.directive import Columns, Directive, Frame, Row, RowContext, argument, plugin
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.wrangler.values.text_edits import Sed, find_syntax_problem

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
