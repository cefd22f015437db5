"""The names of all columns at once."""

from __future__ import annotations

import re
from abc import abstractmethod
from functools import cached_property
from typing import Any, Final

from localcdap.api.directive import Columns, Directive, Frame, Row, RowContext, argument, plugin
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.wrangler.values.text_edits import Sed, SedError

_UNCLEAN: Final = re.compile(r"[^a-zA-Z0-9_]")


class Naming(Directive):
    """A directive that gives every column the name that its present name leads to."""

    whole_row = True

    @abstractmethod
    def named(self, name: str) -> str:
        """The new name."""

    def _names(self, present: Any) -> dict[str, str]:
        found = ((name, self.named(name)) for name in present)
        return {name: new for name, new in found if new != name}

    def propagate(self, columns: Columns) -> None:
        columns.rename(self._names(columns))

    def change(self, row: Row, context: RowContext) -> None:
        row.rename(self._names(row))

    def native(self, frame: Frame) -> None:
        frame.rename(self._names(frame.columns))


@plugin(
    type="directive",
    name="change-column-case",
    description="Writes all names small, or in capitals.",
)
class ChangeColumnCase(Naming):
    categories = ("column",)
    examples = ("change-column-case upper", "change-column-case lowercase")
    case: str = argument.identifier(
        "upper or uppercase for capitals; small for any other word.", default="lower"
    )

    def named(self, name: str) -> str:
        return name.upper() if self.case.lower() in ("upper", "uppercase") else name.lower()


@plugin(
    type="directive",
    name="cleanse-column-names",
    description="Trims names, writes them small, and puts _ for all but letters, digits and _.",
)
class CleanseColumnNames(Naming):
    categories = ("column",)
    examples = ("cleanse-column-names",)

    def named(self, name: str) -> str:
        return _UNCLEAN.sub("_", name.strip(TRIM_CHARACTERS).lower())


@plugin(
    type="directive", name="columns-replace", description="Changes all names with a sed expression."
)
class ColumnsReplace(Naming):
    categories = ("column",)
    examples = ("columns-replace s/^data_//g",)
    sed_expression: str = argument.text("The expression, such as s/^data_//g.")

    def problem(self) -> str | None:
        return sed_problem(self.sed_expression)

    @cached_property
    def _sed(self) -> Sed:
        return Sed(self.sed_expression)

    def named(self, name: str) -> str:
        return self._sed.run(name)


@plugin(type="directive", name="set-headers", description="Names the columns in their order.")
class SetHeaders(Directive):
    categories = ("column",)
    examples = ("set-headers :id,:first_name,:last_name",)
    whole_row = True
    column: list[str] = argument.columns("The names; columns beyond them keep theirs.")

    def propagate(self, columns: Columns) -> None:
        if not columns.open:
            columns.rename(self._names(columns))
            return
        # What data add stands behind what is known, and the names reach over both.
        known = columns.items()
        schemas = [schema for _, schema in known] + [None] * (len(self.column) - len(known))
        names = self.column + [name for name, _ in known][len(self.column) :]
        columns.replace(zip(names, schemas, strict=True))

    def change(self, row: Row, context: RowContext) -> None:
        row.rename(self._names(row))

    def native(self, frame: Frame) -> None:
        frame.rename(self._names(frame.columns))

    def _names(self, present: Any) -> dict[str, str]:
        return {name: new.strip() for name, new in zip(present, self.column, strict=False)}


def sed_problem(script: str) -> str | None:
    """What is wrong with a sed expression."""
    try:
        Sed(script)
    except SedError as error:
        return str(error)
    return None
