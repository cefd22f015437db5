"""Values looked up in catalogs and tables."""

from __future__ import annotations

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
from localcdap.wrangler.values.folder import ARGUMENT, FolderError, read_file

_CODE: Final = slice(0, 7)
_DESCRIPTION: Final = slice(8, None)
"""Where code and description stand in a line of a catalog."""


@plugin(
    type="directive",
    name="catalog-lookup",
    description="Puts the description of a code into the column <column>_<catalog>_description. Catalogs "
    "are files such as icd-9_cm_codes.txt (published by CMS: codes of up to 7 characters, a space, the "
    f"description), in the folder that the runtime argument '{ARGUMENT}' names.",
)
class CatalogLookup(Directive):
    categories = ("lookup",)
    examples = ("catalog-lookup 'ICD-9' :code", "catalog-lookup 'ICD-10-2017' :code")
    catalog: str = argument.text(
        "ICD-9, ICD-10-2016 or ICD-10-2017.", choices=("ICD-9", "ICD-10-2016", "ICD-10-2017")
    )
    column: str = argument.column("The column with codes.")

    def _made(self) -> str:
        return f"{self.column}_{self.catalog.lower().replace('-', '_')}_description"

    def _file(self) -> str:
        return f"{self.catalog.lower()}_cm_codes.txt"

    def propagate(self, columns: Columns) -> None:
        columns.add(self._made(), Schema.STRING.as_nullable)
        columns.warn(
            f"The catalog is the file '{self._file()}', which is not part of localcdap.",
            f"Put it into a folder and give the folder as the runtime argument '{ARGUMENT}'.",
        )

    def start(self, context: RowContext) -> None:
        self._descriptions: dict[str, str] = {}
        self._problem: str | None = None
        try:
            content = read_file(context.arguments, [self._file()], f"The catalog {self.catalog}")
        except FolderError as error:
            self._problem = str(error)
            return
        for line in content.decode("utf-8", "replace").splitlines():
            self._descriptions[line[_CODE].strip()] = line[_DESCRIPTION].strip()

    def change(self, row: Row, context: RowContext) -> None:
        if self._problem is not None:
            raise DirectiveError(self._problem)
        code = row.value(self.column)
        row.add(self._made(), self._descriptions.get(code) if isinstance(code, str) else None)


@plugin(
    type="directive",
    name="table-lookup",
    description="Looks values up in a table of CDAP. Refused: recipes run in Spark, beside the tables. "
    "Join the table instead.",
)
class TableLookup(Directive):
    categories = ("lookup",)
    examples = ("table-lookup :id 'customers'",)
    column: str = argument.column("The column with the keys.")
    table: str = argument.text("The name of the table.")

    def problem(self) -> str | None:
        return (
            f"recipes cannot look into the table '{self.table}'; read it with a source and join it with a "
            f"Joiner on '{self.column}' in place of table-lookup"
        )

    def change(self, row: Row, context: RowContext) -> None:
        raise DirectiveError(self.problem() or "")
