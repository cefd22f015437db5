"""The directive that reads HL7 messages in texts."""

from __future__ import annotations

from localcdap.api.directive import (
    Columns,
    DirectiveError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_type_error
from localcdap.plugin_lib.wrangler.directives.flattener import FlattenDirective
from localcdap.plugin_lib.wrangler.formats.hl7 import Hl7Error, parse_hl7_message


@plugin(
    name="parse-as-hl7",
    description="Parses messages of HL7 version 2: fields become columns <column>_hl7_<segment>_<field>, "
    "components <column>_hl7_<segment>_<field>_<component>; repeated segments arrays.",
)
class ParseAsHl7(FlattenDirective):
    categories = ("parser", "hl7")
    examples = ("parse-as-hl7 :body", "parse-as-hl7 :body 1")
    keeps_values = True
    column: str = argument.column("The column with messages; it stays.")
    depth: int | None = argument.number(
        "How many levels become columns: 1 for segments, 2 for fields; all without it.",
        default=None,
    )

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "parse", fails=False):
            columns.open_for(f"{self.column}_hl7")

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None:
            return
        text = row[found]
        if not isinstance(text, str):
            raise make_type_error(self.column, text)
        try:
            segments = parse_hl7_message(text)
        except Hl7Error as error:
            raise DirectiveError(f"column '{self.column}': {error}") from None
        self.flatten(segments, f"{self.column}_hl7", row)
