"""Records checked against the schemas of standards."""

from __future__ import annotations

from localcdap.api.directive import Directive, DirectiveError, Row, RowContext, argument, plugin

KNOWN = ("hl7-fhir-r4",)


@plugin(
    type="directive",
    name="validate-standard",
    description="Checks a record against the schema of a standard. The schemas are not part of localcdap.",
)
class ValidateStandard(Directive):
    categories = ("data-quality",)
    examples = ("validate-standard :patient hl7-fhir-r4",)
    column: str = argument.column("The column with records.")
    standard_spec: str = argument.identifier(f"One of: {', '.join(KNOWN)}.")

    def problem(self) -> str | None:
        if self.standard_spec not in KNOWN:
            return f"there is no standard '{self.standard_spec}'; there are {', '.join(KNOWN)}"
        return (
            f"the schema of '{self.standard_spec}' is not part of localcdap, so nothing can be checked "
            "against it; leave the directive out"
        )

    def change(self, row: Row, context: RowContext) -> None:
        raise DirectiveError(self.problem() or "")
