"""Directives that look values up in catalogs and tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT, FolderError, read_file
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.masks import require_text

_CODE: Final = slice(0, 7)
_DESCRIPTION: Final = slice(8, None)
"""The code and the description in a line of a catalog."""


@plugin(
    name="catalog-lookup",
    description="Puts the description of a code into the column <column>_<catalog>_description. Catalogs "
    "are files such as icd-9_cm_codes.txt (published by CMS: codes of up to 7 characters, a space, the "
    f"description), in the folder that the runtime argument '{ARGUMENT}' names.",
)
class CatalogLookup(Directive):
    categories = ("lookup",)
    examples = ("catalog-lookup 'ICD-9' :code", "catalog-lookup 'ICD-10-2017' :code")
    keeps_values = True
    catalog: str = argument.text(
        "ICD-9, ICD-10-2016 or ICD-10-2017.", choices=("ICD-9", "ICD-10-2016", "ICD-10-2017")
    )
    column: str = argument.column("The column with codes.")

    def _name_destination(self) -> str:
        return f"{self.column}_{self.catalog.lower().replace('-', '_')}_description"

    def _name_file(self) -> str:
        return f"{self.catalog.lower()}_cm_codes.txt"

    def propagate(self, columns: Columns) -> None:
        columns.add(self._name_destination(), Schema.STRING.as_nullable)
        columns.warn(
            f"The catalog is the file '{self._name_file()}', which is not part of localcdap.",
            f"Put it into a folder and give the folder as the runtime argument '{ARGUMENT}'.",
        )

    def start(self, context: RowContext) -> None:
        self._descriptions: dict[str, str] = {}
        self._problem: str | None = None
        try:
            content = read_file(
                context.arguments, [self._name_file()], f"The catalog {self.catalog}"
            )
        except FolderError as error:
            self._problem = str(error)
            return
        for line in content.decode("utf-8", "replace").splitlines():
            self._descriptions[line[_CODE].strip()] = line[_DESCRIPTION].strip()

    def change(self, row: Row, context: RowContext) -> None:
        if self._problem is not None:
            raise DirectiveError(self._problem)
        code = row.value(self.column)
        row.add(
            self._name_destination(),
            self._descriptions.get(code) if isinstance(code, str) else None,
        )


@plugin(
    name="table-lookup",
    description="Looks the text of a column up among the keys of a table of this namespace, and puts each "
    "value of the row that is found, as text, into the column <column>_<field>.",
)
class TableLookup(Directive):
    """As in wrangler, a key without a row adds no columns, nor does a null value."""

    categories = ("lookup",)
    examples = ("table-lookup :id 'customers'",)
    keeps_values = True
    column: str = argument.column("The column with the keys.")
    table: str = argument.text("The name of the table.")

    def tables(self) -> Iterable[str]:
        return (self.table,)

    def list_looked_up(self, column: str) -> Iterable[str]:
        return (column.removeprefix(f"{self.column}_"),)

    def propagate(self, columns: Columns) -> None:
        given = columns.schema(self.column)
        if given is not None and given.non_nullable not in (Schema.STRING, Schema.NULL):
            columns.fail(
                f"column '{self.column}' is of type {given.non_nullable.display_name}; only texts can be "
                "looked up.",
                f"Put 'set-type :{self.column} string' before it.",
            )
        if report_missing_column(columns, self.column, "look up", fails=False):
            return
        shape = columns.find_table(self.table)
        if shape is None:
            columns.open_for(f"{self.column}_")
        elif shape.found is None:
            columns.fail(f"table '{self.table}' has no key by which rows could be looked up.")
        else:
            for field in shape.found:
                columns.add(f"{self.column}_{field.name}", Schema.STRING.as_nullable)

    def change(self, row: Row, context: RowContext) -> None:
        if row.find(self.column) is None:
            return
        key = require_text(row, self.column)
        lookup = context.lookups.get(self.table)
        if lookup is None:
            raise DirectiveError(
                f"table '{self.table}' cannot be looked into here: use a run, a preview, the prep area "
                "or 'localcdap prep apply'."
            )
        for field, value in (lookup.get(key) or {}).items():
            if value is not None:
                row.add(f"{self.column}_{field}", to_java_string(value))
