"""The directive that checks objects against the schema of a standard."""

from __future__ import annotations

from collections.abc import Mapping

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    ErrorRow,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Type
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT, FolderError, read_file
from localcdap.plugin_lib.wrangler.catalogs.standards import Standard, StandardError
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_type_error

KNOWN = ("hl7-fhir-r4",)


@plugin(
    name="validate-standard",
    description="Sends records whose object does not conform to a standard to the error port. The schema is "
    f"the file <standard>.json in the folder that the runtime argument '{ARGUMENT}' names; that of "
    "hl7-fhir-r4 is published by HL7 as fhir.schema.json.",
)
class ValidateStandard(Directive):
    categories = ("data-quality",)
    examples = ("validate-standard :patient hl7-fhir-r4",)
    keeps_values = True
    drops_rows = True
    column: str = argument.column("The column with objects of JSON; null is ignored.")
    standard_spec: str = argument.identifier(f"One of: {', '.join(KNOWN)}.")

    def problem(self) -> str | None:
        if self.standard_spec in KNOWN:
            return None
        return f"there is no standard '{self.standard_spec}'; there are {', '.join(KNOWN)}"

    def _name_file(self) -> str:
        return f"{self.standard_spec}.json"

    def propagate(self, columns: Columns) -> None:
        schema = columns.schema(self.column)
        if report_missing_column(columns, self.column, "check", fails=False):
            return
        if schema is not None and schema.non_nullable.type not in (Type.RECORD, Type.MAP):
            columns.fail(
                f"Column '{self.column}' is {schema.non_nullable.display_name}, not an object.",
                f"Read it before: set-column :{self.column} exp:{{json:Parse({self.column})}}",
            )
            return
        columns.warn(
            f"The schema of the standard is the file '{self._name_file()}', which is not part of localcdap.",
            f"Put it into a folder and give the folder as the runtime argument '{ARGUMENT}'.",
        )

    def start(self, context: RowContext) -> None:
        self._problem: str | None = None
        try:
            content = read_file(
                context.arguments, [self._name_file()], "The schema of the standard"
            )
            self._standard = Standard(content)
        except (FolderError, StandardError) as error:
            self._problem = str(error)

    def change(self, row: Row, context: RowContext) -> None:
        value = row.value(self.column)
        if value is None:
            return
        if self._problem is not None:
            raise DirectiveError(self._problem)
        if not isinstance(value, Mapping):
            raise make_type_error(self.column, value, "an object is needed")
        issues = self._standard.find_issues(value)
        if issues:
            raise ErrorRow("; ".join(issues), 1)
